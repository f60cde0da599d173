// The host's side of blockwise FP8: a problem, the configurations there are, and running one on the loom.
//
//   BlockwiseFP8Problem problem{.m = m, .n = n, .k = k, .a = {a, lda}, ...};
//   auto outcome = run_on_loom(problem, "2sm-2x1");
//   if (!outcome) puts(outcome.error().c_str());                      // one sentence: what is not possible, and what
//   is
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "warploom/loom/launch.hpp"
#include "warploom/types/dtype.hpp"
#include "warploom/types/result.hpp"
#include "warploom/types/tensor_map.hpp"

namespace warploom {

/// A row-major matrix; `stride` is the distance between rows, in elements.
template <class T>
struct Matrix {
  T* data = nullptr;
  int64_t stride = 0;
};

/// D = alpha * (A * B^T) + beta * C. A [m, k], B [n, k]; C and D [m, n]; C is not touched when beta is 0, and may be D.
struct BlockwiseFP8Problem {
  int m = 0, n = 0, k = 0;
  Matrix<const e4m3> a, b;
  Matrix<const float> a_scales;     ///< [ceil(k/128)][stride >= m]: one scale per row and K block, rows contiguous
  const float* b_scales = nullptr;  ///< [ceil(n/128)][ceil(k/128)]
  Matrix<const bf16> c;
  Matrix<bf16> d;
  float alpha = 1.0f, beta = 0.0f;
};

/// "" or why this problem cannot run, in one sentence.
std::string why_not(const BlockwiseFP8Problem& problem);

/// One ahead-of-time configuration.
struct BlockwiseFP8Config {
  const char* key;
  int cta_group;
  int cluster_m, cluster_n;
  int stages;
  size_t shared_bytes;
  bool launch_control;  ///< tiles are handed out as SMs become free, instead of in fixed shares
};
std::span<const BlockwiseFP8Config> blockwise_fp8_configs();
/// The configuration of that name, or a sentence that lists those there are.
Result<BlockwiseFP8Config> find_blockwise_fp8_config(std::string_view key);

struct LoomTarget {
  loom::Options options;
  int sms = 148;  ///< SMs of the chip pretended: no more CTAs run at a time, so fewer means more tiles per CTA
};

Result<loom::Outcome> run_on_loom(const BlockwiseFP8Problem& problem, std::string_view config,
                                  const LoomTarget& target = {});

}  // namespace warploom
