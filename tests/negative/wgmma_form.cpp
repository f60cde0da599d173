// wgmma and setmaxnreg that do not exist. -DFORM_... says which.
#include "warploom/arch/registers.hpp"
#include "warploom/arch/wgmma.hpp"

using namespace warploom;

#if defined(WARPLOOM_POSITIVE)
constexpr int n = 24;
using A = bf16;
using B = bf16;
constexpr Major major = Major::mn;
constexpr uint32_t registers = 232;
#elif defined(FORM_N)
constexpr int n = 28;
using A = bf16;
using B = bf16;
constexpr Major major = Major::mn;
constexpr uint32_t registers = 232;
#elif defined(FORM_TYPES)
constexpr int n = 24;
using A = bf16;
using B = f16;
constexpr Major major = Major::mn;
constexpr uint32_t registers = 232;
#elif defined(FORM_MAJOR)
constexpr int n = 24;
using A = e4m3;
using B = e5m2;
constexpr Major major = Major::mn;
constexpr uint32_t registers = 232;
#elif defined(FORM_INTEGER_N)
constexpr int n = 40;
using A = int8_t;
using B = uint8_t;
constexpr Major major = Major::k;
constexpr uint32_t registers = 232;
#elif defined(FORM_RESULT)
constexpr int n = 24;
using A = int8_t;
using B = int8_t;
constexpr Major major = Major::k;
constexpr uint32_t registers = 232;
#elif defined(FORM_REGISTERS)
constexpr int n = 24;
using A = bf16;
using B = bf16;
constexpr Major major = Major::mn;
constexpr uint32_t registers = 236;
#endif

#if WARPLOOM_GPU
__device__
#endif
    void
    misuse_of_wgmma(arch::Fragment<float, n / 2>& d, SmemDescriptor a, SmemDescriptor b) {
  arch::register_increase<registers>();
  arch::wgmma<n, A, B, major, Major::k>(d, a, b, false);
}
