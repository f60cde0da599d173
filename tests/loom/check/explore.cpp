// Every schedule of a script, by search over its states.
//
// A thread does not stop after every step. Steps that only make it more dangerous the longer they are put off (an
// access that is still to be made, a fence, a wait for its own stores) are taken together with the next step that
// others can notice; the issue of asynchronous work, which waits for nobody, is taken at once. While a thread stands
// before its accesses they count as under way. Asynchronous work without a signal of its own is over only when somebody
// waits for it, and no schedule is more dangerous than that. Loads land and commits arrive at any time, in any order;
// loads whose bytes complete nothing yet are not told apart from loads in flight. A wait that can pass at a barrier
// nobody will signal again passes before anything else happens. Warps whose lists differ only in the
// buffers that are theirs alone may change places. explore_plainly() does without all this.
#include <algorithm>
#include <array>
#include <bit>

#include "script.hpp"

namespace warploom::loom::check {
namespace {

using Kind = Step::Kind;

constexpr size_t max_threads = 12, max_barriers = 16, max_flights = 64;

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
  Explorer(const Script& script, bool plain) : script_(script), threads_(script.threads.size()), plain_(plain) {
    for (const auto& steps : script.threads) prepare(steps);
    for (size_t thread = 0; thread < threads_; ++thread) join_wgmmas(thread);
    find_live_bits();
    for (size_t thread = 0; thread < threads_; ++thread) leader_[thread] = thread;
    if (plain_) return;
    for (size_t thread = 1; thread < threads_; ++thread)
      for (size_t leader = 0; leader < thread && leader_[thread] == thread; ++leader)
        if (leader_[leader] == leader) try_exchange(leader, thread);
  }

  bool fits() const { return fits_; }

