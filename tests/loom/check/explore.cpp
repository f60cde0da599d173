// Every schedule of a script, by search over its states.
//
// A thread does not stop after every step. Steps that only make it more dangerous the longer they are put off (an
// access that is still to be made, a fence, a wait for its own stores) are taken together with the next step that
// others can notice; the issue of asynchronous work, which waits for nobody, is taken at once. While a thread stands
// before its accesses they count as under way. Asynchronous work without a signal of its own is over only when somebody
// waits for it, and no schedule is more dangerous than that. Loads land and commits arrive at any time, in any order;
// loads whose bytes complete nothing yet are not told apart from loads in flight. A wait that can pass at a barrier
// nobody will signal again passes before anything else happens. Warps whose lists differ only in the buffers that are
// theirs alone may change places. explore_plainly() does without all this.
#include <algorithm>
#include <array>
#include <bit>

#include "plan.hpp"

namespace warploom::loom::check {
namespace {

using Kind = Step::Kind;

constexpr size_t max_threads = Plan::max_threads, max_barriers = Plan::max_barriers;

struct ThreadState {
  uint64_t at = 0;                                  ///< next step
  uint64_t flights = 0;                             ///< asynchronous steps under way
  Buffers unfenced_reads = 0, unfenced_writes = 0;  ///< since the fence that hands them on, proxy or tcgen05
  Buffers stale_reads = 0, stale_writes = 0;  ///< of tensor memory, by others, since this thread's last fence after
};
struct BarrierState {
  int32_t bytes = 0;
  int16_t pending = 0;
  uint16_t parity = 0;
  uint16_t waiting = 0;  ///< threads at a named barrier, one bit each
  uint16_t unused[3] = {};
};
static_assert(sizeof(BarrierState) == 16);

struct State {
  std::array<ThreadState, max_threads> threads = {};
  std::array<BarrierState, max_barriers> barriers = {};
};

/// Fingerprints of the states that were seen.
class Seen {
 public:
  Seen() : table_(size_t{1} << 12) {}
  bool insert(uint64_t key) {
    if (key == 0) key = 1;
    if (2 * (size_ + 1) > table_.size()) grow();
    uint64_t& slot = find(table_, key);
    if (slot == key) return false;
    slot = key;
    ++size_;
    return true;
  }
  size_t size() const { return size_; }

 private:
  static uint64_t& find(std::vector<uint64_t>& table, uint64_t key) {
    size_t at = key & (table.size() - 1);
    while (table[at] != 0 && table[at] != key) at = (at + 1) & (table.size() - 1);
    return table[at];
  }
  void grow() {
    std::vector<uint64_t> larger(2 * table_.size());
    for (const uint64_t key : table_)
      if (key != 0) find(larger, key) = key;
    table_ = std::move(larger);
  }
  std::vector<uint64_t> table_;
  size_t size_ = 0;
};

class Explorer {
 public:
  Explorer(const Script& script, bool plain)
      : script_(script), threads_(script.threads.size()), plain_(plain), plan_(script, !plain) {}

  Outcome explore(size_t limit) {
    if (!plan_.fits) {
      outcome_.truncated = true;
      return outcome_;
    }
    State start;
    for (size_t i = 0; i < script_.counts.size(); ++i)
      start.barriers[i].pending = static_cast<int16_t>(script_.counts[i]);
    for (size_t thread = 0; thread < threads_; ++thread) issue(start, thread);
    push(start);
    while (!stack_.empty() && !outcome_.bad()) {
      if (seen_.size() > limit) {
        outcome_.truncated = true;
        break;
      }
      const State state = stack_.back();
      stack_.pop_back();
      expand(state);
    }
    outcome_.states = seen_.size();
    return outcome_;
  }

 private:
  /// Which step put that flight in the air: has the thread come past it?
  bool issued(const State& state, size_t thread, uint64_t bits) const {
    for (; bits != 0; bits &= bits - 1)
      if (state.threads[thread].at <= plan_.flights[thread][static_cast<size_t>(std::countr_zero(bits))].step)
        return false;
    return true;
  }

