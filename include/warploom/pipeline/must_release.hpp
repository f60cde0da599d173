// Handles that must be released. Dropping one is a compile error (link error on the GPU) in optimised builds: the
// destructor calls a function that the optimiser must be able to prove unreachable. In other builds the loom reports
// it, and the GPU traps. The loom also reports a second release, and any use after the first.
//
//   auto slot = ring.acquire_consumer();   // ... on every path:
//   slot.release();
#pragma once

#include "warploom/arch/claims.hpp"

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

/// Base of the handles: movable, and must have been released when it dies. Label::name says of what.
template <class Label>
class MustRelease {
 public:
  MustRelease(const MustRelease&) = delete;
  MustRelease& operator=(const MustRelease&) = delete;
  MustRelease& operator=(MustRelease&&) = delete;

 protected:
  WARPLOOM_FN MustRelease() noexcept {}  // NOLINT(modernize-use-equals-default): nvcc drops the annotations of those
  WARPLOOM_FN MustRelease(MustRelease&& other) noexcept : held_(other.held_) { other.held_ = false; }
  WARPLOOM_FN ~MustRelease() noexcept {
    if (!held_) return;
#if defined(WARPLOOM_RELEASE_CHECK)
    warploom_error_a_stage_handle_was_dropped_without_release();
#elif defined(__CUDACC__)
    __trap();
#else
    arch::claim_held<Label>(false, Misuse::dropped);
#endif
  }
  /// Calls `give_back`. It comes before the handle counts as released, so that nothing lies between that and the end of
  /// the handle: the optimiser then sees a release also of a handle whose address other functions have had.
  template <class F>
  WARPLOOM_FN void settle(F&& give_back) noexcept {
    arch::claim_held<Label>(held_, Misuse::released_twice);
    give_back();
    held_ = false;
  }
  WARPLOOM_FN void claim_held() const noexcept { arch::claim_held<Label>(held_, Misuse::used_after_release); }

 private:
  bool held_ = true;
};

/// Base of scopes: they stay where they are made.
struct Scope {
  Scope() noexcept = default;
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
};

/// Something a stage holds and may give back early, once: a slot, an accumulator. Leaving gives back what is left.
template <class Label>
class Held {
 public:
  /// Calls `give_back` unless that has happened.
  template <class F>
  WARPLOOM_FN void settle(F&& give_back) noexcept {
    if (held_) give_back();
    held_ = false;
  }
  WARPLOOM_FN void claim() const noexcept { arch::claim_held<Label>(held_, Misuse::used_after_settle); }

 private:
  bool held_ = true;
};

}  // namespace warploom::inline WARPLOOM_MACHINE
