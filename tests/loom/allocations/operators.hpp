// This program's operators new, which fail on request.
#pragma once

#include <cstdint>

namespace warploom {

/// The n-th allocation from here fails, and, if it goes on, all that follow; n < 0: none does.
void fail_allocation(int64_t n, bool goes_on);
uint64_t allocations();
uint64_t failures();  ///< since then

}  // namespace warploom
