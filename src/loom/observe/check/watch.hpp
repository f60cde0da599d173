// The checker as the machine sees it: one per cluster that is checked. The machine tells it every operation; it keeps
// the order of things (order.hpp) and who touched what (shadow.hpp), and stops the run with a finding where two
// accesses are not ordered, or where only this schedule made a barrier come out right. docs/verdict.md says what
// follows from a run in which it finds nothing.
//
// A machine that is not checked has none, and asks nothing but that.
#pragma once

#include <optional>
#include <vector>

#include "loom/observe/check/watch_work.hpp"

namespace warploom::loom::check {

class Watch : public WatchWork {
 public:
  explicit Watch(Cluster& cluster);

  void exited(const Thread& thread);
  void visited(Thread& thread, Pc pc, const VisitOf& visit, const Decision& decision);
  void answered(Pc pc, const Decision& decision);
  /// clusterlaunchcontrol.try_cancel, and a thread that sees that a request has failed: after that none may follow.
  void cancel_asked(Thread& thread, Pc pc);
  /// griddepcontrol.wait was passed; and whether one of this CTA comes before what the thread does now.
  void grid_waited(const Thread& thread);
  bool knows_grid_wait(const Thread& thread) const;
  void cancel_refused(Thread& thread, Pc pc);
  /// setmaxnreg: so many registers more (of the whole warp) are asked for, or given back.
  void registers_asked(const Warp& warp, Pc pc, uint32_t count);
  void registers_given(const Warp& warp, uint32_t count);
  /// The run has ended: what depends on all of it becomes a point, or does not.
  void settle_registers();

 private:
  /// try_cancel of the threads of each CTA: the latest of each.
  std::vector<std::vector<Incoming>> cancels_;
  std::vector<std::vector<Stamp>> grid_waits_;  ///< of each CTA
  /// setmaxnreg of the warps of each CTA.
  struct RegisterPool {
    struct Change {
      Stamp stamp;
      uint64_t count = 0;
      uint64_t supply = 0;   ///< of an increase: what is given back before it, and never depends on another
      uint64_t demand = 0;   ///< ... what it and those that may come before it take
      bool depends = false;  ///< of a decrease: it comes after an increase
      size_t point = 0;
    };
    std::vector<Change> increases, decreases;
  };
  std::vector<RegisterPool> pools_;
};

}  // namespace warploom::loom::check
