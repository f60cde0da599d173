// Registers that an asynchronous operation fills or reads (tcgen05.ld, wgmma). On the GPU a plain array; on the loom an
// object the machine knows: poisoned at issue, filled at the wait, and reported if read, written or destroyed in
// flight.
#pragma once

#include "warploom/arch/config.hpp"

#if WARPLOOM_GPU
#include "warploom/arch/gpu/fragment.hpp"
#else
#include "warploom/arch/loom/fragment.hpp"
#endif
