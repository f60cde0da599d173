// Points at which a thread finds out something that the schedule decides: whether a phase is complete yet, what an
// atomic returns, which cluster launch control gives away.
//
//   const Decision decision = next_decision(cluster);
//   visit(thread, pc, word, "atom.global", true);   // before an atomic; answered() after it
#pragma once

#include <vector>

#include "loom/exec/cluster.hpp"

namespace warploom::loom {

/// A question to a barrier, as the mutation hook lets it be asked.
struct Question {
  Barrier* barrier;
  uint32_t address;
  uint32_t phases;
  uint32_t parity;
};

/// The next point, and what the schedule says about it.
Decision next_decision(Cluster& cluster);
/// Is this test one that may come too early, and does the schedule have it do so?
bool denies(const Thread& thread, const Barrier& barrier, const Question& question, const Decision& decision);
/// An operation on the object that sees what others have done to it. `of_launch`: all clusters may.
void visit(Thread& thread, Pc pc, const check::Watch::VisitOf& visit);
/// What an atomic has found, and whether it changed the word. A thread that goes on asking lets others run.
void answered(Thread& thread, Pc pc, const void* word, const char* operation, uint64_t answer, bool changed);
/// Returns when somebody else has done something to the object, or when nothing else can happen.
/// They ask again. null: all of them.
void wake_spinners(Cluster& cluster, const void* word = nullptr);
/// The word has been changed by an operation that asks nothing: who asks for it looks again.
inline void word_changed(Cluster& cluster, const void* word) {
  if (!cluster.choices.spinners.empty()) wake_spinners(cluster, word);
}
void hold(Thread& thread, Pc pc, const void* object, const char* operation, bool ordered = false);
void release_held(Cluster& cluster, const void* object);
/// One that is held back goes on. False: nobody is.
bool release_any_held(Cluster& cluster);

/// The points of the run at which another schedule could have gone on differently.
std::vector<check::Watch::PointNote> points(const Cluster& cluster);
/// An object whose visitors come in an order that is the schedule's.
struct ContestNote {
  const void* pc = nullptr;
  const char* operation = "";
  uint32_t cluster = 0, point = 0, threads = 0;
};
std::vector<ContestNote> contests(const Cluster& cluster);

}  // namespace warploom::loom
