// Operations of the whole warp that its lanes post without waiting for each other (warploom/loom/posted.hpp), and
// collectives in which they wait: the n-th collective of a lane belongs together with the n-th of the others.
#pragma once

#include "loom/exec/cluster.hpp"

namespace warploom::loom {

/// Joins the thread's next collective of the whole warp, which must be this one. `arrive` comes after it.
Posted& post(Thread& thread, Pc pc, PostedKind kind);
/// The lane has come to it; the last one has all execute what they have come to.
void arrive(Thread& thread, Posted& posted);
/// What all lanes have come to.
void execute_posted(Warp& warp);
/// What the oldest posted operation waits for has come.
void go_on_with_posted(Warp& warp);
/// Waits until all that the thread has posted has executed.
void catch_up(Thread& thread);
[[noreturn]] void fail_beside(Thread& thread, Pc pc, const char* operation);
void post_sync(Thread& thread, Pc pc);
void post_phase_wait(Thread& thread, Pc pc, uint32_t address, uint64_t phases);
/// An arrival waits in its lane's place for what the lane has posted. False: it has posted nothing, or cannot go on.
bool post_arrival(Thread& thread, Pc pc, uint32_t address, uint32_t count, bool cluster_scope);
void post_wgmma_wait(Thread& thread, Pc pc, uint32_t pending);
/// What the thread's next collective of the whole warp was posted as, if it was.
inline const Posted* posted_for(const Thread& thread) {
  const WholeWarp& whole = thread.warp->whole;
  const uint64_t place = thread.joined - whole.over;
  return place < whole.posted() ? &whole[place] : nullptr;
}
void note_oldest_posted(Thread& thread);

}  // namespace warploom::loom