  static bool conflict(Buffers reads, Buffers writes, Buffers other_reads, Buffers other_writes) {
    return (writes & (other_reads | other_writes)) != 0 || (reads & other_writes) != 0;
  }

  struct Key {
    uint64_t value = 0x9e3779b97f4a7c15u;
    void mix(uint64_t word) {
      value = (value ^ word) * 0xbf58476d1ce4e5b9u;
      value ^= value >> 29;
    }
  };

  /// The state's fingerprint; the same for states that differ by an exchange of threads.
  uint64_t key_of(const State& state) const {
    std::array<uint64_t, max_threads> keys, waits = {};
    for (size_t i = 0; i < script_.counts.size(); ++i)
      for (uint32_t left = state.barriers[i].waiting; left != 0; left &= left - 1)
        waits[static_cast<size_t>(std::countr_zero(left))] |= uint64_t{1} << i;
    for (size_t thread = 0; thread < threads_; ++thread) {
      const ThreadState& t = state.threads[thread];
      const Buffers seen = ~plan_.of_fellows | plan_.own[thread];
      Key key;
      key.mix(t.at * 0x94d049bb133111ebu ^ t.flights);
      key.mix(plan_.renamed(thread, t.unfenced_reads & seen));
      key.mix(plan_.renamed(thread, t.unfenced_writes & seen));
      key.mix(plan_.renamed(thread, t.stale_reads & seen));
      key.mix(plan_.renamed(thread, t.stale_writes & seen));
      key.mix(waits[thread]);
      // What others hold against this thread's own buffers goes with it.
      if (plan_.own[thread] != 0)
        for (size_t other = 0; other < threads_; ++other) {
          const ThreadState& o = state.threads[other];
          if (other == thread ||
              ((o.unfenced_reads | o.unfenced_writes | o.stale_reads | o.stale_writes) & plan_.own[thread]) == 0)
            continue;
          // A fellow never touches them, so its marks on them are never looked at (find_live_bits).
          key.mix(other);
          key.mix(plan_.renamed(thread, o.unfenced_reads & plan_.own[thread]));
          key.mix(plan_.renamed(thread, o.unfenced_writes & plan_.own[thread]));
          key.mix(plan_.renamed(thread, o.stale_reads & plan_.own[thread]));
          key.mix(plan_.renamed(thread, o.stale_writes & plan_.own[thread]));
        }
      keys[thread] = key.value;
    }
    Key key;
    for (size_t leader = 0; leader < threads_; ++leader) {
      if (plan_.leader[leader] != leader) continue;
      std::array<uint64_t, max_threads> fellows;
      size_t count = 0;
      for (size_t thread = leader; thread < threads_; ++thread)
        if (plan_.leader[thread] == leader) fellows[count++] = keys[thread];
      std::sort(fellows.begin(), fellows.begin() + count);
      for (size_t i = 0; i < count; ++i) key.mix(fellows[i]);
    }
    for (size_t i = 0; i < script_.counts.size(); ++i) {
      const BarrierState& barrier = state.barriers[i];
      key.mix(static_cast<uint64_t>(static_cast<uint32_t>(barrier.bytes)) << 32 |
              static_cast<uint64_t>(static_cast<uint16_t>(barrier.pending)) << 16 | barrier.parity);
    }
    uint64_t value = (key.value ^ key.value >> 32) * 0x94d049bb133111ebu;
    return value ^ value >> 31;
  }

  void push(const State& state) {
    if (seen_.insert(key_of(state))) stack_.push_back(state);
  }

  // ---- steps

  const Step& step_at(const State& state, size_t thread) const {
    return script_.threads[thread][state.threads[thread].at];
  }
  bool finished(const State& state, size_t thread) const {
    return state.threads[thread].at == script_.threads[thread].size();
  }

  /// Completes the phase if nothing is missing; lets go those who stay at a named barrier.
  void settle(State& state, int index) {
    BarrierState& barrier = state.barriers[static_cast<size_t>(index)];
    if (barrier.pending != 0 || barrier.bytes != 0) return;
    barrier.parity ^= 1;
    barrier.pending = static_cast<int16_t>(script_.counts[static_cast<size_t>(index)]);
    uint32_t waiting = barrier.waiting;
    barrier.waiting = 0;
    for (; waiting != 0; waiting &= waiting - 1) {
      const auto thread = static_cast<size_t>(std::countr_zero(waiting));
      ++state.threads[thread].at;
      issue(state, thread);
    }
  }

