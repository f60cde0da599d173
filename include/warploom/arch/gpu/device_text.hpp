// Names as text in device memory. Device code cannot refer to the constexpr arrays of labels; it can have copies of
// them, made at compile time. Used by instrumented builds alone.
//
//   const DeviceText* ring = device_text<LabelName<Label>>();   // `Label::name`, in the GPU's global memory
//   printf("%s", ring->characters());
#pragma once

#include "warploom/arch/config.hpp"
#include "warploom/arch/gpu/instrument_records.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch::detail {

using ::warploom::gpu::DeviceText;

template <size_t length_>
struct DeviceTextOf {
  DeviceText head;
  char data[length_ + 1];
};

template <class Source>
constexpr size_t text_length() {
  size_t length = 0;
  while (Source::at(length) != '\0') ++length;
  return length;
}
template <class Source>
constexpr DeviceTextOf<text_length<Source>()> copy_text() {
  DeviceTextOf<text_length<Source>()> text{};
  text.head.length = static_cast<uint32_t>(text_length<Source>());
  for (size_t i = 0; i <= text.head.length; ++i) text.data[i] = Source::at(i);
  return text;
}
/// Whether the text holds these words.
template <class Source, size_t n>
constexpr bool mentions(const char (&words)[n]) {
  for (size_t at = 0; at + n - 1 <= text_length<Source>(); ++at) {
    size_t same = 0;
    while (same < n - 1 && Source::at(at + same) == words[same]) ++same;
    if (same == n - 1) return true;
  }
  return false;
}

template <class Label>
struct LabelName {
  static constexpr char at(size_t i) { return Label::name[i]; }
};
template <class Signaller>
struct SignallerText {
  static constexpr char at(size_t i) { return Signaller::text.data[i]; }
};

/// Which arrivals of a signaller the hardware makes, unseen: gpu::Unobservable.
template <class Source>
inline constexpr uint8_t unobservable_signals =
    (mentions<Source>("TMA bytes") ? ::warploom::gpu::unobservable_bytes : 0) |
    (mentions<Source>("tcgen05.commit") ? ::warploom::gpu::unobservable_commits : 0);

template <class Source>
__device__ const DeviceTextOf<text_length<Source>()> text_in_memory = copy_text<Source>();

template <class Source>
WARPLOOM_FN const DeviceText* device_text() noexcept {
  return &text_in_memory<Source>.head;
}

}  // namespace warploom::inline WARPLOOM_MACHINE::arch::detail
