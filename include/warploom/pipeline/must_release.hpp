// Handles that must be released. Dropping one is a compile error (link error on the GPU) in optimised builds: the
// destructor calls a function that the optimiser must be able to prove unreachable. Other builds trap.
#pragma once

#include "warploom/arch/config.hpp"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define WARPLOOM_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(undefined_behavior_sanitizer)
#define WARPLOOM_SANITIZED 1
#endif
#endif

namespace warploom {
#if defined(__CUDACC__) && !defined(__CUDACC_DEBUG__)
#define WARPLOOM_RELEASE_CHECK 1
/// Never defined: a handle that can be dropped unreleased leaves this symbol in the device code.
extern "C" __device__ void warploom_error_a_stage_handle_was_dropped_without_release();
#elif !defined(__CUDACC__) && defined(__OPTIMIZE__) && !defined(__OPTIMIZE_SIZE__) && !defined(WARPLOOM_SANITIZED)
#define WARPLOOM_RELEASE_CHECK 1
[[gnu::error("warploom: a stage handle was dropped without release()")]] void
warploom_error_a_stage_handle_was_dropped_without_release() noexcept;
#endif
}  // namespace warploom

namespace warploom::inline WARPLOOM_MACHINE {

/// Base of the handles: movable, and must have been released when it dies.
class MustRelease {
 public:
  MustRelease(const MustRelease&) = delete;
  MustRelease& operator=(const MustRelease&) = delete;
  MustRelease& operator=(MustRelease&&) = delete;

 protected:
  WARPLOOM_FN MustRelease() noexcept {}
  WARPLOOM_FN MustRelease(MustRelease&& other) noexcept : held_(other.held_) { other.held_ = false; }
  WARPLOOM_FN ~MustRelease() noexcept {
    if (!held_) return;
#if defined(WARPLOOM_RELEASE_CHECK)
    warploom_error_a_stage_handle_was_dropped_without_release();
#elif defined(__CUDACC__)
    __trap();
#else
    __builtin_trap();
#endif
  }
  WARPLOOM_FN void settle() noexcept { held_ = false; }

 private:
  bool held_ = true;
};

}  // namespace warploom::inline WARPLOOM_MACHINE
