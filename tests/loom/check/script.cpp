#include "script.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <type_traits>
#include <unordered_set>

#include "loom/check/shadow.hpp"

namespace warploom::loom::check {
namespace {

using Kind = Step::Kind;

bool parity_passed(uint64_t complete, uint32_t phases) { return (complete & 1) == (phases & 1); }

// ---- every schedule

constexpr size_t max_threads = 6, max_barriers = 12, max_buffers = 16, max_steps = 64;

/// Plain bytes, so that states can be hashed and compared as such.
struct State {
  struct Barrier {
    int8_t pending = 0, bytes = 0;
    uint8_t parity = 0;
  };
  uint64_t flights[max_threads] = {};   ///< asynchronous steps under way, one bit per step of the thread
  uint32_t unfenced[max_threads] = {};  ///< two bits per buffer: read, written since the thread's last fence
  uint8_t at[max_threads] = {};         ///< next step
  Barrier barriers[max_barriers] = {};
  uint8_t unused[14] = {};  ///< up to a multiple of eight bytes
};
static_assert(sizeof(State) % sizeof(uint64_t) == 0 && std::has_unique_object_representations_v<State>);

struct Fingerprint {
  uint64_t a = 0, b = 0;
  friend bool operator==(const Fingerprint&, const Fingerprint&) = default;
};
struct FingerprintHash {
  size_t operator()(const Fingerprint& f) const { return f.a; }
};
Fingerprint fingerprint(const State& state) {
  uint64_t words[sizeof(State) / sizeof(uint64_t)];
  std::memcpy(words, &state, sizeof(state));
  Fingerprint f{0x9e3779b97f4a7c15u, 0xc2b2ae3d27d4eb4fu};
  for (const uint64_t word : words) {
    f.a = (f.a ^ word) * 0xbf58476d1ce4e5b9u;
    f.a ^= f.a >> 29;
    f.b = (f.b + word) * 0x94d049bb133111ebu;
    f.b ^= f.b >> 32;
  }
  return f;
}

struct Touch {
  int buffer = 0;
  bool writes = false;
};

std::vector<Touch> touches(const Step& step) {
  switch (step.kind) {
    case Kind::load:
    case Kind::write: return {{step.buffer, true}};
    case Kind::read:
    case Kind::store: return {{step.buffer, false}};
    case Kind::multiply: return {{step.buffer, false}, {step.second, false}, {step.sum, true}};
    default: return {};
  }
}

bool asynchronous(Kind kind) { return kind == Kind::load || kind == Kind::multiply || kind == Kind::store; }

class Explorer {
 public:
  explicit Explorer(const Script& script) : script_(script) {
    for (const auto& thread : script.threads) {
      auto& sets = touched_.emplace_back();
      for (const Step& step : thread) {
        Sets s;
        for (const Touch& touch : touches(step)) (touch.writes ? s.writes : s.reads) |= 1u << touch.buffer;
        if (step.kind == Kind::multiply) s.sum = 1u << step.sum;
        sets.push_back(s);
      }
    }
  }

