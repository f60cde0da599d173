#include "recorded.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <set>

namespace warploom::loom::check {
namespace {

using Kind = Step::Kind;
using Op = Operation::Kind;

constexpr uint32_t all_lanes = ~0u;

/// A step that still knows its bytes.
struct Draft {
  Step step;
  std::vector<Region> regions = {};
  uint32_t store_count = 0;  ///< wait_store: stores it covers
  uint32_t group = 0;        ///< wgmma_wait: the last group it covers
  bool of_warps = false;     ///< at a barrier that counts warps
};

/// The lanes of a warp do the same thing one after the other: one step of as many lanes. A lane's operation joins a step
/// of its kind that comes after the lane's own last step and before the warp's next meeting, or is a new step.
class Warp {
 public:
  void meet(uint32_t mask) {
    if (mask == all_lanes) segment_ = steps.size();
  }
  /// One that no other lane joins.
  Draft& push(const Draft& draft) {
    steps.push_back(draft);
    note(draft.step.lanes, steps.size() - 1);
    return steps.back();
  }
  Draft& add(const Step& step) {
    const bool gathers = step.kind == Kind::access;
    size_t first = segment_;
    for (uint32_t lanes = step.lanes; lanes != 0; lanes &= lanes - 1) {
      const size_t own = last_[static_cast<size_t>(std::countr_zero(lanes))];
      first = std::max(first, gathers && own != 0 ? own - 1 : own);
    }
    size_t at = first;
    for (; at < steps.size(); ++at) {
      Step other = steps[at].step;
      const bool apart = (other.lanes & step.lanes) == 0;
      other.lanes = step.lanes;
      if (other == step && (apart || gathers)) break;
    }
    if (at == steps.size()) steps.push_back({.step = step});
    steps[at].step.lanes |= step.lanes;
    note(step.lanes, at);
    return steps[at];
  }
  std::vector<Draft> steps;

 private:
  void note(uint32_t lanes, size_t at) {
    for (; lanes != 0; lanes &= lanes - 1) last_[static_cast<size_t>(std::countr_zero(lanes))] = at + 1;
  }
  size_t segment_ = 0;
  size_t last_[32] = {};  ///< one behind each lane's last step
};

/// Products of one accumulator that follow each other are one step, and so are wgmmas of one group.
void unite(std::vector<Draft>& steps) {
  const auto accumulator = [](const Draft& draft) {
    std::set<std::array<uint32_t, 3>> places;
    for (const Region& region : draft.regions)
      if (region.writes) places.insert({region.cta, region.first, region.count});
    return places;
  };
  std::vector<Draft> united;
  for (Draft& draft : steps) {
    if (!united.empty() && united.back().step.kind == draft.step.kind) {
      Draft& before = united.back();
      const bool products = draft.step.kind == Kind::multiply && accumulator(before) == accumulator(draft);
      const bool parts = draft.step.kind == Kind::tensor_access && before.step.lanes == draft.step.lanes;
      if (products || parts || draft.step.kind == Kind::wgmma) {
        before.regions.insert(before.regions.end(), draft.regions.begin(), draft.regions.end());
        continue;
      }
      if (draft.step.kind == Kind::wait_tensor) continue;
      if (draft.step.kind == Kind::wgmma_wait) {  // one wait, told once for each group
        before.group = std::max(before.group, draft.group);
        continue;
      }
      if (draft.step.kind == Kind::wait_store && before.step.lanes == draft.step.lanes) {
        before.store_count += draft.store_count;
        continue;
      }
    }
    united.push_back(std::move(draft));
  }
  steps = std::move(united);
}

/// How many stores or groups a wait leaves in flight.
void count_pending(std::vector<Draft>& steps) {
  uint32_t stores = 0, covered = 0, commits = 0;
  for (Draft& draft : steps) {
    if (draft.step.kind == Kind::store) ++stores;
    if (draft.step.kind == Kind::wgmma_commit) ++commits;
    if (draft.step.kind == Kind::wait_store) {
      covered += draft.store_count;
      draft.step.pending = stores - covered;
    }
    if (draft.step.kind == Kind::wgmma_wait) draft.step.pending = commits - (draft.group + 1);
  }
}

/// Bytes that the same steps touch in the same way are one buffer.
class BufferMap {
 public:
  void add(size_t step, const Region& region) {
    const uint64_t base = (uint64_t{region.cta} << 1 | (region.tensor ? 1u : 0u)) << 32;
    touches_.push_back({base + region.first, base + region.first + region.count, step, region.writes});
  }
  std::string number(Script& script, const std::vector<Step*>& steps) {
    std::vector<uint64_t> edges;
    for (const Touch& touch : touches_) edges.insert(edges.end(), {touch.begin, touch.end});
    std::sort(edges.begin(), edges.end());
    edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
    std::vector<std::vector<size_t>> users(edges.size());  // two per step: reads, writes
    for (const Touch& touch : touches_) {
      const auto begin = std::lower_bound(edges.begin(), edges.end(), touch.begin) - edges.begin();
      const auto end = std::lower_bound(edges.begin(), edges.end(), touch.end) - edges.begin();
      for (auto i = begin; i < end; ++i) {
        auto& list = users[static_cast<size_t>(i)];
        const size_t user = 2 * touch.step + (touch.writes ? 1 : 0);
        if (list.empty() || list.back() != user) list.push_back(user);
      }
    }
    std::map<std::vector<size_t>, int> numbers;
    for (size_t i = 0; i < users.size(); ++i) {
      auto& list = users[i];
      std::sort(list.begin(), list.end());
      list.erase(std::unique(list.begin(), list.end()), list.end());
      // What nobody writes, or only one warp touches at all, is no subject.
      if (std::none_of(list.begin(), list.end(), [](size_t user) { return user % 2 == 1; })) continue;
      const auto [entry, added] = numbers.try_emplace(list, script.buffers);
      if (!added) continue;
      if (script.buffers == 64) return "more than 64 buffers";
      const Buffers bit = Buffers{1} << script.buffers++;
      if ((edges[i] >> 32 & 1) != 0) script.tensor |= bit;
      for (const size_t user : list) (user % 2 == 1 ? steps[user / 2]->writes : steps[user / 2]->reads) |= bit;
    }
    return {};
  }

