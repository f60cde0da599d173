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
  WARPLOOM_FN ~Fragment() noexcept {
    wgmma_.name();  // one that nobody reads after its wait need not be named
    check("destroyed");
  }
  Fragment(const Fragment&) = delete;
  Fragment& operator=(const Fragment&) = delete;

  WARPLOOM_FN const T& operator[](int i) const noexcept {
    check("read");
    wgmma_.use = native::WgmmaRegisters::Use::ordinary;
    return values_[i];
  }
  WARPLOOM_FN T& operator[](int i) noexcept {
    check("accessed");
    wgmma_.use = native::WgmmaRegisters::Use::ordinary;
    return values_[i];
  }

  // For arch only.
  WARPLOOM_FN T* registers() noexcept { return values_; }
  WARPLOOM_FN const T* registers() const noexcept { return values_; }
  WARPLOOM_FN bool* in_flight() noexcept { return &in_flight_; }
  WARPLOOM_FN native::WgmmaRegisters& wgmma_state() const noexcept { return wgmma_; }

 private:
  WARPLOOM_FN void check(const char* what) const noexcept {
    if (in_flight_) [[unlikely]]
      native::fragment_misuse(what);
    if (wgmma_.busy()) [[unlikely]]
      native::wgmma_misuse(what, &wgmma_);
  }

  T values_[count];
  bool in_flight_ = false;
  mutable native::WgmmaRegisters wgmma_;
};

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