  Outcome explore(size_t limit) {
    State start;
    for (size_t i = 0; i < script_.counts.size(); ++i)
      start.barriers[i].pending = static_cast<int8_t>(script_.counts[i]);
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
  struct Sets {
    uint32_t reads = 0, writes = 0, sum = 0;
  };
  static bool conflict(const Sets& a, const Sets& b) {
    return (a.writes & (b.reads | b.writes)) != 0 || (a.reads & b.writes) != 0;
  }

  void push(const State& state) {
    if (seen_.insert(fingerprint(state)).second) stack_.push_back(state);
  }

  /// False when the barrier cannot take it.
  bool settle(State& state, int index) {
    State::Barrier& barrier = state.barriers[index];
    if (barrier.pending < 0) {
      outcome_.count = true;
      return false;
    }
    if (barrier.pending == 0 && barrier.bytes == 0) {
      barrier.parity ^= 1;
      barrier.pending = static_cast<int8_t>(script_.counts[static_cast<size_t>(index)]);
    }
    return true;
  }

  bool enabled(const State& state, size_t thread) const {
    const Step& step = script_.threads[thread][state.at[thread]];
    if (step.kind == Kind::wait) return parity_passed(state.barriers[step.barrier].parity, step.phases);
    if (step.kind == Kind::wait_store) {
      for (uint64_t left = state.flights[thread]; left != 0; left &= left - 1)
        if (script_.threads[thread][static_cast<size_t>(std::countr_zero(left))].kind == Kind::store) return false;
    }
    return true;
  }

  void expand(const State& state) {
    bool moved = false, finished = true;
    const Sets* next[max_threads];
    size_t ready = 0;
    for (size_t thread = 0; thread < script_.threads.size(); ++thread) {
      if (state.at[thread] >= script_.threads[thread].size()) continue;
      finished = false;
      if (!enabled(state, thread)) continue;
      const size_t at = state.at[thread];
      next[ready++] = &touched_[thread][at];
      check(state, thread, at);
      State after = state;
      ++after.at[thread];
      moved = true;
      if (execute(after, thread, at)) push(after);
    }
    for (size_t i = 0; i < ready; ++i)
      for (size_t j = i + 1; j < ready; ++j)
        if (conflict(*next[i], *next[j])) outcome_.race = true;
    for (size_t thread = 0; thread < script_.threads.size(); ++thread)
      for (uint64_t left = state.flights[thread]; left != 0; left &= left - 1) {
        finished = false;
        const auto index = static_cast<size_t>(std::countr_zero(left));
        if (!may_land(state, thread, index)) continue;
        State after = state;
        after.flights[thread] &= ~(uint64_t{1} << index);
        moved = true;
        bool possible = true;
        const Step& step = script_.threads[thread][index];
        if (step.kind == Kind::load) {
          after.barriers[step.barrier].bytes = static_cast<int8_t>(after.barriers[step.barrier].bytes - step.bytes);
          possible = settle(after, step.barrier);
        } else if (step.kind == Kind::commit) {
          --after.barriers[step.barrier].pending;
          possible = settle(after, step.barrier);
        }
        if (possible) push(after);
      }
    if (!moved && !finished) outcome_.deadlock = true;
    if (finished)
      for (const State::Barrier& barrier : state.barriers)
        if (barrier.bytes != 0) outcome_.count = true;
  }

  bool may_land(const State& state, size_t thread, size_t index) const {
    const auto& steps = script_.threads[thread];
    const uint64_t earlier = state.flights[thread] & ((uint64_t{1} << index) - 1);
    for (uint64_t left = earlier; left != 0; left &= left - 1) {
      const Step& before = steps[static_cast<size_t>(std::countr_zero(left))];
      if (before.kind != Kind::multiply) continue;
      if (steps[index].kind == Kind::commit) return false;
      if (steps[index].kind == Kind::multiply && before.sum == steps[index].sum) return false;
    }
    return true;
  }

  void check(const State& state, size_t thread, size_t at) {
    const Step& step = script_.threads[thread][at];
    const Sets& mine = touched_[thread][at];
    if ((mine.reads | mine.writes) == 0) return;
    for (size_t other = 0; other < script_.threads.size(); ++other)
      for (uint64_t left = state.flights[other]; left != 0; left &= left - 1) {
        const Sets& theirs = touched_[other][static_cast<size_t>(std::countr_zero(left))];
        if (!conflict(theirs, mine)) continue;
        // Multiplications of one thread on one sum are in order; all they share beside it they only read.
        if (other == thread && theirs.sum != 0 && theirs.sum == mine.sum && (mine.reads & mine.sum) == 0 &&
            (theirs.reads & mine.sum) == 0)
          continue;
        outcome_.race = true;
      }
    if (!asynchronous(step.kind)) return;
    for (const Touch& touch : touches(step)) {
      if (step.kind == Kind::multiply && touch.buffer == step.sum) continue;  // tensor memory has no proxies
      for (const uint32_t marks : state.unfenced) {
        const uint32_t bits = marks >> (2 * touch.buffer) & 3;
        if ((bits & 2) != 0 || (touch.writes && (bits & 1) != 0)) outcome_.fence = true;
      }
    }
  }

  bool execute(State& state, size_t thread, size_t at) {
    const Step& step = script_.threads[thread][at];
    switch (step.kind) {
      case Kind::arrive: --state.barriers[step.barrier].pending; return settle(state, step.barrier);
      case Kind::arrive_expect:
        state.barriers[step.barrier].bytes = static_cast<int8_t>(state.barriers[step.barrier].bytes + step.bytes);
        --state.barriers[step.barrier].pending;
        return settle(state, step.barrier);
      case Kind::expect:
        state.barriers[step.barrier].bytes = static_cast<int8_t>(state.barriers[step.barrier].bytes + step.bytes);
        return true;
      case Kind::load:
      case Kind::multiply:
      case Kind::commit:
      case Kind::store: state.flights[thread] |= uint64_t{1} << at; return true;
      case Kind::read: state.unfenced[thread] |= 1u << (2 * step.buffer); return true;
      case Kind::write: state.unfenced[thread] |= 2u << (2 * step.buffer); return true;
      case Kind::fence: state.unfenced[thread] = 0; return true;
      case Kind::wait:
      case Kind::wait_store: return true;
    }
    return true;
  }

  const Script& script_;
  std::vector<std::vector<Sets>> touched_;  ///< [thread][step]
  std::vector<State> stack_;
  std::unordered_set<Fingerprint, FingerprintHash> seen_;
  Outcome outcome_;
};

// ---- one schedule, with clocks

class Runner {
 public:
  Runner(const Script& script, uint64_t seed)
      : script_(script),
        random_(seed),
        order_(static_cast<uint32_t>(script.threads.size())),
        shadow_(static_cast<uint32_t>(script.buffers)),
        at_(script.threads.size(), 0),
        flights_(script.threads.size()) {
    order_.violated = [this](const Order::Violation&) { outcome_.phase = true; };
    for (const int count : script.counts) barriers_.push_back({count, 0, order_.make_barrier()});
    shadow_.initialise(0, static_cast<uint32_t>(script.buffers) * Shadow::line_cells);
  }

