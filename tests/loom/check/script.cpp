#include "script.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace warploom::loom::check {

using Kind = Step::Kind;

const char* to_string(Kind kind) {
  switch (kind) {
    case Kind::wait: return "wait";
    case Kind::arrive: return "arrive";
    case Kind::arrive_expect: return "arrive_expect";
    case Kind::expect: return "expect";
    case Kind::sync: return "sync";
    case Kind::access: return "access";
    case Kind::fence: return "fence";
    case Kind::tensor_before: return "tensor_before";
    case Kind::tensor_after: return "tensor_after";
    case Kind::load: return "load";
    case Kind::store: return "store";
    case Kind::wait_store: return "wait_store";
    case Kind::multiply: return "multiply";
    case Kind::commit: return "commit";
    case Kind::tensor_access: return "tensor_access";
    case Kind::wait_tensor: return "wait_tensor";
    case Kind::wgmma: return "wgmma";
    case Kind::wgmma_commit: return "wgmma_commit";
    case Kind::wgmma_wait: return "wgmma_wait";
  }
  return "";
}

std::string to_text(const Script& script) {
  std::string text = script.name + ":";
  for (size_t i = 0; i < script.counts.size(); ++i) text += fmt::format(" {}/{}", i, script.counts[i]);
  text += fmt::format(", {} buffers, {:x} in tensor memory\n", script.buffers, script.tensor);
  for (size_t t = 0; t < script.threads.size(); ++t) {
    text += fmt::format("  {}:", t);
    for (const Step& step : script.threads[t]) {
      text += fmt::format(" {}", to_string(step.kind));
      if (step.barrier >= 0) text += fmt::format(" b{}", step.barrier);
      if (step.kind == Kind::wait) text += fmt::format(" p{}", step.phases);
      if (step.bytes != 0) text += fmt::format(" {}B", step.bytes);
      if (step.reads != 0) text += fmt::format(" r{:x}", step.reads);
      if (step.writes != 0) text += fmt::format(" w{:x}", step.writes);
      if (step.pending != 0) text += fmt::format(" -{}", step.pending);
      if (step.lanes != 1) text += fmt::format(" x{}", std::popcount(step.lanes));
      text += ";";
    }
    text += "\n";
  }
  return text;
}

std::string to_string(const Outcome& outcome) {
  std::string text;
  const auto add = [&](bool yes, const char* word) {
    if (yes) text += (text.empty() ? "" : ", ") + std::string(word);
  };
  add(outcome.race, "race");
  add(outcome.fence, "proxy fence");
  add(outcome.tensor_fence, "tcgen05 fence");
  add(outcome.deadlock, "deadlock");
  add(outcome.count, "count");
  add(outcome.pending, "pending at exit");
  add(outcome.phase, "phase");
  add(outcome.unseen, "not visible");
  add(outcome.truncated, "truncated");
  return text.empty() ? "clean" : text;
}

