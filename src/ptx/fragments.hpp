// The registers that asynchronous instructions write and read: which lists there are, which of their registers share an
// array, which loads nobody waits for, where a program must be checked for reading what has not arrived. Parts of
// plan_of (plan.hpp).
//
//   Plan plan; find_groups(function, plan); find_copies(function, graph, plan); ...
//   fragment_checks(function, graph, plan)[i]   // groups to check before instruction i
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/flow.hpp"
#include "ptx/module.hpp"
#include "ptx/plan.hpp"

namespace warploom::ptx {

bool is_tensor_memory_load(const Instruction& instruction);
bool is_tensor_memory_load_wait(const Instruction& instruction);

/// Groups, and the place of each register. A list whose registers have their place elsewhere is `copied`; accumulators
/// cannot be.
void find_groups(const Function& function, Plan& plan);

/// Compilers copy registers between tcgen05.ld and its wait. Such a copy is another name for the same register, if
/// whoever reads it can only have got there from the load by way of the copy.
void find_copies(const Function& function, const Graph& graph, Plan& plan);

/// tcgen05.ld whose registers some way through the program reads or writes before it comes to a tcgen05.wait::ld.
void find_loads_without_wait(const Function& function, const Graph& graph, Plan& plan);

/// The groups that an instruction reads or writes, and that may have been handed to the machine since they were checked
/// last. A wait is no proof that they are back: a program may wait for the wrong thing, which is what the check finds.
/// What a guarded instruction checks is checked again behind it.
std::vector<std::vector<uint32_t>> fragment_checks(const Function& function, const Graph& graph, const Plan& plan);

}  // namespace warploom::ptx