  void arrive(State& state, int index, int times) {
    BarrierState& barrier = state.barriers[static_cast<size_t>(index)];
    while (times-- != 0) {
      if (barrier.pending == 0) {
        outcome_.count = true;
        return;
      }
      --barrier.pending;
      settle(state, index);
    }
  }

  /// An access of `thread`, against what is in flight.
  void check(const State& state, size_t thread, const Step& step) {
    if ((step.reads | step.writes) == 0) return;
    for (size_t other = 0; other < threads_; ++other)
      for (uint64_t left = state.threads[other].flights; left != 0; left &= left - 1) {
        const Flight& flight = plan_.flights[other][static_cast<size_t>(std::countr_zero(left))];
        if (!conflict(step.reads, step.writes, flight.reads, flight.writes)) continue;
        // Multiplications of one thread are in order where they share tensor memory.
        if (other == thread && step.kind == Kind::multiply && flight.kind == Kind::multiply) continue;
        outcome_.race = true;
      }
    if (step.kind == Kind::access) return;
    const bool tensor_core = step.kind == Kind::multiply || step.kind == Kind::tensor_access;
    const Buffers shared_reads = step.reads & ~script_.tensor, shared_writes = step.writes & ~script_.tensor;
    const Buffers tensor_reads = step.reads & script_.tensor, tensor_writes = step.writes & script_.tensor;
    for (size_t other = 0; other < threads_; ++other) {
      const ThreadState& theirs = state.threads[other];
      if (conflict(shared_reads, shared_writes, theirs.unfenced_reads, theirs.unfenced_writes)) outcome_.fence = true;
      if (tensor_core && other != thread &&
          conflict(tensor_reads, tensor_writes, theirs.unfenced_reads, theirs.unfenced_writes))
        outcome_.tensor_fence = true;
    }
    const ThreadState& mine = state.threads[thread];
    if (tensor_core && conflict(tensor_reads, tensor_writes, mine.stale_reads, mine.stale_writes))
      outcome_.tensor_fence = true;
  }

  /// Work on tensor memory is over: who wants to use it next needs a fence behind that.
  void becomes_stale(State& state, size_t thread, uint64_t flights) {
    Buffers reads = 0, writes = 0;
    for (uint64_t left = flights; left != 0; left &= left - 1) {
      const Flight& flight = plan_.flights[thread][static_cast<size_t>(std::countr_zero(left))];
      reads |= flight.reads & script_.tensor;
      writes |= flight.writes & script_.tensor;
    }
    for (size_t other = 0; other < threads_; ++other) {
      if (other == thread) continue;
      state.threads[other].stale_reads |= reads & plan_.tensor_of[other];
      state.threads[other].stale_writes |= writes & plan_.tensor_of[other];
    }
  }

  /// Its own warp knows that it is over; others need the fence before.
  void end_tensor_access(State& state, size_t thread, uint64_t over) {
    ThreadState& mine = state.threads[thread];
    for (uint64_t left = over; left != 0; left &= left - 1) {
      const Flight& flight = plan_.flights[thread][static_cast<size_t>(std::countr_zero(left))];
      mine.unfenced_reads |= flight.reads;
      mine.unfenced_writes |= flight.writes;
    }
    becomes_stale(state, thread, over);
    mine.flights &= ~over;
  }

  bool enabled(const State& state, size_t thread, const Step& step, const StepPlan& info) const {
    if (step.kind == Kind::wait)
      return (state.barriers[static_cast<size_t>(step.barrier)].parity & 1) == (step.phases & 1);
    if (step.kind == Kind::wgmma_wait) {
      for (const auto& [other, bits] : info.also_ends)
        if (!issued(state, other, bits)) return false;
    }
    return !plain_ || step.kind == Kind::commit || (state.threads[thread].flights & info.ends) == 0;
  }