Script pipeline(const PipelineShape& shape) {
  const int full = 0, empty = shape.stages, sum_full = 2 * shape.stages, sum_empty = sum_full + shape.sums;
  const int a = 0, b = shape.stages, sum = 2 * shape.stages, out = sum + shape.sums;
  const auto bit = [](int buffer) { return Buffers{1} << buffer; };
  Script script;
  script.name = "pipeline";
  script.counts.assign(static_cast<size_t>(sum_empty + shape.sums), 1);
  for (int i = 0; i < shape.sums; ++i) script.counts[static_cast<size_t>(sum_empty + i)] = shape.epilogues;
  script.buffers = out + shape.epilogues;
  for (int i = 0; i < shape.sums; ++i) script.tensor |= bit(sum + i);

  std::vector<Step> load, multiply;
  for (int i = 0; i < shape.tiles * shape.k_blocks; ++i) {
    const int stage = i % shape.stages;
    const auto round = static_cast<uint32_t>(i / shape.stages);
    load.push_back({.kind = Kind::wait, .barrier = empty + stage, .phases = round});
    load.push_back({.kind = Kind::arrive_expect, .barrier = full + stage, .bytes = 32});
    load.push_back({.kind = Kind::load, .barrier = full + stage, .writes = bit(a + stage), .bytes = 16});
    load.push_back({.kind = Kind::load, .barrier = full + stage, .writes = bit(b + stage), .bytes = 16});
  }
  for (int tile = 0; tile < shape.tiles; ++tile) {
    const int s = tile % shape.sums;
    multiply.push_back(
        {.kind = Kind::wait, .barrier = sum_empty + s, .phases = static_cast<uint32_t>(tile / shape.sums)});
    multiply.push_back({.kind = Kind::tensor_after});
    for (int k = 0; k < shape.k_blocks; ++k) {
      const int i = tile * shape.k_blocks + k, stage = i % shape.stages;
      multiply.push_back(
          {.kind = Kind::wait, .barrier = full + stage, .phases = static_cast<uint32_t>(i / shape.stages + 1)});
      multiply.push_back({.kind = Kind::multiply, .reads = bit(a + stage) | bit(b + stage), .writes = bit(sum + s)});
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
      epilogue.push_back({.kind = Kind::tensor_after});
      epilogue.push_back({.kind = Kind::tensor_access, .reads = bit(sum + s)});
      epilogue.push_back({.kind = Kind::wait_tensor});
      epilogue.push_back({.kind = Kind::tensor_before});
      epilogue.push_back({.kind = Kind::arrive, .barrier = sum_empty + s});
      if (tile > 0) epilogue.push_back({.kind = Kind::wait_store});
      epilogue.push_back({.kind = Kind::access, .writes = bit(out + e)});
      epilogue.push_back({.kind = Kind::fence});
      epilogue.push_back({.kind = Kind::store, .reads = bit(out + e)});
    }
    epilogue.push_back({.kind = Kind::wait_store});
    script.threads.push_back(epilogue);
  }
  return script;
}

// ---- mutants

namespace {

bool is_fence(const Step& step) {
  return step.kind == Kind::fence || step.kind == Kind::tensor_before || step.kind == Kind::tensor_after;
}

struct Place {
  size_t thread = 0, at = 0;
};

/// One of the steps of all threads that `wanted` takes.
template <class Wanted>
bool pick(const Script& script, Random& random, Place& place, const Wanted& wanted) {
  uint32_t found = 0;
  for (size_t thread = 0; thread < script.threads.size(); ++thread)
    for (size_t at = 0; at < script.threads[thread].size(); ++at)
      if (wanted(script.threads[thread][at]) && random.below(++found) == 0) place = {thread, at};
  return found != 0;
}

/// Warps of a group that did not execute the same wgmmas would be another kind of error, which the machine sees at
/// once.
bool may_go(const Step& step) { return step.kind != Kind::wgmma && step.kind != Kind::wgmma_commit; }

/// `set` with one of its buffers replaced by another of the same memory that the step does not touch yet.
Buffers other_buffer(const Script& script, const Step& step, Buffers set, Random& random) {
  uint32_t from = random.below(static_cast<uint32_t>(std::popcount(set)));
  Buffers old = set;
  while (from-- != 0) old &= old - 1;
  old &= ~(old - 1);
  const Buffers all = script.buffers == 64 ? ~Buffers{0} : (Buffers{1} << script.buffers) - 1;
  Buffers others = ((old & script.tensor) != 0 ? script.tensor : all & ~script.tensor) & ~(step.reads | step.writes);
  if (others == 0) return set;
  uint32_t to = random.below(static_cast<uint32_t>(std::popcount(others)));
  while (to-- != 0) others &= others - 1;
  return (set & ~old) | (others & ~(others - 1));
}

}  // namespace

