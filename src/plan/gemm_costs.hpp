// What a GEMM is expected to cost: a few constants of the chip, and arithmetic with them. The planner compares
// predictions with each other. For a Hopper a measured sweep fits the constants (tools/tune, docs/performance.md);
// those for a Blackwell are nobody's measurement.
#pragma once

#include <algorithm>
#include <vector>

#include "warploom/kernels/gemm_problem.hpp"

namespace warploom {

/// Fitted to sweeps of all plans over the suites `dense`, `blockwise`, `decode`, `epilogue` and `serving`, and over 192
/// to 512 rows, on an H200, cold L2 (docs/performance.md): so that the cheapest plan is the fastest one, rather than
/// that times are right. Several can stand for each other in a fit: none of them is a measurement of its part.
struct GemmCosts {
  double clock_ghz = 1.98;
  double dram_bytes_per_us = 4.27e6;
  double l2_bytes_per_us = 29.7e6;  ///< operands that come from L2 again
  double launch_us = 4.49;          ///< between two events, with nothing in between
  double fill_cycles = 2850;        ///< barriers, tensor maps, the first operands, the last stores
  double flops_16_bit = 3700;       ///< per cycle and SM; the tensor core's are 4096
  double flops_8_bit = 7830;
  double shared_bytes = 128;            ///< per cycle and SM, what wgmma reads its operands with
  double operand_bytes = 94.8;          ///< per cycle and SM, L2 to shared memory, what multicast saves not counted
  double load_latency_cycles = 389;     ///< of a TMA load; divided by the stages it bounds the speed of a K block
  double promoted_per_cycle = 128;      ///< accumulators times scale added to fp32 sums, per cycle and SM
  double promotion_exposed = 0.0725;    ///< the part that the other warpgroup's MMAs do not hide
  double promotion_alone = 1.3;         ///< of a single warpgroup's, which nothing hides
  double straddling = 6;                ///< how much more it is where a tile's columns may have two scales
  double epilogue_cycles = 1000;        ///< of a tile, before its bytes
  double epilogue_bytes = 6.5;          ///< per cycle and math group, C and D by TMA
  double plain_bytes = 3;               ///< the same, element by element
  double unit_cycles = 2120;            ///< of 64 rows x unit_columns, where more than a product is stored
  double fused_cycles = 800;            ///< the same of 64 columns, where the kernel has quick code for it
  double residual_cycles = 400;         ///< the same, where C is added
  double activations_per_cycle = 50.2;  ///< instructions of activations, per cycle and math group
  double partial_bytes = 10.5;          ///< per cycle and math group, partial sums of split K to L2 and back
  double split_cycles = 4900;           ///< the counter's round trip
  double cluster_sum_cycles = 1560;     ///< the same within a cluster
  double not_hidden = 0.2;              ///< of the shorter parts of a K block, what does not hide under the longest
  double overlap_loss = 0.5;            ///< of the shorter of chip and memory time, what does not hide under the longer
};

/// For a B200, unmeasured: rates from its data sheet (2.25 PFLOP/s dense in 16 bits, 4.5 in 8, 8 TB/s, 148 SMs at 1.85
/// GHz), less 6 to 9 %; the rest as once measured on an H200, save that the epilogue has warps of its own and the
/// tensor core reads shared memory at the rate it multiplies with.
GemmCosts blackwell_costs();
inline GemmCosts costs_of(Chip chip) { return chip == Chip::sm90 ? GemmCosts{} : blackwell_costs(); }

struct GemmPrediction {
  double us = 0;
  int64_t waves = 0;       ///< work items that the busiest cluster takes
  const char* bound = "";  ///< "tensor", "operand", "latency", "DRAM", ...
};

/// Clusters of this shape that run at one time. One lies within a GPC, whose 16 to 18 SMs hold one of more than 8 CTAs.
inline int clusters_at_once(const GemmShape& shape, const ChipLimits& chip) {
  const int size = shape.cluster_size();
  return size > 8 ? std::max(1, chip.sms / 18) : chip.sms / size;
}

/// For `clusters` clusters at a time.
GemmPrediction predict_gemm(const GemmProblem& problem, const GemmShape& shape, int splits, int clusters,
                            const GemmCosts& costs = {});

/// Every plan that is legal, cheapest first, if these were the costs.
std::vector<GemmPlan> gemm_plans(const GemmProblem& problem, const ChipLimits& chip, const GemmCosts& costs);

}  // namespace warploom
