// A conflict in global memory in words.
#pragma once

#include <string>

#include "loom/observe/check/global_memory.hpp"

namespace warploom::loom::check {

struct GlobalFinding {
  const char* code = "";
  std::string message, fix;
  std::string first;  ///< what came first,
  Agents first_agents = {}, second_agents = {};
  const void *first_pc = nullptr, *second_pc = nullptr;
};

/// The memories that know of the two.
GlobalFinding describe(const GlobalConflict& conflict, const GlobalMemory& first, const GlobalMemory& second);

}  // namespace warploom::loom::check
