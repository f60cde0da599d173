// What a search over a script's states knows before it begins: the lists have no branches, so that what a step starts
// and what it ends is the same in every schedule.
#pragma once

#include <array>
#include <utility>

#include "script.hpp"

namespace warploom::loom::check {

/// How a step may be moved against those of other threads (explore.cpp).
enum class Mover : uint8_t { late, stop, early };

/// An asynchronous step of a thread.
struct Flight {
  Buffers reads = 0, writes = 0;
  Step::Kind kind = Step::Kind::load;
  size_t step = 0;
};

struct StepPlan {
  Mover mover = Mover::stop;
  uint64_t flight = 0;                                 ///< its bit
  uint64_t ends = 0;                                   ///< flights of its thread that are over when it is
  std::vector<std::pair<size_t, uint64_t>> also_ends;  ///< parts of other warps' wgmmas
};

struct Plan {
  static constexpr size_t max_threads = 12, max_barriers = 16, max_flights = 64;

  /// `reduced`: finds out which threads may change places.
  Plan(const Script& script, bool reduced);

  /// The names that the thread's buffers have with its leader.
  Buffers renamed(size_t thread, Buffers set) const;
  uint64_t nth_wgmma(size_t thread, size_t n) const;

  bool fits = true;
  std::vector<std::vector<StepPlan>> steps;          ///< [thread][step]
  std::vector<std::vector<Flight>> flights;          ///< [thread][bit]
  std::vector<uint64_t> stores, signals;             ///< [thread], bits of flights: stores; loads and commits
  std::vector<std::vector<uint64_t>> later_signals;  ///< [thread][step]: barriers that it or a later one signals
  // Marks that nobody will ever look at do not make states different.
  Buffers fenced = 0;                               ///< what asynchronous work touches
  std::array<Buffers, max_threads> tensor_of = {};  ///< tensor memory that the thread's operations touch
  std::array<size_t, max_threads> leader = {};      ///< the first of the threads it may change places with
  std::array<Buffers, max_threads> own = {};        ///< buffers that go with it
  Buffers of_fellows = 0;                           ///< all of those

 private:
  void prepare(const std::vector<Step>& list, bool reduced);
  void join_wgmmas(const Script& script, size_t thread);
  void try_exchange(const Script& script, size_t first, size_t second);

  std::array<std::array<int, 64>, max_threads> names_ = {};
};

}  // namespace warploom::loom::check
