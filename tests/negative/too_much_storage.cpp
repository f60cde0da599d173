// A kernel's storage exceeds what a CTA has.
#include "misuse.hpp"

using namespace misuse;

struct Storage {
#if defined(WARPLOOM_POSITIVE)
  char bytes[227 * 1024];
#else
  char bytes[227 * 1024 + 1];
#endif
};

MISUSE_ENTRY use(char value) { arch::store_shared(arch::shared<Storage>().bytes, value); }
