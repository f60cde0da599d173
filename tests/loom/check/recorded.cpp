#include "recorded.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <deque>
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

/// The lanes of a warp do the same thing one after the other: one step of as many lanes. What the lanes did between two
/// meetings of the warp becomes one list that has every lane's operations in their order, and has as one step what
/// several lanes did: an operation that only some lanes have comes before the next one that all of them have.
class Warp {
 public:
  Draft& add(const Draft& draft) {
    drafts_.push_back(draft);
    for (uint32_t lanes = draft.step.lanes; lanes != 0; lanes &= lanes - 1)
      lists_[std::countr_zero(lanes)].push_back(&drafts_.back());
    return drafts_.back();
  }
  void access(uint32_t lanes, const std::vector<Region>& regions) {
    // What a lane accesses in a row is one access.
    const auto& list = lists_[std::countr_zero(lanes)];
    Draft& draft = !list.empty() && list.back()->step.kind == Kind::access && list.back()->step.lanes == lanes
                       ? *list.back()
                       : add({.step = {.kind = Kind::access, .lanes = lanes}});
    draft.regions.insert(draft.regions.end(), regions.begin(), regions.end());
  }
  /// It has waited at the named barrier where it arrived last.
  void passed(int barrier) {
    for (auto draft = drafts_.rbegin(); draft != drafts_.rend(); ++draft)
      if (draft->step.barrier == barrier) {
        draft->step.kind = Kind::sync;
        return;
      }
  }
  void meet() {
    size_t at[32] = {};
    const auto left = [&](size_t lane) { return at[lane] < lists_[lane].size(); };
    for (;;) {
      Draft* next = nullptr;
      for (size_t lane = 0; lane < 32; ++lane) {
        if (!left(lane)) continue;
        Draft* head = lists_[lane][at[lane]];
        bool ready = true;
        for (size_t other = 0; other < 32 && ready; ++other)
          if (left(other) && !same(*head, *lists_[other][at[other]]))
            ready = std::none_of(lists_[other].begin() + static_cast<std::ptrdiff_t>(at[other]), lists_[other].end(),
                                 [&](const Draft* later) { return same(*head, *later); });
        if (next == nullptr || ready) next = head;
        if (ready) break;
      }
      if (next == nullptr) break;
      Draft* step = next;
      for (size_t lane = 0; lane < 32; ++lane) {
        if (!left(lane) || !same(*step, *lists_[lane][at[lane]])) continue;
        const Draft& part = *lists_[lane][at[lane]++];
        if (&part == step) continue;
        step->step.lanes |= part.step.lanes;
        step->regions.insert(step->regions.end(), part.regions.begin(), part.regions.end());
      }
      order_.push_back(step);
    }
    for (auto& list : lists_) list.clear();
  }
  /// All of it, at the end.
  std::vector<Draft> steps() {
    meet();
    std::vector<Draft> all;
    for (const Draft* draft : order_) all.push_back(*draft);
    return all;
  }

 private:
  /// Is it the same operation of several lanes?
  static bool same(const Draft& a, const Draft& b) {
    if (&a == &b) return true;
    Step other = b.step;
    other.lanes = a.step.lanes;
    const bool plain = a.regions.empty() || a.step.kind == Kind::access;
    return plain && other == a.step && a.store_count == b.store_count && (a.step.lanes & b.step.lanes) == 0;
  }
  std::deque<Draft> drafts_;
  std::vector<Draft*> lists_[32];  ///< since the last meeting
  std::vector<Draft*> order_;
};