 private:
  struct Touch {
    uint64_t begin = 0, end = 0;
    size_t step = 0;
    bool writes = false;
  };
  std::vector<Touch> touches_;
};

bool is_barrier_step(Kind kind) { return kind == Kind::sync || kind == Kind::arrive || kind == Kind::wait; }

}  // namespace

std::string script_of(const Recorder& recorder, Script& script) {
  const size_t warp_count = size_t{recorder.ctas} * recorder.warps_per_cta;
  std::vector<Warp> warps(warp_count);
  std::vector<uint32_t> cluster_phases(32 * warp_count);
  for (const Operation& op : recorder.operations) {
    Warp& warp = warps[op.warp];
    Step step{.lanes = op.lanes};
    const auto at_barrier = [&](Kind kind) {
      step.kind = kind;
      step.barrier = static_cast<int>(op.barrier);
    };
    const auto plain = [&](Kind kind) { warp.add({.kind = kind, .lanes = op.lanes}); };
    switch (op.kind) {
      case Op::meet: warp.meet(op.lanes); break;
      case Op::access: {
        Draft& draft = warp.add({.kind = Kind::access, .lanes = op.lanes});
        draft.regions.insert(draft.regions.end(), op.regions.begin(), op.regions.end());
        break;
      }
      case Op::fence_proxy: plain(Kind::fence); break;
      case Op::tensor_before: plain(Kind::tensor_before); break;
      case Op::tensor_after: plain(Kind::tensor_after); break;
      case Op::arrive:
      case Op::arrive_relaxed:
        step.relaxed = op.kind == Op::arrive_relaxed;
        if (op.count != 1) return "an arrival that counts for several";
        at_barrier(Kind::arrive);
        warp.add(step);
        break;
      case Op::expect:
      case Op::arrive_expect:
        at_barrier(op.kind == Op::expect ? Kind::expect : Kind::arrive_expect);
        step.bytes = static_cast<int>(op.bytes);
        warp.add(step);
        break;
      case Op::wait:
        at_barrier(Kind::wait);
        step.phases = static_cast<uint32_t>(op.phases);
        warp.add(step);
        break;
      case Op::sync:
        at_barrier(Kind::arrive);  // until somebody hears that it waited
        warp.push({.step = step, .of_warps = true});
        warp.meet(all_lanes);
        break;
      case Op::passed:
        for (size_t i = warp.steps.size(); i-- > 0;)
          if (warp.steps[i].step.barrier == static_cast<int>(op.barrier)) {
            warp.steps[i].step.kind = Kind::sync;
            break;
          }
        break;
      case Op::cluster_arrive:
      case Op::cluster_arrive_relaxed:
        step.relaxed = op.kind == Op::cluster_arrive_relaxed;
        at_barrier(Kind::arrive);
        warp.add(step).of_warps = true;
        for (uint32_t lanes = op.lanes; lanes != 0; lanes &= lanes - 1)
          ++cluster_phases[32 * op.warp + static_cast<size_t>(std::countr_zero(lanes))];
        break;
      case Op::cluster_wait:
        at_barrier(Kind::wait);
        step.phases = cluster_phases[32 * op.warp + static_cast<size_t>(std::countr_zero(op.lanes))];
        warp.add(step);
        break;
      case Op::load:
        at_barrier(Kind::load);
        step.bytes = static_cast<int>(op.bytes);
        warp.push({.step = step, .regions = op.regions});
        break;
      case Op::commit:
        at_barrier(Kind::commit);
        warp.push({.step = step});
        break;
      case Op::store:
      case Op::multiply:
      case Op::tensor_access:
      case Op::wgmma:
        step.kind = op.kind == Op::store           ? Kind::store
                    : op.kind == Op::multiply      ? Kind::multiply
                    : op.kind == Op::tensor_access ? Kind::tensor_access
                                                   : Kind::wgmma;
        warp.push({.step = step, .regions = op.regions});
        break;
      case Op::wait_store:
        step.kind = Kind::wait_store;
        warp.push({.step = step, .store_count = op.count});
        break;
      case Op::tensor_wait:
        step.kind = Kind::wait_tensor;
        warp.push({.step = step});
        break;
      case Op::wgmma_commit:
        step.kind = Kind::wgmma_commit;
        warp.push({.step = step});
        break;
      case Op::wgmma_wait:
        step.kind = Kind::wgmma_wait;
        warp.push({.step = step, .group = op.count});
        break;
      default: return fmt::format("operation {} ({}) has no step", static_cast<int>(op.kind), op.note);
    }
  }

  for (Warp& warp : warps) {
    unite(warp.steps);
    count_pending(warp.steps);
  }

  // Before the first barrier that everybody passes there is nothing but the making of barriers: scripts begin after it.
  std::vector<size_t> begins(warp_count);
  for (size_t i = 0; i < warp_count; ++i) {
    const auto& steps = warps[i].steps;
    const auto meets = [&](const Draft& draft) {
      return draft.step.kind == Kind::sync || (draft.step.kind == Kind::wait && draft.step.barrier == 0);
    };
    const auto first = std::find_if(steps.begin(), steps.end(), meets);
    if (first == steps.end()) return fmt::format("warp {} is not at the first barrier", i);
    begins[i] = static_cast<size_t>(first - steps.begin()) + 1;
  }
  std::map<int, int> numbers;
  for (size_t i = 0; i < warp_count; ++i)
    for (size_t at = begins[i]; at < warps[i].steps.size(); ++at)
      if (warps[i].steps[at].step.barrier >= 0) numbers.try_emplace(warps[i].steps[at].step.barrier, 0);
  script.counts.clear();
  for (auto& [barrier, number] : numbers) {
    number = static_cast<int>(script.counts.size());
    const uint32_t count = recorder.barriers[static_cast<size_t>(barrier)].count;
    script.counts.push_back(barrier == 0 ? static_cast<int>(warp_count) : static_cast<int>(count));
  }

  BufferMap buffers;
  std::vector<Step*> all;
  script.threads.clear();
  script.threads.reserve(warp_count);
  for (size_t i = 0; i < warp_count; ++i) {
    const auto begin = warps[i].steps.begin() + static_cast<std::ptrdiff_t>(begins[i]);
    // A warp that plays no part is only waited for.
    const bool plays = std::any_of(begin, warps[i].steps.end(), [](const Draft& d) { return !is_barrier_step(d.step.kind); });
    if (!plays) {
      for (auto draft = begin; draft != warps[i].steps.end(); ++draft)
        if (draft->step.kind != Kind::wait && draft->step.phases == 0)
          script.counts[static_cast<size_t>(numbers[draft->step.barrier])] -= 1;
      continue;
    }
    auto& steps = script.threads.emplace_back();
    script.groups.push_back(static_cast<int>(i / 4));
    steps.reserve(warps[i].steps.size() - begins[i]);
    for (auto draft = begin; draft != warps[i].steps.end(); ++draft) {
      Step step = draft->step;
      if (step.barrier >= 0) {
        // Phases are counted from the script's beginning; warps arrive at barriers of warps as one.
        if (step.barrier == 0 && step.kind == Kind::wait) step.phases -= 1;
        if (draft->of_warps) {
          if (step.lanes != all_lanes) return "a part of a warp at a barrier that counts warps";
          step.lanes = 1;
        }
        step.barrier = numbers[step.barrier];
      }
      steps.push_back(step);
      all.push_back(&steps.back());
      for (const Region& region : draft->regions) buffers.add(all.size() - 1, region);
    }
  }
  return buffers.number(script, all);
}

Script record(const RecordedKernel& kernel, uint64_t seed, std::string& trouble) {
  Recorder recorder;
  Script script;
  {
    const Recorder::Listening listening(recorder);
    trouble = kernel.run(seed);
  }
  if (trouble.empty() && recorder.operations.empty()) trouble = "nothing was recorded";
  if (trouble.empty()) trouble = script_of(recorder, script);
  script.name = kernel.name;
  return script;
}

}  // namespace warploom::loom::check
