// Who did something, and what a waiting thread waits for, in the words of a report.
//
//   describe(agents_of(warp, 1u << 3))   // "cta 0 warp 2 lane 3 (load)"
#pragma once

#include <string>
#include <vector>

#include "loom/exec/cluster.hpp"

namespace warploom::loom {

Agents agents_of(const Warp& warp, uint32_t lanes);
Location location(Pc pc);
std::string line_of(const Location& at);
/// Adds warp `warp` to a list of ranges of like agents.
void merge(std::vector<Agents>& list, const Agents& more);
std::string describe(const Agents& agents);
std::vector<Contribution> contributions(const std::vector<Signal>& signals);
/// What the threads of a warp are doing now, in a few words.
std::string whereabouts(const Warp& warp);

}  // namespace warploom::loom
