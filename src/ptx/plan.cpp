#include "ptx/plan.hpp"

#include <algorithm>

#include "ptx/effects.hpp"
#include "ptx/flow.hpp"
#include "ptx/fragments.hpp"
#include "ptx/uniform.hpp"
#include "ptx/waits.hpp"

namespace warploom::ptx {
namespace {

enum : uint32_t { next_is_wgmma = 1, next_is_other = 2 };

// What the lane does on its own before it comes to an operation of the machine has no class.
uint32_t class_of(const Instruction& instruction) {
  if (instruction.op().is("wgmma", "fence") || instruction.op().is("wgmma", "mma_async")) return next_is_wgmma;
  const std::string_view base = instruction.op().base();
  if (base == "mapa" || base == "getctarank" || (base == "ld" && instruction.op().part(1) != "param"))
    return next_is_other;
  if (effect_of(instruction) == Effect::none || base == "bra" || base == "brx") return 0;
  return next_is_other;
}

}  // namespace

Plan plan_of(const Module& module, const Function& function) {
  Plan plan;
  const Graph graph(function);
  for (const Instruction& instruction : function.body) {
    plan.uses_wgmma = plan.uses_wgmma || instruction.op().is("wgmma", "mma_async");
    plan.uses_bulk_groups = plan.uses_bulk_groups || instruction.op().is("cp", "async", "bulk", "commit_group");
  }
  plan.is_target.assign(function.body.size() + 1, false);
  for (const Label& label : function.labels) plan.is_target[label.target] = true;

  const auto is_activemask = [](const Instruction& instruction) { return instruction.op().base() == "activemask"; };
  if (std::ranges::any_of(function.body, is_activemask)) {
    const Uniformity uniformity(module, function, graph);
    for (uint32_t i = 0; i < function.body.size(); ++i)
      if (is_activemask(function.body[i]) && uniformity.converged(i)) plan.whole_warps.insert(i);
  }

  find_groups(function, plan);
  find_copies(function, graph, plan);
  find_loads_without_wait(function, graph, plan);
  plan.checks = fragment_checks(function, graph, plan);

  plan.waits.assign(function.body.size(), WaitLoop::none);
  if (std::ranges::none_of(function.body, is_mbarrier_wait)) return plan;
  const Waits waits(function, graph);
  const NextOperations next(function, graph, class_of);
  for (uint32_t i = 0; i < function.body.size(); ++i) {
    if (!is_mbarrier_wait(function.body[i])) continue;
    if (!waits.parks(i))
      plan.waits[i] = WaitLoop::poll;
    else
      plan.waits[i] =
          plan.uses_wgmma && next.after(i) == next_is_wgmma ? WaitLoop::parks_before_wgmma : WaitLoop::parks;
  }
  return plan;
}

}  // namespace warploom::ptx
