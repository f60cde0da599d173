// The loom side of arch/fragment.hpp.
#pragma once

#include "warploom/loom/native.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

namespace native = ::warploom::loom::native;

template <class T, int count>
class Fragment {
  static_assert(sizeof(T) == 4, "warploom: a fragment holds 32-bit registers");

 public:
  Fragment() noexcept = default;
  WARPLOOM_FN ~Fragment() noexcept { check("destroyed"); }
  Fragment(const Fragment&) = delete;
  Fragment& operator=(const Fragment&) = delete;

  WARPLOOM_FN const T& operator[](int i) const noexcept {
    check("read");
    return values_[i];
  }
  WARPLOOM_FN T& operator[](int i) noexcept {
    check("accessed");
    return values_[i];
  }

  // For arch only.
  WARPLOOM_FN T* registers() noexcept { return values_; }
  WARPLOOM_FN bool* in_flight() noexcept { return &in_flight_; }

 private:
  WARPLOOM_FN void check(const char* what) const noexcept {
    if (in_flight_) [[unlikely]]
      native::fragment_misuse(what);
  }

  T values_[count];
  bool in_flight_ = false;
};

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
