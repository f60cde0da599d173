// An operation of the machine that nobody has said anything about: no verdict could count on it.
#include "loom/observe/check/operations.hpp"

#if defined(WARPLOOM_POSITIVE)
const void* place() { return WARPLOOM_PLACE(mbarrier_arrive); }
#else
const void* place() { return WARPLOOM_PLACE(mbarrier_arrive_twice); }
#endif