  Outcome explore(size_t limit) {
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
  enum class Mover : uint8_t { late, stop, early };
  struct Flight {
    Buffers reads = 0, writes = 0;
    Kind kind = Kind::load;
    size_t step = 0;
  };
  /// What a step is, once and for all schedules: the lists have no branches.
  struct Info {
    Mover mover = Mover::stop;
    uint64_t flight = 0;                                 ///< its bit
    uint64_t ends = 0;                                   ///< flights of its thread that are over when it is
    std::vector<std::pair<size_t, uint64_t>> also_ends;  ///< parts of other warps' wgmmas
  };

  void prepare(const std::vector<Step>& steps) {
    std::vector<Info>& infos = infos_.emplace_back();
    std::vector<Flight>& flights = flights_.emplace_back();
    uint64_t &stores = stores_.emplace_back(), &signals = signals_.emplace_back();
    std::vector<uint64_t> store_bits, groups;
    uint64_t multiplies = 0, tensor = 0, open = 0;
    for (size_t at = 0; at < steps.size(); ++at) {
      const Step& step = steps[at];
      Info& info = infos.emplace_back();
      const auto fly = [&] {
        info.mover = Mover::early;
        if (flights.size() == max_flights) {
          fits_ = false;
          return;
        }
        info.flight = uint64_t{1} << flights.size();
        flights.push_back({step.reads, step.writes, step.kind, at});
      };
      switch (step.kind) {
        case Kind::access:
        case Kind::fence:
        case Kind::tensor_before: info.mover = Mover::late; break;
        case Kind::tensor_after: info.mover = Mover::early; break;
        case Kind::wait_store:
          info.mover = Mover::late;
          for (size_t i = 0; i + step.pending < store_bits.size(); ++i) info.ends |= store_bits[i];
          break;
        case Kind::wait_tensor:
          info.mover = Mover::late;
          info.ends = tensor;
          break;
        case Kind::load:
          fly();
          signals |= info.flight;
          break;
        case Kind::store:
          fly();
          stores |= info.flight;
          store_bits.push_back(info.flight);
          break;
        case Kind::multiply:
          fly();
          multiplies |= info.flight;
          break;
        case Kind::commit:
          fly();
          signals |= info.flight;
          info.ends = multiplies;
          break;
        case Kind::tensor_access:
          fly();
          tensor |= info.flight;
          break;
        case Kind::wgmma:
          fly();
          open |= info.flight;
          break;
        case Kind::wgmma_commit:
          info.mover = Mover::early;
          groups.push_back(open);
          open = 0;
          break;
        case Kind::wgmma_wait:
          for (size_t i = 0; i + step.pending < groups.size(); ++i) info.ends |= groups[i];
          break;
        default: break;
      }
    }
    if (plain_)
      for (Info& info : infos) info.mover = Mover::stop;
    std::vector<uint64_t>& later = later_signals_.emplace_back(steps.size() + 1);
    for (size_t at = steps.size(); at-- > 0;) {
      later[at] = later[at + 1];
      if (steps[at].barrier >= 0 && steps[at].kind != Kind::wait) later[at] |= uint64_t{1} << steps[at].barrier;
    }
  }

  /// Marks that nobody will ever look at do not make states different.
  void find_live_bits() {
    for (size_t thread = 0; thread < threads_; ++thread)
      for (const Step& step : script_.threads[thread]) {
        if (step.kind == Kind::access) continue;
        fenced_ |= step.reads | step.writes;
        if (step.kind == Kind::multiply || step.kind == Kind::tensor_access)
          tensor_of_[thread] |= (step.reads | step.writes) & script_.tensor;
      }
  }

  /// May two threads change places, together with the buffers that only they touch?
  void try_exchange(size_t leader, size_t thread) {
    const auto &first = script_.threads[leader], &second = script_.threads[thread];
    if (first.size() != second.size() || script_.groups != leaderless_groups(leader, thread)) return;
    std::array<int, 64> to;
    for (int i = 0; i < 64; ++i) to[static_cast<size_t>(i)] = i;
    const auto pair = [&](Buffers a, Buffers b) {
      Buffers only_a = a & ~b, only_b = b & ~a;
      if (std::popcount(only_a) != std::popcount(only_b)) return false;
      for (; only_a != 0; only_a &= only_a - 1, only_b &= only_b - 1) {
        const int x = std::countr_zero(only_a), y = std::countr_zero(only_b);
        int &tx = to[static_cast<size_t>(x)], &ty = to[static_cast<size_t>(y)];
        if ((tx != x && tx != y) || (ty != y && ty != x)) return false;
        tx = y;
        ty = x;
      }
      return true;
    };
    for (size_t at = 0; at < first.size(); ++at) {
      Step same = second[at];
      same.reads = first[at].reads;
      same.writes = first[at].writes;
      if (!(same == first[at]) || !pair(first[at].reads, second[at].reads) ||
          !pair(first[at].writes, second[at].writes))
        return;
    }
    const auto moved = [&](Buffers set) {
      Buffers image = 0;
      for (; set != 0; set &= set - 1) image |= Buffers{1} << to[static_cast<size_t>(std::countr_zero(set))];
      return image;
    };
    if (moved(script_.tensor) != script_.tensor) return;
    for (size_t other = 0; other < threads_; ++other) {
      const auto& from = script_.threads[other];
      const auto& onto = script_.threads[other == leader ? thread : other == thread ? leader : other];
      for (size_t at = 0; at < from.size(); ++at)
        if (moved(from[at].reads) != onto[at].reads || moved(from[at].writes) != onto[at].writes) return;
    }
    leader_[thread] = leader;
    Buffers theirs = 0;
    for (int i = 0; i < 64; ++i)
      if (to[static_cast<size_t>(i)] != i) theirs |= Buffers{1} << i;
    // Those of the leader have the names that count.
    for (const Step& step : first) own_[leader] |= (step.reads | step.writes) & theirs;
    for (const Step& step : second) own_[thread] |= (step.reads | step.writes) & theirs;
    names_[thread] = to;
    of_fellows_ |= own_[leader] | own_[thread];
  }
  std::vector<int> leaderless_groups(size_t leader, size_t thread) const {
    std::vector<int> groups = script_.groups;
    if (!groups.empty()) std::swap(groups[leader], groups[thread]);
    return groups;
  }
  Buffers renamed(size_t thread, Buffers set) const {
    if (set == 0 || leader_[thread] == thread) return set;
    Buffers image = 0;
    for (; set != 0; set &= set - 1) image |= Buffers{1} << names_[thread][static_cast<size_t>(std::countr_zero(set))];
    return image;
  }

  /// A wgmma is over for all four warps at once.
  void join_wgmmas(size_t thread) {
    for (Info& info : infos_[thread]) {
      if (&info - infos_[thread].data() < 0 ||
          script_.threads[thread][static_cast<size_t>(&info - infos_[thread].data())].kind != Kind::wgmma_wait)
        continue;
      for (size_t other = 0; other < threads_; ++other) {
        if (other == thread || script_.groups[other] != script_.groups[thread]) continue;
        uint64_t bits = 0;
        for (size_t i = 0, mine = 0; i < flights_[thread].size(); ++i) {
          if (flights_[thread][i].kind != Kind::wgmma) continue;
          if ((info.ends >> i & 1) != 0) bits |= nth_wgmma(other, mine);
          ++mine;
        }
        info.also_ends.emplace_back(other, bits);
      }
    }
  }
  uint64_t nth_wgmma(size_t thread, size_t n) const {
    for (size_t i = 0; i < flights_[thread].size(); ++i)
      if (flights_[thread][i].kind == Kind::wgmma && n-- == 0) return uint64_t{1} << i;
    return 0;
  }
  /// Which step put that flight in the air: has the thread come past it?
  bool issued(const State& state, size_t thread, uint64_t bits) const {
    for (; bits != 0; bits &= bits - 1)
      if (state.threads[thread].at <= flights_[thread][static_cast<size_t>(std::countr_zero(bits))].step) return false;
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
      const Buffers seen = ~of_fellows_ | own_[thread];
      Key key;
      key.mix(t.at * 0x94d049bb133111ebu ^ t.flights);
      key.mix(renamed(thread, t.unfenced_reads & seen));
      key.mix(renamed(thread, t.unfenced_writes & seen));
      key.mix(renamed(thread, t.stale_reads & seen));
      key.mix(renamed(thread, t.stale_writes & seen));
      key.mix(waits[thread]);
      // What others hold against this thread's own buffers goes with it.
      if (own_[thread] != 0)
        for (size_t other = 0; other < threads_; ++other) {
          const ThreadState& o = state.threads[other];
          if (other == thread ||
              ((o.unfenced_reads | o.unfenced_writes | o.stale_reads | o.stale_writes) & own_[thread]) == 0)
            continue;
          // A fellow never touches them, so its marks on them are never looked at (find_live_bits).
          key.mix(other);
          key.mix(renamed(thread, o.unfenced_reads & own_[thread]));
          key.mix(renamed(thread, o.unfenced_writes & own_[thread]));
          key.mix(renamed(thread, o.stale_reads & own_[thread]));
          key.mix(renamed(thread, o.stale_writes & own_[thread]));
        }
      keys[thread] = key.value;
    }
    Key key;
    for (size_t leader = 0; leader < threads_; ++leader) {
      if (leader_[leader] != leader) continue;
      std::array<uint64_t, max_threads> fellows;
      size_t count = 0;
      for (size_t thread = leader; thread < threads_; ++thread)
        if (leader_[thread] == leader) fellows[count++] = keys[thread];
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
        const Flight& flight = flights_[other][static_cast<size_t>(std::countr_zero(left))];
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
      const Flight& flight = flights_[thread][static_cast<size_t>(std::countr_zero(left))];
      reads |= flight.reads & script_.tensor;
      writes |= flight.writes & script_.tensor;
    }
    for (size_t other = 0; other < threads_; ++other) {
      if (other == thread) continue;
      state.threads[other].stale_reads |= reads & tensor_of_[other];
      state.threads[other].stale_writes |= writes & tensor_of_[other];
    }
  }

