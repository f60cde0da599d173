// The one include for users of the library: problems, running them, and reports.
#pragma once

#include "warploom/kernels/gemm_problem.hpp"
#include "warploom/loom/launch.hpp"
#include "warploom/loom/report.hpp"
#include "warploom/types/convert.hpp"
#include "warploom/types/dtype.hpp"
#include "warploom/types/result.hpp"
#include "warploom/version.h"
