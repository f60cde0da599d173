// The GEMMs there are. Only their types are needed here: a program that plans and launches on a GPU links this
// without the loom.
#include <fmt/format.h>

#include "kernels/gemm_entry.hpp"
#include "types/no_throw.hpp"
#include "warploom/kernels/gemm_problem.hpp"

namespace warploom {
namespace {

#define WARPLOOM_HOPPER_GEMM(key, ...) gemm_config<WARPLOOM_HOPPER_GEMM_KERNEL(__VA_ARGS__)>(key),
constexpr GemmConfig hopper_configs[] = {
#include "warploom/kernels/hopper_gemm.def"
};
#undef WARPLOOM_HOPPER_GEMM

#define WARPLOOM_BLACKWELL_GEMM(key, ...) gemm_config<WARPLOOM_BLACKWELL_GEMM_KERNEL(__VA_ARGS__)>(key),
constexpr GemmConfig blackwell_configs[] = {
#include "warploom/kernels/blackwell_gemm.def"
};
#undef WARPLOOM_BLACKWELL_GEMM

}  // namespace

std::span<const GemmConfig> gemm_configs(Chip chip) {
  if (chip == Chip::sm90) return hopper_configs;
  return blackwell_configs;
}

namespace {

Result<const GemmConfig*> find(std::string_view key) {
  for (Chip chip : {Chip::sm90, Chip::sm100})
    for (const GemmConfig& config : gemm_configs(chip))
      if (config.key == key) return &config;
  std::string keys;
  for (Chip chip : {Chip::sm90, Chip::sm100}) {
    keys += fmt::format("{}{} ", keys.empty() ? "" : "; ", name_of(chip));
    for (const GemmConfig& config : gemm_configs(chip))
      keys += fmt::format("{}{}", &config == gemm_configs(chip).data() ? "" : ", ", config.key);
  }
  return Error{fmt::format("there is no configuration '{}'; gemm has for {}", key, keys), ErrorCode::not_found};
}

}  // namespace

Result<const GemmConfig*> find_gemm_config(std::string_view key) {
  return no_throw([&] { return find(key); });
}

}  // namespace warploom
