// Registers that asynchronous instructions write (wgmma, tcgen05.ld), and small helpers of the tensor cores, cluster
// launch control and tensor maps. Part of runtime.hpp.
#pragma once

#include "warploom/ptx/warps.hpp"

namespace warploom::ptx::rt {

using ::warploom::Dim3;
using ::warploom::Expand;
using ::warploom::Major;
using ::warploom::MmaKind;
using ::warploom::ScaleVector;
using ::warploom::TensorMap;
using ::warploom::TensorMapField;
using ::warploom::tma_type_of_elemtype;
using ::warploom::TmaMode;
using ::warploom::TmemCopy;
using ::warploom::WgmmaNegate;
using ::warploom::WgmmaOverflow;
using ::warploom::WgmmaResult;
using ::warploom::WgmmaType;

/// The registers of one register list. Ordinary code that reads or writes one calls `touch` before.
template <u32 n>
struct Fragment {
  alignas(64) u32 r[n];
  native::WgmmaRegisters wgmma;
  bool in_flight = false;  ///< a tcgen05.ld
  WARPLOOM_PTX void touch() {
    if (in_flight) [[unlikely]]
      native::fragment_misuse("accessed");
    if (wgmma.busy()) [[unlikely]] {
      catch_up();
      wgmma.name();
      if (wgmma.busy()) native::wgmma_misuse("accessed", &wgmma);
    }
    wgmma.use = native::WgmmaRegisters::Use::ordinary;
  }
};

WARPLOOM_PTX bool clc_is_canceled(const b128& response) {
  u32 words[4];
  std::memcpy(words, &response, 16);
  return native::clc_is_canceled(words);
}
WARPLOOM_PTX ::warploom::Dim3 clc_first_cta(const b128& response) {
  u32 words[4];
  std::memcpy(words, &response, 16);
  return native::clc_first_cta(words);
}
template <u32 n>
WARPLOOM_PTX void disable_lanes(native::MmaInstruction& mma, const u32 (&mask)[n]) {
  for (const u32 word : mask)
    if (word != 0) mma.disabled_lanes = mask;
}
WARPLOOM_PTX const TensorMap& tensor_map(u64 generic) { return *reinterpret_cast<const TensorMap*>(generic); }

}  // namespace warploom::ptx::rt