  /// Its own warp knows that it is over; others need the fence before.
  void end_tensor_access(State& state, size_t thread, uint64_t over) {
    ThreadState& mine = state.threads[thread];
    for (uint64_t left = over; left != 0; left &= left - 1) {
      const Flight& flight = flights_[thread][static_cast<size_t>(std::countr_zero(left))];
      mine.unfenced_reads |= flight.reads;
      mine.unfenced_writes |= flight.writes;
    }
    becomes_stale(state, thread, over);
    mine.flights &= ~over;
  }

  bool enabled(const State& state, size_t thread, const Step& step, const Info& info) const {
    if (step.kind == Kind::wait)
      return (state.barriers[static_cast<size_t>(step.barrier)].parity & 1) == (step.phases & 1);
    if (step.kind == Kind::wgmma_wait) {
      for (const auto& [other, bits] : info.also_ends)
        if (!issued(state, other, bits)) return false;
    }
    return !plain_ || step.kind == Kind::commit || (state.threads[thread].flights & info.ends) == 0;
  }

  /// A step that is not early, and not a sync.
  void execute(State& state, size_t thread, const Step& step, const Info& info) {
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
        mine.unfenced_reads |= step.reads & ~script_.tensor & fenced_;
        mine.unfenced_writes |= step.writes & ~script_.tensor & fenced_;
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
    while (!finished(state, thread) && infos_[thread][mine.at].mover == Mover::early) {
      const Step& step = step_at(state, thread);
      check(state, thread, step);
      mine.flights |= infos_[thread][mine.at].flight;
      if (step.kind == Kind::tensor_after) mine.stale_reads = mine.stale_writes = 0;
      ++mine.at;
    }
  }

