// wgmma, for the deferred operations of a warp that execute it, and for ends of warps.
#pragma once

#include "loom/exec/cluster.hpp"

namespace warploom::loom::isa {

/// All lanes of the warp have come.
void wgmma(Warp& warp, const Posted& posted);
void start_wgmma(Warp& warp, WgmmaInstruction& op);
/// Are the groups complete that the warp's wait does not leave pending?
bool wgmma_covered(const Warp& warp);
uint64_t release_wgmma(Warp& warp);
/// A finding when the warp of the thread, which exits, has not waited for a wgmma.
bool wgmma_left_at_exit(Thread& thread);
/// At a standstill or at the end: did only a part of a warpgroup execute what all of it must? Records the finding.
bool partial_warpgroup(Cluster& cluster);

}  // namespace warploom::loom::isa