  Outcome run() {
    while (!outcome_.count) {
      std::vector<std::pair<size_t, size_t>> choices;  // thread, and 0 or 1 + the index of a flight
      for (size_t thread = 0; thread < at_.size(); ++thread) {
        if (at_[thread] < script_.threads[thread].size() && enabled(thread)) choices.emplace_back(thread, 0);
        for (size_t i = 0; i < flights_[thread].size(); ++i)
          if (may_land(thread, i)) choices.emplace_back(thread, 1 + i);
      }
      if (choices.empty()) break;
      const auto [thread, flight] = choices[random_.below(static_cast<uint32_t>(choices.size()))];
      if (flight == 0)
        execute(thread, script_.threads[thread][at_[thread]++]);
      else
        land(thread, flight - 1);
    }
    for (size_t thread = 0; thread < at_.size(); ++thread)
      if (at_[thread] < script_.threads[thread].size()) outcome_.deadlock = true;
    for (const Barrier& barrier : barriers_)
      if (barrier.bytes != 0) outcome_.count = true;
    return outcome_;
  }

 private:
  struct Barrier {
    int pending = 0, bytes = 0;
    Order::BarrierId id = 0;
  };
  struct InFlight {
    Step step;
    Work work;
  };

  Barrier& barrier(const Step& step) { return barriers_[static_cast<size_t>(step.barrier)]; }
  static Agent agent(size_t thread) { return {static_cast<uint32_t>(thread), 0}; }

  bool enabled(size_t thread) {
    const Step& step = script_.threads[thread][at_[thread]];
    if (step.kind == Kind::wait) return parity_passed(order_.phases(barrier(step).id), step.phases);
    if (step.kind == Kind::wait_store)
      return std::none_of(flights_[thread].begin(), flights_[thread].end(),
                          [](const InFlight& flight) { return flight.step.kind == Kind::store; });
    return true;
  }