  /// Adds up to `arrivals` and `bytes` what the loads in flight may bring before: each way of it is a state.
  template <class Then>
  void with_landed(const State& state, int barrier, const Then& then) {
    std::array<std::pair<size_t, size_t>, max_flights> loads;
    size_t count = 0;
    for (size_t thread = 0; thread < threads_ && !plain_; ++thread)
      for (uint64_t left = state.threads[thread].flights & signals_[thread]; left != 0; left &= left - 1) {
        const auto index = static_cast<size_t>(std::countr_zero(left));
        const Flight& flight = flights_[thread][index];
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
    const Step& step = script_.threads[thread][flights_[thread][index].step];
    state.threads[thread].flights &= ~(uint64_t{1} << index);
    state.barriers[static_cast<size_t>(step.barrier)].bytes -= step.bytes;
    settle(state, step.barrier);
  }

  /// The thread's next move, if it can make one.
  bool move(const State& state, size_t thread, Buffers& reads, Buffers& writes) {
    if (finished(state, thread)) return false;
    for (size_t i = 0; i < script_.counts.size(); ++i)
      if ((state.barriers[i].waiting >> thread & 1) != 0) return false;
    const Info& next_info = infos_[thread][state.threads[thread].at];
    if (!plain_ && next_info.mover == Mover::stop && !enabled(state, thread, step_at(state, thread), next_info))
      return false;
    State after = state;
    ThreadState& mine = after.threads[thread];
    const auto accesses = [&](const Step& step) {
      check(after, thread, step);
      reads |= step.reads;
      writes |= step.writes;
    };
    while (!finished(after, thread) && infos_[thread][mine.at].mover == Mover::late) {
      const Step& step = step_at(after, thread);
      accesses(step);
      execute(after, thread, step, infos_[thread][mine.at]);
      ++mine.at;
    }
    if (finished(after, thread) || infos_[thread][mine.at].mover == Mover::early) {
      issue(after, thread);
      leave(after, thread);
      return true;
    }
    const Step& step = step_at(after, thread);
    const Info& info = infos_[thread][mine.at];
    if (plain_ && (step.kind == Kind::access || info.flight != 0)) accesses(step);
    if (!enabled(after, thread, step, info)) return false;
    const bool signals = step.kind == Kind::arrive || step.kind == Kind::arrive_expect || step.kind == Kind::expect;
    const auto finish = [&](State& next) {
      ++next.threads[thread].at;
      execute(next, thread, step, info);
      issue(next, thread);
      leave(next, thread);
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
  void leave(const State& state, size_t thread) {
    if (finished(state, thread) && (state.threads[thread].flights & stores_[thread]) != 0) outcome_.pending = true;
    push(state);
  }

  void land_commit(const State& state, size_t thread, size_t index) {
    const Flight& flight = flights_[thread][index];
    const Step& step = script_.threads[thread][flight.step];
    with_landed(state, step.barrier, [&](State& next, uint32_t) {
      ThreadState& mine = next.threads[thread];
      mine.flights &= ~(uint64_t{1} << index);
      const uint64_t over = mine.flights & infos_[thread][flight.step].ends;
      becomes_stale(next, thread, over);
      mine.flights &= ~over;
      arrive(next, step.barrier, 1);
      push(next);
    });
  }

  /// Without reductions: any one thing that is in flight. False where it must wait for others.
  bool land_plainly(const State& state, size_t thread, size_t index) {
    const Flight& flight = flights_[thread][index];
    const uint64_t bit = uint64_t{1} << index, flights = state.threads[thread].flights;
    State after = state;
    switch (flight.kind) {
      case Kind::load: land_load(after, thread, index); break;
      case Kind::commit:
        if ((flights & infos_[thread][flight.step].ends) != 0) return false;
        land_commit(state, thread, index);
        return true;
      case Kind::multiply:
        for (size_t i = 0; i < index; ++i)
          if ((flights >> i & 1) != 0 && flights_[thread][i].kind == Kind::multiply &&
              (flights_[thread][i].writes & flight.writes) != 0)
            return false;
        becomes_stale(after, thread, bit);
        after.threads[thread].flights &= ~bit;
        break;
      case Kind::tensor_access: end_tensor_access(after, thread, bit); break;
      case Kind::wgmma: {
        size_t nth = 0;
        for (size_t i = 0; i < index; ++i) nth += flights_[thread][i].kind == Kind::wgmma ? 1 : 0;
        for (size_t other = 0; other < threads_; ++other) {
          if (script_.groups[other] != script_.groups[thread]) continue;
          const uint64_t part = nth_wgmma(other, nth);
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
      signalled |= later_signals_[thread][state.threads[thread].at];
      for (uint64_t left = state.threads[thread].flights & signals_[thread]; left != 0; left &= left - 1)
        signalled |=
            uint64_t{1}
            << script_.threads[thread][flights_[thread][static_cast<size_t>(std::countr_zero(left))].step].barrier;
    }
    for (size_t thread = 0; thread < threads_; ++thread) {
      if (finished(state, thread)) continue;
      const Step& step = step_at(state, thread);
      if (step.kind == Kind::wait && (signalled >> step.barrier & 1) == 0 &&
          enabled(state, thread, step, infos_[thread][state.threads[thread].at]))
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
      if (!finished(state, thread)) over = false;
      moved = move(state, thread, near[thread].first, near[thread].second) || moved;
    }
    for (size_t i = 0; i < threads_; ++i)
      for (size_t j = i + 1; j < threads_; ++j)
        if (conflict(near[i].first, near[i].second, near[j].first, near[j].second)) outcome_.race = true;
    uint64_t barriers = 0;
    std::array<int64_t, max_barriers> left_over = {};
    for (size_t thread = 0; thread < threads_; ++thread)
      for (uint64_t left = state.threads[thread].flights & (plain_ ? ~uint64_t{0} : signals_[thread]); left != 0;
           left &= left - 1) {
        const auto index = static_cast<size_t>(std::countr_zero(left));
        const Step& step = script_.threads[thread][flights_[thread][index].step];
        if (plain_) {
          moved = land_plainly(state, thread, index) || moved;
        } else if (flights_[thread][index].kind == Kind::commit) {
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
  bool fits_ = true;
  Buffers fenced_ = 0;                                       ///< that asynchronous work touches
  std::array<Buffers, max_threads> tensor_of_ = {};          ///< tensor memory that the thread's operations touch
  std::array<size_t, max_threads> leader_ = {};              ///< the first of the threads it may change places with
  std::array<Buffers, max_threads> own_ = {};                ///< buffers that go with it
  Buffers of_fellows_ = 0;                                   ///< all of those
  std::array<std::array<int, 64>, max_threads> names_ = {};  ///< ... and their names with the leader
  std::vector<std::vector<Info>> infos_;                     ///< [thread][step]
  std::vector<std::vector<Flight>> flights_;                 ///< [thread][bit]
  std::vector<uint64_t> stores_, signals_;                   ///< [thread], bits of flights
  std::vector<std::vector<uint64_t>> later_signals_;  ///< [thread][step]: barriers that it or a later one signals
  std::vector<State> stack_;
  Seen seen_;
  Outcome outcome_;
};

Outcome search(const Script& script, size_t limit, bool plain) {
  Outcome outcome;
  outcome.truncated = true;
  if (script.threads.size() > max_threads || script.counts.size() > max_barriers || script.buffers > 64) return outcome;
  Explorer explorer(script, plain);
  return explorer.fits() ? explorer.explore(limit) : outcome;
}

}  // namespace

Outcome explore(const Script& script, size_t limit) { return search(script, limit, false); }
Outcome explore_plainly(const Script& script, size_t limit) { return search(script, limit, true); }

}  // namespace warploom::loom::check
