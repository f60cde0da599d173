// An mbarrier and a named barrier: where they stand, who has arrived in the phase under way, who waits.
// isa/mbarrier.cpp and isa/named_barrier.cpp have the rules; diagnosis reads the signals to say who is missing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "loom/state/addresses.hpp"
#include "loom/units/mbarrier.hpp"
#include "warploom/loom/collective.hpp"
#include "warploom/loom/report.hpp"

namespace warploom::loom {

struct Cta;
struct Warp;
struct Thread;

/// One or more equal signals to a barrier in its current phase.
struct Signal {
  SignalKind kind = SignalKind::arrive;
  Warp* warp = nullptr;
  uint32_t lanes = 0;
  Pc pc = nullptr;
  uint32_t times = 0;
  uint32_t arrivals = 0;
  int64_t bytes = 0;
};

struct Barrier {
  Cta* cta = nullptr;
  uint32_t offset = 0;
  bool live = false;
  MbarrierState state;
  // Its name: ring, side, stage of `stages`.
  const char* ring = nullptr;
  uint8_t side = 0;
  uint32_t stage = 0;
  uint32_t stages = 0;
  const char* signalled_by = "";
  uint32_t watched = 0;  ///< its number with the checker

  std::vector<Signal> current;   ///< signals of the phase under way
  std::vector<Signal> previous;  ///< signals of the last completed one
  std::vector<Thread*> waiters;
  std::vector<Warp*> gated;   ///< whose lanes wait together
  std::vector<Warp*> posted;  ///< whose posted operations wait
  uint64_t phase_time = 0;    ///< latest signal of the phase under way
  uint64_t completed_at = 0;  ///< nominal time the last phase completed

  std::string name() const;
};

/// What a wait for so many completed phases waits for: "phase 2".
std::string phase_text(uint64_t phases);
/// A note that says who completes the barrier, or nothing if the kernel did not say.
std::vector<std::string> signalled_by(const Barrier& barrier);

/// What a warp brings to a reduction at a named barrier.
struct BarVote {
  native::BarReduction reduction = native::BarReduction::none;
  uint32_t yes = 0;  ///< lanes whose predicate is true
};

struct NamedBarrier {
  const char* name = "";
  native::BarReduction reduction = native::BarReduction::none;  ///< of the phase under way
  uint32_t yes = 0;                                             ///< threads of it whose predicate is true
  uint32_t expected = 0;                                        ///< threads, fixed by the first arrival of a phase
  bool whole = false;  ///< __syncthreads: all threads of the CTA that have not exited
  uint32_t arrived = 0;
  uint64_t time = 0;
  std::vector<Warp*> members;  ///< warps that arrived in this phase
  std::vector<Warp*> waiting;

  uint32_t result() const;  ///< of the reduction, when all are here
  std::string text(uint32_t id) const {
    return "named barrier " + std::to_string(id) + (name[0] != '\0' ? " (" + std::string(name) + ")" : "");
  }
};

}  // namespace warploom::loom
