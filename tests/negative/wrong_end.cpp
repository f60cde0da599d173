// A role has one end of the input ring and uses it as the other. -DEND_... says which it has.
#include "misuse.hpp"

using namespace misuse;

MISUSE_ENTRY use(Input::Storage* storage) {
  Input input(*storage);
#if defined(END_PRODUCER)
  auto end = input.producer();
#if defined(WARPLOOM_POSITIVE)
  auto slot = end.acquire();
  slot.expect_bytes(Input::Protocol::bytes);
#else
  auto in = end.consume();
#endif
#elif defined(END_CONSUMER)
  auto end = input.consumer();
#if defined(WARPLOOM_POSITIVE)
  auto in = end.acquire();
  (void)in.a();
#else
  end.drain();
#endif
#endif
}
