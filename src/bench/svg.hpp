// A chart of a report, one self-contained SVG: bars of TFLOP/s per case, and where the cases lie under the roof that
// memory and tensor cores set.
#pragma once

#include <string>

#include "bench/report.hpp"

namespace warploom::bench {

std::string to_svg(const Report& report);

}  // namespace warploom::bench