  bool may_land(size_t thread, size_t index) const {
    const auto& flights = flights_[thread];
    for (size_t i = 0; i < index; ++i) {
      if (flights[i].step.kind != Kind::multiply) continue;
      if (flights[index].step.kind == Kind::commit) return false;
      if (flights[index].step.kind == Kind::multiply && flights[i].step.sum == flights[index].step.sum) return false;
    }
    return true;
  }

  void touch(int buffer, bool writes, const Viewpoint& view, Proxy proxy) {
    const auto first = static_cast<uint32_t>(buffer) * Shadow::line_cells;
    const auto report = [this](const Conflict& conflict) {
      (conflict.kind == Conflict::Kind::race ? outcome_.race : outcome_.fence) = true;
    };
    const Record record = view.record(proxy, 0);
    if (writes)
      shadow_.write(first, Shadow::line_cells, view, record, report);
    else
      shadow_.read(first, Shadow::line_cells, view, record, report);
  }

  void settle(Barrier& barrier) {
    if (barrier.pending < 0) {
      outcome_.count = true;
    } else if (barrier.pending == 0 && barrier.bytes == 0) {
      order_.phase_completed(barrier.id);
      barrier.pending = script_.counts[static_cast<size_t>(&barrier - barriers_.data())];
    }
  }

  void execute(size_t thread, const Step& step) {
    const Agent self = agent(thread);
    switch (step.kind) {
      case Kind::wait:
        if (order_.phases(barrier(step).id) != step.phases) outcome_.phase = true;
        order_.passed(self, barrier(step).id, step.phases);
        break;
      case Kind::arrive:
        order_.arrive(self, barrier(step).id);
        --barrier(step).pending;
        settle(barrier(step));
        break;
      case Kind::arrive_expect:
        order_.arrive(self, barrier(step).id);
        barrier(step).bytes += step.bytes;
        --barrier(step).pending;
        settle(barrier(step));
        break;
      case Kind::expect:
        order_.expect(self, barrier(step).id);
        barrier(step).bytes += step.bytes;
        break;
      case Kind::load: {
        Work work = order_.begin(self);
        touch(step.buffer, true, Viewpoint(work), Proxy::async);
        flights_[thread].push_back({step, std::move(work)});
        break;
      }
      case Kind::multiply: {
        // The pipe remembers the last on each sum: one that has landed is still known to come before.
        const auto last = std::find_if(pipe_.begin(), pipe_.end(),
                                       [&](const auto& entry) { return entry.first == std::pair(thread, step.sum); });
        Work work = last != pipe_.end() ? order_.begin_behind(std::span(&self, 1), last->second) : order_.begin(self);
        touch(step.buffer, false, Viewpoint(work), Proxy::async);
        touch(step.second, false, Viewpoint(work), Proxy::async);
        touch_sum(step.sum, true, Viewpoint(work));
        if (last != pipe_.end())
          last->second = work;
        else
          pipe_.emplace_back(std::pair(thread, step.sum), work);
        uncommitted(thread).push_back(work);
        flights_[thread].push_back({step, std::move(work)});
        break;
      }
      case Kind::commit: {
        Work work = order_.begin(self);
        for (const Work& earlier : uncommitted(thread)) Order::include(work, earlier);
        flights_[thread].push_back({step, std::move(work)});
        break;
      }
      case Kind::read:
      case Kind::write:
        if (is_sum(step.buffer)) {
          touch_sum(step.buffer, step.kind == Kind::write, Viewpoint(order_, self));
        } else {
          touch(step.buffer, step.kind == Kind::write, Viewpoint(order_, self), Proxy::generic);
          order_.accessed_shared(self);
        }
        break;
      case Kind::fence: order_.fence_proxy_async(self); break;
      case Kind::store: {
        Work work = order_.begin(self);
        touch(step.buffer, false, Viewpoint(work), Proxy::async);
        stores(thread).push_back(work);
        flights_[thread].push_back({step, std::move(work)});
        break;
      }
      case Kind::wait_store:
        for (const Work& work : stores(thread)) order_.learn(self, work);
        stores(thread).clear();
        break;
    }
  }