std::string mutate(Script& script, Random& random) {
  const auto step_at = [&](const Place& place) -> Step& { return script.threads[place.thread][place.at]; };
  const int sign = random.below(2) == 0 ? 1 : -1;
  Place place;
  switch (random.below(10)) {
    case 0: {
      if (!pick(script, random, place, may_go)) return {};
      auto& steps = script.threads[place.thread];
      steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(place.at));
      return "delete";
    }
    case 1: {
      if (!pick(script, random, place, may_go)) return {};
      auto& steps = script.threads[place.thread];
      steps.insert(steps.begin() + static_cast<std::ptrdiff_t>(place.at), Step(steps[place.at]));
      return "duplicate";
    }
    case 2: {
      if (!pick(script, random, place, [](const Step&) { return true; })) return {};
      auto& steps = script.threads[place.thread];
      if (place.at + 1 == steps.size()) return {};
      Step &a = steps[place.at], &b = steps[place.at + 1];
      if (a == b || (!may_go(a) && !may_go(b))) return {};
      std::swap(a, b);
      return "swap";
    }
    case 3: {
      if (!pick(script, random, place, [](const Step& s) { return s.kind == Kind::wait; })) return {};
      Step& wait = step_at(place);
      wait.phases = wait.phases == 0 ? 1 : wait.phases + static_cast<uint32_t>(sign);
      return "parity";
    }
    case 4: {
      int& count = script.counts[random.below(static_cast<uint32_t>(script.counts.size()))];
      count = count + sign < 1 ? 2 : count + sign;
      return "count";
    }
    case 5:
      if (!pick(script, random, place, [](const Step& s) { return s.bytes != 0; })) return {};
      step_at(place).bytes += sign;
      return "bytes";
    case 6: {
      if (!pick(script, random, place, [](const Step& s) { return (s.reads | s.writes) != 0; })) return {};
      Step& step = step_at(place);
      const Step before = step;
      const bool writes = step.reads == 0 || (step.writes != 0 && random.below(2) == 0);
      (writes ? step.writes : step.reads) = other_buffer(script, step, writes ? step.writes : step.reads, random);
      if (step == before) return {};
      // A wgmma has the same operands in all four warps.
      if (step.kind == Kind::wgmma) {
        const auto ordinal = [&](size_t thread, size_t end) {
          return std::count_if(script.threads[thread].begin(),
                               script.threads[thread].begin() + static_cast<std::ptrdiff_t>(end),
                               [](const Step& s) { return s.kind == Kind::wgmma; });
        };
        for (size_t thread = 0; thread < script.threads.size(); ++thread) {
          if (script.groups[thread] != script.groups[place.thread]) continue;
          for (size_t at = 0; at < script.threads[thread].size(); ++at)
            if (script.threads[thread][at].kind == Kind::wgmma &&
                ordinal(thread, at) == ordinal(place.thread, place.at))
              script.threads[thread][at].reads = step.reads;
        }
      }
      return "buffer";
    }
    case 7: {
      if (!pick(script, random, place, is_fence)) return {};
      auto& steps = script.threads[place.thread];
      steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(place.at));
      return "drop fence";
    }
    case 8: {
      if (!pick(script, random, place, is_fence)) return {};
      const Step fence = step_at(place);
      const size_t other = random.below(static_cast<uint32_t>(script.threads.size()));
      if (other == place.thread) return {};
      auto& steps = script.threads[place.thread];
      steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(place.at));
      auto& theirs = script.threads[other];
      theirs.insert(theirs.begin() + random.below(static_cast<uint32_t>(theirs.size() + 1)), fence);
      return "move fence";
    }
    default: {
      if (!pick(script, random, place, [](const Step& s) { return s.kind == Kind::arrive_expect; })) return {};
      auto& steps = script.threads[place.thread];
      const auto at = steps.begin() + static_cast<std::ptrdiff_t>(place.at);
      Step expect = *at;
      expect.kind = Kind::expect;
      at->kind = Kind::arrive;
      at->bytes = 0;
      steps.insert(random.below(2) == 0 ? at : at + 1, expect);
      return "split";
    }
  }
}

}  // namespace warploom::loom::check
