// What a GEMM is expected to cost on a Hopper: a few constants of the chip, and arithmetic with them. The planner
// compares predictions with each other; a measured sweep fits the constants.
#pragma once

#include "warploom/kernels/gemm_problem.hpp"

namespace warploom {

struct GemmCosts {
  double clock_ghz = 1.7;            ///< under load
  double dram_bytes_per_us = 4.0e6;  ///< a large copy reaches 4.3 TB/s
  double launch_us = 3.0;            ///< from launch to the first instruction, and the end
  double flops_16_bit = 4096;        ///< per cycle and SM
  double flops_8_bit = 8192;
  double shared_bytes = 128;          ///< per cycle and SM, what wgmma reads its operands with
  double operand_bytes = 46;          ///< per cycle and SM, L2 to shared memory, what multicast saves not counted
  double load_latency_cycles = 1000;  ///< of a TMA load; divided by the stages it bounds the speed of a K block
  double promoted_per_cycle = 128;    ///< accumulators times scale added to fp32 sums, per cycle and SM
  double promotion_exposed = 0.35;    ///< the part that the other warpgroup's MMAs do not hide
  double fill_cycles = 1800;          ///< barriers, tensor maps, the first operands
  double epilogue_cycles = 700;       ///< of a tile, before its bytes
  double epilogue_bytes = 64;         ///< per cycle and SM, C and D by TMA
  double plain_bytes = 16;            ///< the same, element by element
  double partial_bytes = 32;          ///< per cycle and SM, partial sums of split K to L2 and back
  double split_cycles = 2000;         ///< the counter's round trip
  double overlap_loss = 0.1;          ///< of the shorter of chip and DRAM time, what does not hide under the longer
};

struct GemmPrediction {
  double us = 0;
  int64_t waves = 0;       ///< work items that the busiest cluster takes
  const char* bound = "";  ///< "tensor", "operand", "latency", "DRAM", ...
};

/// For `clusters` clusters at a time.
GemmPrediction predict_gemm(const GemmProblem& problem, const GemmShape& shape, int splits, int clusters,
                            const GemmCosts& costs = {});

}  // namespace warploom