  /// A step that is not early, and not a sync.
  void execute(State& state, size_t thread, const Step& step, const StepPlan& info) {
    ThreadState& mine = state.threads[thread];
    switch (step.kind) {
      case Kind::arrive: arrive(state, step.barrier, std::popcount(step.lanes)); break;
      case Kind::arrive_expect:
        state.barriers[static_cast<size_t>(step.barrier)].bytes += step.bytes;
        arrive(state, step.barrier, std::popcount(step.lanes));
        break;
      case Kind::expect:
        state.barriers[static_cast<size_t>(step.barrier)].bytes += step.bytes;
        settle(state, step.barrier);
        break;
      case Kind::access:
        // What is overwritten nobody sees any more: only the last write must be handed on.
        for (size_t other = 0; other < threads_; ++other) {
          if (other == thread) continue;
          state.threads[other].unfenced_reads &= ~(step.writes & ~script_.tensor);
          state.threads[other].unfenced_writes &= ~(step.writes & ~script_.tensor);
        }
        mine.unfenced_reads |= step.reads & ~script_.tensor & plan_.fenced;
        mine.unfenced_writes |= step.writes & ~script_.tensor & plan_.fenced;
        break;
      case Kind::fence:
        mine.unfenced_reads &= script_.tensor;
        mine.unfenced_writes &= script_.tensor;
        break;
      case Kind::tensor_before:
        mine.unfenced_reads &= ~script_.tensor;
        mine.unfenced_writes &= ~script_.tensor;
        break;
      case Kind::wait_tensor: end_tensor_access(state, thread, mine.flights & info.ends); break;
      case Kind::wait_store: mine.flights &= ~info.ends; break;
      case Kind::wgmma_wait:
        mine.flights &= ~info.ends;
        for (const auto& [other, bits] : info.also_ends) state.threads[other].flights &= ~bits;
        break;
      default: break;
    }
  }

  /// Asynchronous work is issued as soon as the thread comes to it.
  void issue(State& state, size_t thread) {
    ThreadState& mine = state.threads[thread];
    while (!finished(state, thread) && plan_.steps[thread][mine.at].mover == Mover::early) {
      const Step& step = step_at(state, thread);
      check(state, thread, step);
      mine.flights |= plan_.steps[thread][mine.at].flight;
      if (step.kind == Kind::tensor_after) mine.stale_reads = mine.stale_writes = 0;
      ++mine.at;
    }
  }

  /// Any of the loads in flight may have landed at the barrier before: `then` is told each way.
  template <class Then>
  void with_landed(const State& state, int barrier, const Then& then) {
    std::array<std::pair<size_t, size_t>, Plan::max_flights> loads;
    size_t count = 0;
    for (size_t thread = 0; thread < threads_ && !plain_; ++thread)
      for (uint64_t left = state.threads[thread].flights & plan_.signals[thread]; left != 0; left &= left - 1) {
        const auto index = static_cast<size_t>(std::countr_zero(left));
        const Flight& flight = plan_.flights[thread][index];
        if (flight.kind == Kind::load && script_.threads[thread][flight.step].barrier == barrier)
          loads[count++] = {thread, index};
      }
    for (uint32_t some = 0; some < 1u << count; ++some) {
      State after = state;
      for (size_t i = 0; i < count; ++i)
        if ((some >> i & 1) != 0) land_load(after, loads[i].first, loads[i].second);
      then(after, some);
    }
  }

  void land_load(State& state, size_t thread, size_t index) {
    const Step& step = script_.threads[thread][plan_.flights[thread][index].step];
    state.threads[thread].flights &= ~(uint64_t{1} << index);
    state.barriers[static_cast<size_t>(step.barrier)].bytes -= step.bytes;
    settle(state, step.barrier);
  }