  // Sums are what only multiplications and plain reads touch: no proxies there.
  bool is_sum(int buffer) const {
    for (const auto& thread : script_.threads)
      for (const Step& step : thread)
        if (step.kind == Kind::multiply && step.sum == buffer) return true;
    return false;
  }
  void touch_sum(int buffer, bool writes, const Viewpoint& view) { touch(buffer, writes, view, Proxy::generic); }

  void land(size_t thread, size_t index) {
    const InFlight flight = flights_[thread][index];
    flights_[thread].erase(flights_[thread].begin() + static_cast<std::ptrdiff_t>(index));
    if (flight.step.kind == Kind::load) {
      order_.complete(flight.work, barrier(flight.step).id, false);
      barrier(flight.step).bytes -= flight.step.bytes;
      settle(barrier(flight.step));
    } else if (flight.step.kind == Kind::commit) {
      order_.complete(flight.work, barrier(flight.step).id, true);
      --barrier(flight.step).pending;
      settle(barrier(flight.step));
    }
    if (flight.step.kind != Kind::multiply) order_.retire(flight.work);
  }

  std::vector<Work>& uncommitted(size_t thread) {
    uncommitted_.resize(script_.threads.size());
    return uncommitted_[thread];
  }
  std::vector<Work>& stores(size_t thread) {
    stores_.resize(script_.threads.size());
    return stores_[thread];
  }

