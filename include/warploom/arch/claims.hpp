// What the structure layer promises about its own use: a stage is touched while it is held, counts are the policy's,
// tensor memory is touched by who has acquired it. The loom checks each claim and names the misuse; no code on the GPU.
//
//   arch::claim_held<Protocol>(held, Misuse::used_after_release);   // in an accessor of a stage
#pragma once

#include "warploom/arch/tmem.hpp"

namespace warploom {

enum class Misuse : uint8_t { dropped, released_twice, used_after_release, used_after_settle };
/// The two sides of an accumulator ring.
enum class AccumulatorSide : uint8_t { mma, epilogue };

}  // namespace warploom

namespace warploom::inline WARPLOOM_MACHINE::arch {

/// A handle of ring Label::name is in order.
template <class Label>
WARPLOOM_FN void claim_held(bool holds, Misuse otherwise) noexcept;
/// An argument that the original's interface takes has the value that follows from the policies of ring Label::name.
template <class Label>
WARPLOOM_FN void claim_argument(const char* what, uint32_t given, uint32_t derived) noexcept;
/// This warp has passed named barrier `id`, which publishes the tensor-memory address.
WARPLOOM_FN void claim_published(uint32_t id) noexcept;
/// `stages` accumulators of `columns` columns from `base` on belong to ring Label::name: from here on a tcgen05
/// operation there must come from a thread that holds that accumulator.
template <class Label>
WARPLOOM_FN void claim_accumulators(TmemAddress base, uint32_t stages, uint32_t columns) noexcept;
/// This thread has acquired, or gives back, the accumulator at `address`.
WARPLOOM_FN void hold_accumulator(TmemAddress address, AccumulatorSide side) noexcept;
WARPLOOM_FN void give_back_accumulator(TmemAddress address, AccumulatorSide side) noexcept;

}  // namespace warploom::inline WARPLOOM_MACHINE::arch

#if WARPLOOM_GPU
#include "warploom/arch/gpu/claims.hpp"
#else
#include "warploom/arch/loom/claims.hpp"
#endif
