// The loom side of arch/convert.hpp.
#pragma once

#include "warploom/types/convert_narrow.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

namespace detail {
/// .relu: a NaN is left alone.
template <bool relu>
WARPLOOM_FN float rectified(float value) noexcept {
  return relu && (std::bit_cast<uint32_t>(value) >> 31) != 0 && !bits::is_nan(value) ? 0.0f : value;
}
template <class T>
inline constexpr uint32_t packed_bits = 8;
template <>
inline constexpr uint32_t packed_bits<e2m1> = 4;
/// The f16 of a number that f16 holds exactly, and the GPU's NaN.
WARPLOOM_FN uint32_t half_of(float value) noexcept {
  return ::warploom::to_f16(value, Rounding::nearest_even, Overflow::special).bits;
}
}  // namespace detail

template <class T, bool relu>
WARPLOOM_FN uint16_t pack(float low, float high) noexcept {
  return static_cast<uint16_t>(convert_to<T>(detail::rectified<relu>(low)).bits |
                               convert_to<T>(detail::rectified<relu>(high)).bits << detail::packed_bits<T>);
}
template <class T, bool relu>
WARPLOOM_FN uint16_t pack_halves(uint32_t halves) noexcept {
  return pack<T, relu>(::warploom::to_float(f16{static_cast<uint16_t>(halves)}),
                       ::warploom::to_float(f16{static_cast<uint16_t>(halves >> 16)}));
}
template <class T>
WARPLOOM_FN uint32_t unpack(uint16_t codes) noexcept {
  constexpr uint32_t width = detail::packed_bits<T>, mask = (1u << width) - 1;
  return detail::half_of(::warploom::to_float(T{static_cast<uint8_t>(codes & mask)})) |
         detail::half_of(::warploom::to_float(T{static_cast<uint8_t>(codes >> width & mask)})) << 16;
}
template <Rounding rounding, Overflow overflow, bool relu>
WARPLOOM_FN uint32_t pack_f16(float low, float high) noexcept {
  return ::warploom::to_f16(detail::rectified<relu>(low), rounding, overflow).bits |
         static_cast<uint32_t>(::warploom::to_f16(detail::rectified<relu>(high), rounding, overflow).bits) << 16;
}
template <Rounding rounding, Overflow overflow, bool relu>
WARPLOOM_FN uint32_t pack_bf16(float low, float high) noexcept {
  return ::warploom::to_bf16(detail::rectified<relu>(low), rounding, overflow).bits |
         static_cast<uint32_t>(::warploom::to_bf16(detail::rectified<relu>(high), rounding, overflow).bits) << 16;
}
template <Rounding rounding>
WARPLOOM_FN uint32_t to_tf32(float value) noexcept {
  return ::warploom::to_tf32(value, rounding);
}
template <ScaleRounding rounding, Overflow overflow>
WARPLOOM_FN uint16_t pack_ue8m0(float low, float high) noexcept {
  return static_cast<uint16_t>(to_ue8m0(low, rounding, overflow).bits | to_ue8m0(high, rounding, overflow).bits << 8);
}
template <ScaleRounding rounding, Overflow overflow>
WARPLOOM_FN uint16_t pack_ue8m0_bf16(uint32_t brains) noexcept {
  return pack_ue8m0<rounding, overflow>(std::bit_cast<float>(brains << 16), std::bit_cast<float>(brains & 0xffff0000u));
}
WARPLOOM_FN uint32_t unpack_ue8m0(uint16_t codes) noexcept {
  const auto wide = [](uint32_t code) WARPLOOM_LAMBDA {
    return code == 0xff ? 0x7fffu
                        : std::bit_cast<uint32_t>(::warploom::to_float(ue8m0{static_cast<uint8_t>(code)})) >> 16;
  };
  return wide(codes & 0xffu) | wide(static_cast<uint32_t>(codes) >> 8) << 16;
}

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
