#include "sass/promotion.hpp"

#include <algorithm>

namespace warploom::sass {

namespace {

constexpr size_t least_run = 16;
constexpr size_t often = 4;  // one in so many yields: ptxas's hints
constexpr size_t lead = 8, lead_period = 2, period = 16;

/// Whether the instruction at this place of a run gives way.
constexpr bool gives_way(size_t place) {
  return place < lead ? place % lead_period == lead_period - 1 : (place - lead) % period == period - 1;
}

bool promotes(const Instruction& one) {
  return one.opcode() == Instruction::ffma && one.always() && one.d() == one.c() && one.a() != one.c();
}

bool yields_often(std::span<const Instruction> code, const PromotionRun& run) {
  const auto yields = std::ranges::count_if(run, [&](size_t i) { return code[i].yields(); });
  return often * static_cast<size_t>(yields) > run.size();
}

/// The next instruction is part of the run, multiplies by the same scale, which this one leaves as it is, and does not
/// wait for anything first.
bool next_keeps(std::span<const Instruction> code, const PromotionRun& run, size_t place) {
  if (place + 1 == run.size() || run[place + 1] != run[place] + 1) return false;
  const Instruction &one = code[run[place]], &next = code[run[place + 1]];
  return next.b() == one.b() && one.d() != one.b() && next.waits_for() == 0;
}

}  // namespace

std::vector<PromotionRun> find_promotion(std::span<const Instruction> code) {
  std::vector<PromotionRun> runs;
  PromotionRun run;
  bool after_wait = false;
  const auto end_run = [&] {
    if (run.size() >= least_run) runs.push_back(run);
    run.clear();
  };
  for (size_t i = 0; i < code.size(); ++i) {
    const Instruction& one = code[i];
    if (one.opcode() == Instruction::warpgroup || one.multiplies() || one.turns_aside()) {
      end_run();
      after_wait = one.opcode() == Instruction::warpgroup;
    } else if (after_wait && promotes(one)) {
      run.push_back(i);
    }
  }
  end_run();
  return runs;
}

Retimed retime_promotion(std::span<Instruction> code) {
  Retimed count;
  for (const PromotionRun& run : find_promotion(code)) {
    count.instructions += run.size();
    count.conflicts += std::ranges::count_if(run, [&](size_t i) { return code[i].a() % 2 == code[i].c() % 2; });
    if (!yields_often(code, run)) continue;
    for (size_t place = 0; place < run.size(); ++place) {
      Instruction& one = code[run[place]];
      if (!one.short_stall()) continue;
      const Instruction before = one;
      one.hint(gives_way(place), next_keeps(code, run, place));
      count.changed += one != before;
    }
  }
  return count;
}

}  // namespace warploom::sass
