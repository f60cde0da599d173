// How threads and clusters end.
#pragma once

#include "loom/exec/cluster.hpp"

namespace warploom::loom {

/// The thread has returned from the kernel: what it leaves behind is a finding, and barriers that wait for threads that
/// have not exited may complete.
void thread_exited(Thread& thread);
/// All threads have: what is in flight completes, and every barrier must be empty.
void finish(Cluster& cluster);
/// A signal handler left a note instead of going on with the thread (guard.hpp).
void interrupted(Thread& thread);

}  // namespace warploom::loom
