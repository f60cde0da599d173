#include "plan.hpp"

#include <algorithm>
#include <bit>

namespace warploom::loom::check {

using Kind = Step::Kind;

Plan::Plan(const Script& script, bool reduced) {
  const size_t count = script.threads.size();
  for (const auto& list : script.threads) prepare(list, reduced);
  for (size_t thread = 0; thread < count; ++thread) {
    join_wgmmas(script, thread);
    leader[thread] = thread;
    for (const Step& step : script.threads[thread]) {
      if (step.kind == Kind::access) continue;
      fenced |= step.reads | step.writes;
      if (step.kind == Kind::multiply || step.kind == Kind::tensor_access)
        tensor_of[thread] |= (step.reads | step.writes) & script.tensor;
    }
  }
  for (size_t thread = 1; reduced && thread < count; ++thread)
    for (size_t lead = 0; lead < thread && leader[thread] == thread; ++lead)
      if (leader[lead] == lead) try_exchange(script, lead, thread);
}

void Plan::prepare(const std::vector<Step>& list, bool reduced) {
  std::vector<StepPlan>& plans = steps.emplace_back();
  std::vector<Flight>& mine = flights.emplace_back();
  uint64_t &stored = stores.emplace_back(), &signalled = signals.emplace_back();
  std::vector<uint64_t> store_bits, groups;
  uint64_t multiplies = 0, tensor = 0, open = 0;
  for (size_t at = 0; at < list.size(); ++at) {
    const Step& step = list[at];
    StepPlan& info = plans.emplace_back();
    const auto fly = [&] {
      info.mover = Mover::early;
      if (mine.size() == max_flights) {
        fits = false;
        return;
      }
      info.flight = uint64_t{1} << mine.size();
      mine.push_back({step.reads, step.writes, step.kind, at});
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
        signalled |= info.flight;
        break;
      case Kind::store:
        fly();
        stored |= info.flight;
        store_bits.push_back(info.flight);
        break;
      case Kind::multiply:
        fly();
        multiplies |= info.flight;
        break;
      case Kind::commit:
        fly();
        signalled |= info.flight;
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
  if (!reduced)
    for (StepPlan& info : plans) info.mover = Mover::stop;
  std::vector<uint64_t>& later = later_signals.emplace_back(list.size() + 1);
  for (size_t at = list.size(); at-- > 0;) {
    later[at] = later[at + 1];
    if (list[at].barrier >= 0 && list[at].kind != Kind::wait) later[at] |= uint64_t{1} << list[at].barrier;
  }
}

/// May two threads change places, together with the buffers that only they touch?
void Plan::try_exchange(const Script& script, size_t lead, size_t thread) {
  const auto &first = script.threads[lead], &second = script.threads[thread];
  if (first.size() != second.size() || (!script.groups.empty() && script.groups[lead] != script.groups[thread])) return;
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
    if (!(same == first[at]) || !pair(first[at].reads, second[at].reads) || !pair(first[at].writes, second[at].writes))
      return;
  }
  const auto moved = [&](Buffers set) {
    Buffers image = 0;
    for (; set != 0; set &= set - 1) image |= Buffers{1} << to[static_cast<size_t>(std::countr_zero(set))];
    return image;
  };
  if (moved(script.tensor) != script.tensor) return;
  for (size_t other = 0; other < script.threads.size(); ++other) {
    const auto& from = script.threads[other];
    const auto& onto = script.threads[other == lead ? thread : other == thread ? lead : other];
    for (size_t at = 0; at < from.size(); ++at)
      if (moved(from[at].reads) != onto[at].reads || moved(from[at].writes) != onto[at].writes) return;
  }
  leader[thread] = lead;
  Buffers theirs = 0;
  for (int i = 0; i < 64; ++i)
    if (to[static_cast<size_t>(i)] != i) theirs |= Buffers{1} << i;
  // Those of the leader have the names that count.
  for (const Step& step : first) own[lead] |= (step.reads | step.writes) & theirs;
  for (const Step& step : second) own[thread] |= (step.reads | step.writes) & theirs;
  names_[thread] = to;
  of_fellows |= own[lead] | own[thread];
}
Buffers Plan::renamed(size_t thread, Buffers set) const {
  if (set == 0 || leader[thread] == thread) return set;
  Buffers image = 0;
  for (; set != 0; set &= set - 1) image |= Buffers{1} << names_[thread][static_cast<size_t>(std::countr_zero(set))];
  return image;
}

/// A wgmma is over for all four warps at once.
void Plan::join_wgmmas(const Script& script, size_t thread) {
  for (size_t at = 0; at < steps[thread].size(); ++at) {
    if (script.threads[thread][at].kind != Kind::wgmma_wait) continue;
    StepPlan& info = steps[thread][at];
    for (size_t other = 0; other < script.threads.size(); ++other) {
      if (other == thread || script.groups[other] != script.groups[thread]) continue;
      uint64_t bits = 0;
      for (size_t i = 0, mine = 0; i < flights[thread].size(); ++i) {
        if (flights[thread][i].kind != Kind::wgmma) continue;
        if ((info.ends >> i & 1) != 0) bits |= nth_wgmma(other, mine);
        ++mine;
      }
      info.also_ends.emplace_back(other, bits);
    }
  }
}
uint64_t Plan::nth_wgmma(size_t thread, size_t n) const {
  for (size_t i = 0; i < flights[thread].size(); ++i)
    if (flights[thread][i].kind == Kind::wgmma && n-- == 0) return uint64_t{1} << i;
  return 0;
}

}  // namespace warploom::loom::check