  /// The thread's next move, if it can make one.
  bool move(const State& state, size_t thread, Buffers& reads, Buffers& writes) {
    if (finished(state, thread)) return false;
    for (size_t i = 0; i < script_.counts.size(); ++i)
      if ((state.barriers[i].waiting >> thread & 1) != 0) return false;
    const StepPlan& next_info = plan_.steps[thread][state.threads[thread].at];
    if (!plain_ && next_info.mover == Mover::stop && !enabled(state, thread, step_at(state, thread), next_info))
      return false;
    State after = state;
    ThreadState& mine = after.threads[thread];
    const auto accesses = [&](const Step& step) {
      check(after, thread, step);
      reads |= step.reads;
      writes |= step.writes;
    };
    while (!finished(after, thread) && plan_.steps[thread][mine.at].mover == Mover::late) {
      const Step& step = step_at(after, thread);
      accesses(step);
      execute(after, thread, step, plan_.steps[thread][mine.at]);
      ++mine.at;
    }
    if (finished(after, thread) || plan_.steps[thread][mine.at].mover == Mover::early) {
      issue(after, thread);
      push(after);
      return true;
    }
    const Step& step = step_at(after, thread);
    const StepPlan& info = plan_.steps[thread][mine.at];
    if (plain_ && (step.kind == Kind::access || info.flight != 0)) accesses(step);
    if (!enabled(after, thread, step, info)) return false;
    const bool signals = step.kind == Kind::arrive || step.kind == Kind::arrive_expect || step.kind == Kind::expect;
    const auto finish = [&](State& next) {
      ++next.threads[thread].at;
      execute(next, thread, step, info);
      issue(next, thread);
      push(next);
    };
    if (step.kind == Kind::sync) {
      after.barriers[static_cast<size_t>(step.barrier)].waiting |= static_cast<uint16_t>(1u << thread);
      arrive(after, step.barrier, 1);
      push(after);
    } else if (signals) {
      with_landed(after, step.barrier, [&](State& next, uint32_t) { finish(next); });
    } else {
      if (plain_) mine.flights |= info.flight;
      if (plain_ && step.kind == Kind::tensor_after) mine.stale_reads = mine.stale_writes = 0;
      finish(after);
    }
    return true;
  }

  void land_commit(const State& state, size_t thread, size_t index) {
    const Flight& flight = plan_.flights[thread][index];
    const Step& step = script_.threads[thread][flight.step];
    with_landed(state, step.barrier, [&](State& next, uint32_t) {
      ThreadState& mine = next.threads[thread];
      mine.flights &= ~(uint64_t{1} << index);
      const uint64_t over = mine.flights & plan_.steps[thread][flight.step].ends;
      becomes_stale(next, thread, over);
      mine.flights &= ~over;
      arrive(next, step.barrier, 1);
      push(next);
    });
  }

  /// Without reductions: any one thing that is in flight. False where it must wait for others.
  bool land_plainly(const State& state, size_t thread, size_t index) {
    const Flight& flight = plan_.flights[thread][index];
    const uint64_t bit = uint64_t{1} << index, flights = state.threads[thread].flights;
    State after = state;
    switch (flight.kind) {
      case Kind::load: land_load(after, thread, index); break;
      case Kind::commit:
        if ((flights & plan_.steps[thread][flight.step].ends) != 0) return false;
        land_commit(state, thread, index);
        return true;
      case Kind::multiply:
        for (size_t i = 0; i < index; ++i)
          if ((flights >> i & 1) != 0 && plan_.flights[thread][i].kind == Kind::multiply &&
              (plan_.flights[thread][i].writes & flight.writes) != 0)
            return false;
        becomes_stale(after, thread, bit);
        after.threads[thread].flights &= ~bit;
        break;
      case Kind::tensor_access: end_tensor_access(after, thread, bit); break;
      case Kind::wgmma: {
        size_t nth = 0;
        for (size_t i = 0; i < index; ++i) nth += plan_.flights[thread][i].kind == Kind::wgmma ? 1 : 0;
        for (size_t other = 0; other < threads_; ++other) {
          if (script_.groups[other] != script_.groups[thread]) continue;
          const uint64_t part = plan_.nth_wgmma(other, nth);
          if (!issued(state, other, part)) return false;
          after.threads[other].flights &= ~part;
        }
        break;
      }
      default: after.threads[thread].flights &= ~bit; break;
    }
    push(after);
    return true;
  }

