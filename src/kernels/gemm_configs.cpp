// The Hopper GEMMs there are. Only their types are needed here: a program that plans and launches on a GPU links this
// without the loom.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "kernels/gemm_entry.hpp"
#include "warploom/kernels/gemm_problem.hpp"

namespace warploom {
namespace {

#define WARPLOOM_HOPPER_GEMM(key, A, B, a_major, b_major, scaling, ...) \
  {key,                                                                 \
   dtype_of<A>,                                                         \
   dtype_of<B>,                                                         \
   Major::a_major,                                                      \
   Major::b_major,                                                      \
   Scaling::scaling,                                                    \
   WARPLOOM_HOPPER_GEMM_KERNEL(A, B, a_major, b_major, scaling, __VA_ARGS__)::shape},
constexpr GemmConfig configs[] = {
#include "warploom/kernels/hopper_gemm.def"
};
#undef WARPLOOM_HOPPER_GEMM

}  // namespace

std::span<const GemmConfig> gemm_configs() { return configs; }

Result<const GemmConfig*> find_gemm_config(std::string_view key) {
  const auto* found =
      std::find_if(std::begin(configs), std::end(configs), [&](const GemmConfig& config) { return config.key == key; });
  if (found != std::end(configs)) return found;
  std::string keys;
  for (const GemmConfig& config : configs) keys += fmt::format("{}{}", keys.empty() ? "" : ", ", config.key);
  return Error{fmt::format("there is no configuration '{}'; gemm has {}", key, keys)};
}

}  // namespace warploom