/// Products of one accumulator that follow each other are one step, and so are wgmmas of one group.
void unite(std::vector<Draft>& steps) {
  const auto accumulator = [](const Draft& draft) {
    std::set<std::array<uint32_t, 3>> places;
    for (const Region& region : draft.regions)
      if (region.writes) places.insert({region.cta, region.first, region.count});
    return places;
  };
  const auto only = [](const Draft& draft, bool writes) {
    return std::all_of(draft.regions.begin(), draft.regions.end(),
                       [&](const Region& region) { return region.writes == writes; });
  };
  std::vector<Draft> united;
  for (Draft& draft : steps) {
    if (!united.empty() && united.back().step.kind == draft.step.kind) {
      Draft& before = united.back();
      const bool products = draft.step.kind == Kind::multiply && accumulator(before) == accumulator(draft);
      const bool parts = before.step.lanes == draft.step.lanes &&
                         (draft.step.kind == Kind::tensor_access ||
                          (draft.step.kind == Kind::access && only(before, false) == only(draft, false) &&
                           only(before, true) == only(draft, true)));
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

std::string script_of(const Recorder& recorder, Script& script, bool middle_only) {
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
    const auto plain = [&](Kind kind) { warp.add({.step = {.kind = kind, .lanes = op.lanes}}); };
    switch (op.kind) {
      case Op::meet:
        if (op.lanes == all_lanes) warp.meet();
        break;
      case Op::access: warp.access(op.lanes, op.regions); break;
      case Op::fence_proxy: plain(Kind::fence); break;
      case Op::tensor_before: plain(Kind::tensor_before); break;
      case Op::tensor_after: plain(Kind::tensor_after); break;
      case Op::arrive:
      case Op::arrive_relaxed:
        step.relaxed = op.kind == Op::arrive_relaxed;
        if (op.count != 1) return "an arrival that counts for several";
        at_barrier(Kind::arrive);
        warp.add({.step = step});
        break;
      case Op::expect:
      case Op::arrive_expect:
        at_barrier(op.kind == Op::expect ? Kind::expect : Kind::arrive_expect);
        step.bytes = static_cast<int>(op.bytes);
        warp.add({.step = step});
        break;
      case Op::wait:
        at_barrier(Kind::wait);
        step.phases = static_cast<uint32_t>(op.phases);
        warp.add({.step = step});
        break;
      case Op::sync:
        at_barrier(Kind::arrive);  // until somebody hears that it waited
        warp.add({.step = step, .of_warps = true});
        break;
      case Op::passed: warp.passed(static_cast<int>(op.barrier)); break;
      case Op::cluster_arrive:
      case Op::cluster_arrive_relaxed:
        step.relaxed = op.kind == Op::cluster_arrive_relaxed;
        at_barrier(Kind::arrive);
        warp.add({.step = step, .of_warps = true});
        for (uint32_t lanes = op.lanes; lanes != 0; lanes &= lanes - 1)
          ++cluster_phases[32 * op.warp + static_cast<size_t>(std::countr_zero(lanes))];
        break;
      case Op::cluster_wait:
        at_barrier(Kind::wait);
        step.phases = cluster_phases[32 * op.warp + static_cast<size_t>(std::countr_zero(op.lanes))];
        warp.add({.step = step});
        break;
      case Op::load:
        at_barrier(Kind::load);
        step.bytes = static_cast<int>(op.bytes);
        warp.add({.step = step, .regions = op.regions});
        break;
      case Op::commit:
        at_barrier(Kind::commit);
        warp.add({.step = step});
        break;
      case Op::store:
      case Op::multiply:
      case Op::tensor_access:
      case Op::wgmma:
        step.kind = op.kind == Op::store           ? Kind::store
                    : op.kind == Op::multiply      ? Kind::multiply
                    : op.kind == Op::tensor_access ? Kind::tensor_access
                                                   : Kind::wgmma;
        warp.add({.step = step, .regions = op.regions});
        break;
      case Op::wait_store:
        step.kind = Kind::wait_store;
        warp.add({.step = step, .store_count = op.count});
        break;
      case Op::tensor_wait:
        step.kind = Kind::wait_tensor;
        warp.add({.step = step});
        break;
      case Op::wgmma_commit:
        step.kind = Kind::wgmma_commit;
        warp.add({.step = step});
        break;
      case Op::wgmma_wait:
        step.kind = Kind::wgmma_wait;
        warp.add({.step = step, .group = op.count});
        break;
      default: return fmt::format("operation {} ({}) has no step", static_cast<int>(op.kind), op.note);
    }
  }

  std::vector<std::vector<Draft>> lists;
  for (Warp& warp : warps) {
    lists.push_back(warp.steps());
    unite(lists.back());
    count_pending(lists.back());
  }

  // Before the first barrier that everybody passes there is nothing but the making of barriers: scripts begin after it.
  std::vector<size_t> begins(warp_count);
  for (size_t i = 0; i < warp_count; ++i) {
    const auto& steps = lists[i];
    const auto meets = [&](const Draft& draft) {
      return draft.step.kind == Kind::sync || (draft.step.kind == Kind::wait && draft.step.barrier == 0);
    };
    const auto first = std::find_if(steps.begin(), steps.end(), meets);
    if (first == steps.end()) return fmt::format("warp {} is not at the first barrier", i);
    begins[i] = static_cast<size_t>(first - steps.begin()) + 1;
  }
  for (size_t i = 0; middle_only && i < warp_count; ++i) {
    auto& steps = lists[i];
    const auto from = steps.begin() + static_cast<std::ptrdiff_t>(begins[i]);
    const auto named = [&](const Draft& draft, const char* name) {
      return draft.step.barrier > 0 &&
             recorder.barriers[static_cast<size_t>(draft.step.barrier)].name.starts_with(name);
    };
    const auto start = std::find_if(from, steps.end(), [&](const Draft& d) { return named(d, "tmem hand-off"); });
    if (start != steps.end()) begins[i] = static_cast<size_t>(start - steps.begin()) + 1;
    steps.erase(std::find_if(steps.begin() + static_cast<std::ptrdiff_t>(begins[i]), steps.end(),
                             [&](const Draft& d) { return d.step.barrier == 0 || named(d, "dealloc"); }),
                steps.end());
  }
  std::map<int, int> numbers;
  for (size_t i = 0; i < warp_count; ++i)
    for (size_t at = begins[i]; at < lists[i].size(); ++at)
      if (lists[i][at].step.barrier >= 0) numbers.try_emplace(lists[i][at].step.barrier, 0);
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
    const auto begin = lists[i].begin() + static_cast<std::ptrdiff_t>(begins[i]);
    // A warp that plays no part is only waited for.
    const bool plays = std::any_of(begin, lists[i].end(), [](const Draft& d) { return !is_barrier_step(d.step.kind); });
    if (!plays) {
      for (auto draft = begin; draft != lists[i].end(); ++draft)
        if (draft->step.kind != Kind::wait && draft->step.phases == 0)
          script.counts[static_cast<size_t>(numbers[draft->step.barrier])] -= 1;
      continue;
    }
    auto& steps = script.threads.emplace_back();
    script.groups.push_back(static_cast<int>(i / 4));
    steps.reserve(lists[i].size() - begins[i]);
    for (auto draft = begin; draft != lists[i].end(); ++draft) {
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
  std::string trouble = buffers.number(script, all);
  // Accesses that have no other side.
  for (auto& steps : script.threads)
    std::erase_if(steps, [](const Step& s) { return s.kind == Kind::access && (s.reads | s.writes) == 0; });
  return trouble;
}

Script record(const RecordedKernel& kernel, uint64_t seed, std::string& trouble) {
  Recorder recorder;
  Script script;
  {
    const Recorder::Listening listening(recorder);
    trouble = kernel.run(seed);
  }
  if (trouble.empty() && recorder.operations.empty()) trouble = "nothing was recorded";
  if (trouble.empty()) trouble = script_of(recorder, script, kernel.middle_only);
  script.name = kernel.name;
  return script;
}

}  // namespace warploom::loom::check