  /// Loads that together complete a phase of the barrier.
  bool land_loads(const State& state, int barrier) {
    bool landed = false;
    with_landed(state, barrier, [&](const State& next, uint32_t some) {
      const BarrierState &before = state.barriers[static_cast<size_t>(barrier)],
                         &after = next.barriers[static_cast<size_t>(barrier)];
      if (some == 0 || before.parity == after.parity) return;
      landed = true;
      push(next);
    });
    return landed;
  }

  /// Somebody who waits for what will not change any more: the thread, or none.
  size_t settled_wait(const State& state) const {
    uint64_t signalled = 0;
    for (size_t thread = 0; thread < threads_; ++thread) {
      signalled |= plan_.later_signals[thread][state.threads[thread].at];
      for (uint64_t left = state.threads[thread].flights & plan_.signals[thread]; left != 0; left &= left - 1)
        signalled |=
            uint64_t{1}
            << script_.threads[thread][plan_.flights[thread][static_cast<size_t>(std::countr_zero(left))].step].barrier;
    }
    for (size_t thread = 0; thread < threads_; ++thread) {
      if (finished(state, thread)) continue;
      const Step& step = step_at(state, thread);
      if (step.kind == Kind::wait && (signalled >> step.barrier & 1) == 0 &&
          enabled(state, thread, step, plan_.steps[thread][state.threads[thread].at]))
        return thread;
    }
    return threads_;
  }

  void expand(const State& state) {
    if (const size_t thread = plain_ ? threads_ : settled_wait(state); thread != threads_) {
      Buffers none = 0;
      move(state, thread, none, none);
      return;
    }
    bool moved = false, over = true;
    std::array<std::pair<Buffers, Buffers>, max_threads> near = {};
    for (size_t thread = 0; thread < threads_; ++thread) {
      if (!finished(state, thread))
        over = false;
      else if ((state.threads[thread].flights & plan_.stores[thread]) != 0)
        outcome_.pending = true;
      moved = move(state, thread, near[thread].first, near[thread].second) || moved;
    }
    for (size_t i = 0; i < threads_; ++i)
      for (size_t j = i + 1; j < threads_; ++j)
        if (conflict(near[i].first, near[i].second, near[j].first, near[j].second)) outcome_.race = true;
    uint64_t barriers = 0;
    std::array<int64_t, max_barriers> left_over = {};
    for (size_t thread = 0; thread < threads_; ++thread)
      for (uint64_t left = state.threads[thread].flights & (plain_ ? ~uint64_t{0} : plan_.signals[thread]); left != 0;
           left &= left - 1) {
        const auto index = static_cast<size_t>(std::countr_zero(left));
        const Step& step = script_.threads[thread][plan_.flights[thread][index].step];
        if (plain_) {
          moved = land_plainly(state, thread, index) || moved;
        } else if (plan_.flights[thread][index].kind == Kind::commit) {
          moved = true;
          land_commit(state, thread, index);
        } else {
          barriers |= uint64_t{1} << step.barrier;
          left_over[static_cast<size_t>(step.barrier)] -= step.bytes;
        }
      }
    for (; barriers != 0; barriers &= barriers - 1) moved = land_loads(state, std::countr_zero(barriers)) || moved;
    if (!moved && !over) outcome_.deadlock = true;
    if (!moved && over)
      for (size_t i = 0; i < script_.counts.size(); ++i)
        if (state.barriers[i].bytes + left_over[i] != 0) outcome_.count = true;
  }

  const Script& script_;
  const size_t threads_;
  const bool plain_;
  const Plan plan_;
  std::vector<State> stack_;
  Seen seen_;
  Outcome outcome_;
};

Outcome search(const Script& script, size_t limit, bool plain) {
  Outcome outcome;
  outcome.truncated = true;
  if (script.threads.size() > max_threads || script.counts.size() > max_barriers || script.buffers > 64) return outcome;
  return Explorer(script, plain).explore(limit);
}

}  // namespace

Outcome explore(const Script& script, size_t limit) { return search(script, limit, false); }
Outcome explore_plainly(const Script& script, size_t limit) { return search(script, limit, true); }

}  // namespace warploom::loom::check
