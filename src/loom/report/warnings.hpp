// Warnings about foreign code of several clusters, grids or runs as one list (warnings.cpp).
#pragma once

#include <vector>

#include "warploom/loom/report.hpp"

namespace warploom::loom {

/// Each from the same lines once; `times` adds up.
void add_warnings(std::vector<Finding>& all, std::vector<Finding> more);

}  // namespace warploom::loom