  const Script& script_;
  Random random_;
  Order order_;
  Shadow shadow_;
  std::vector<size_t> at_;
  std::vector<std::vector<InFlight>> flights_;
  std::vector<Barrier> barriers_;
  std::vector<std::vector<Work>> uncommitted_, stores_;
  std::vector<std::pair<std::pair<size_t, int>, Work>> pipe_;
  Outcome outcome_;
};

}  // namespace

Outcome explore(const Script& script, size_t limit) {
  bool fits = script.threads.size() <= max_threads && script.counts.size() <= max_barriers &&
              script.buffers <= static_cast<int>(max_buffers);
  for (const auto& thread : script.threads) fits = fits && thread.size() <= max_steps;
  if (fits) return Explorer(script).explore(limit);
  Outcome outcome;
  outcome.truncated = true;
  return outcome;
}

Outcome run_once(const Script& script, uint64_t seed) { return Runner(script, seed).run(); }

std::string to_string(const Outcome& outcome) {
  std::string text;
  const auto add = [&](bool yes, const char* word) {
    if (yes) text += (text.empty() ? "" : ", ") + std::string(word);
  };
  add(outcome.race, "race");
  add(outcome.fence, "fence");
  add(outcome.deadlock, "deadlock");
  add(outcome.count, "count");
  add(outcome.phase, "phase");
  add(outcome.truncated, "truncated");
  return text.empty() ? "clean" : text;
}

Script pipeline(const PipelineShape& shape) {
  const int full = 0, empty = shape.stages, sum_full = 2 * shape.stages, sum_empty = sum_full + shape.sums;
  const int a = 0, b = shape.stages, sum = 2 * shape.stages, out = sum + shape.sums;
  Script script;
  script.counts.assign(static_cast<size_t>(sum_empty + shape.sums), 1);
  for (int i = 0; i < shape.sums; ++i) script.counts[static_cast<size_t>(sum_empty + i)] = shape.epilogues;
  script.buffers = out + shape.epilogues;

  std::vector<Step> load, multiply;
  for (int i = 0; i < shape.tiles * shape.k_blocks; ++i) {
    const int stage = i % shape.stages;
    const auto round = static_cast<uint32_t>(i / shape.stages);
    load.push_back({.kind = Kind::wait, .barrier = empty + stage, .phases = round});
    load.push_back({.kind = Kind::arrive_expect, .barrier = full + stage, .bytes = 2});
    load.push_back({.kind = Kind::load, .barrier = full + stage, .buffer = a + stage, .bytes = 1});
    load.push_back({.kind = Kind::load, .barrier = full + stage, .buffer = b + stage, .bytes = 1});
  }
  for (int tile = 0; tile < shape.tiles; ++tile) {
    const int s = tile % shape.sums;
    multiply.push_back(
        {.kind = Kind::wait, .barrier = sum_empty + s, .phases = static_cast<uint32_t>(tile / shape.sums)});
    for (int k = 0; k < shape.k_blocks; ++k) {
      const int i = tile * shape.k_blocks + k, stage = i % shape.stages;
      multiply.push_back(
          {.kind = Kind::wait, .barrier = full + stage, .phases = static_cast<uint32_t>(i / shape.stages + 1)});
      multiply.push_back({.kind = Kind::multiply, .buffer = a + stage, .second = b + stage, .sum = sum + s});
      multiply.push_back({.kind = Kind::commit, .barrier = empty + stage});
    }
    multiply.push_back({.kind = Kind::commit, .barrier = sum_full + s});
  }
  script.threads = {load, multiply};
  for (int e = 0; e < shape.epilogues; ++e) {
    std::vector<Step> epilogue;
    for (int tile = 0; tile < shape.tiles; ++tile) {
      const int s = tile % shape.sums;
      epilogue.push_back(
          {.kind = Kind::wait, .barrier = sum_full + s, .phases = static_cast<uint32_t>(tile / shape.sums + 1)});
      epilogue.push_back({.kind = Kind::read, .buffer = sum + s});
      epilogue.push_back({.kind = Kind::arrive, .barrier = sum_empty + s});
      if (tile > 0) epilogue.push_back({.kind = Kind::wait_store});
      epilogue.push_back({.kind = Kind::write, .buffer = out + e});
      epilogue.push_back({.kind = Kind::fence});
      epilogue.push_back({.kind = Kind::store, .buffer = out + e});
    }
    script.threads.push_back(epilogue);
  }
  return script;
}

std::string mutate(Script& script, Random& random) {
  std::vector<Step>& steps = script.threads[random.below(static_cast<uint32_t>(script.threads.size()))];
  if (steps.empty()) return "nothing";
  const uint32_t size = static_cast<uint32_t>(steps.size());
  const uint32_t at = random.below(size);
  const auto place = steps.begin() + at;
  const auto from = [&](auto wanted) { return std::find_if(place, steps.end(), wanted); };
  const int sign = random.below(2) == 0 ? 1 : -1;
  switch (random.below(8)) {
    case 0: steps.erase(place); return "drop";
    case 1: steps.insert(place, Step(*place)); return "repeat";
    case 2:
      if (at + 1 < size) std::iter_swap(place, place + 1);
      return "swap";
    case 3:
      if (const auto wait = from([](const Step& s) { return s.kind == Kind::wait; }); wait != steps.end())
        wait->phases ^= 1;
      return "parity";
    case 4: {
      int& count = script.counts[random.below(static_cast<uint32_t>(script.counts.size()))];
      count = count + sign < 1 ? 2 : count + sign;
      return "count";
    }
    case 5:
      if (const auto step = from([](const Step& s) { return s.bytes != 0; }); step != steps.end()) step->bytes += sign;
      return "bytes";
    case 6:
      if (const auto step = from([](const Step& s) { return s.kind == Kind::load || s.kind == Kind::multiply; });
          step != steps.end())
        step->buffer = static_cast<int>(random.below(2));
      return "buffer";
    default:
      if (const auto step = from([](const Step& s) { return s.kind == Kind::arrive_expect; }); step != steps.end()) {
        Step expect = *step;
        expect.kind = Kind::expect;
        step->kind = Kind::arrive;
        step->bytes = 0;
        steps.insert(random.below(2) == 0 ? step : step + 1, expect);
      }
      return "split";
  }
}

}  // namespace warploom::loom::check
