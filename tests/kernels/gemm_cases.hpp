// GEMMs made up for tests of either chip's kernels: a problem, how it is run, and that it comes out right.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "warploom/kernels/gemm_data.hpp"

namespace warploom::test {

struct Case {
  GemmDataSpec spec;
  int splits = 1;
  int sms = 132;
  loom::Schedule schedule = {};
};

inline std::string text_of(const Case& c) {
  const GemmDataSpec& s = c.spec;
  return fmt::format(
      "{}x{}x{} batch {} {} to {}, alpha {} beta {} bias {} {} activation {} fill {} pad {}{}{}{}, {} "
      "splits on {} SMs, {}",
      s.m, s.n, s.k, s.batch, name_of(s.a), name_of(s.d), s.alpha, s.beta, static_cast<int>(s.bias),
      name_of(s.bias_type), static_cast<int>(s.activation), static_cast<int>(s.fill), s.padding,
      s.odd_output ? " odd" : "", s.in_place ? " in place" : "", s.shared_a ? " shared A" : "", c.splits, c.sms,
      c.schedule.text());
}

/// Clean, nothing beyond the last column, exact on integers, within rounding otherwise.
inline void expect_right(const GemmConfig& config, Case c) {
  c.spec.a = config.a;
  c.spec.b = config.b;
  c.spec.a_major = config.a_major;
  c.spec.b_major = config.b_major;
  c.spec.scaling = config.scaling;
  if (config.scaling != Scaling::none) {
    if (config.shape.chip == Chip::sm90) c.spec.batch = std::min(c.spec.batch, 1);
    c.spec.n = (c.spec.n + 7) / 8 * 8;
  }
  if (c.spec.d == DType::e4m3) c.spec.in_place = false;
  SCOPED_TRACE(std::string(config.key) + ": " + text_of(c));
  GemmData data(c.spec);
  const GemmProblem problem = data.problem();
  // Kernels with large tiles do not split.
  const Result<GemmPlan> plan =
      plan_gemm(problem, config, config.shape.partial_floats == 0 ? 1 : c.splits, {c.sms, config.shape.chip});
  ASSERT_TRUE(plan) << plan.error();
  loom::Options options;
  options.schedule = c.schedule;
  options.check = true;
  const Result<loom::Outcome> outcome = run_on_loom(problem, *plan, options);
  ASSERT_TRUE(outcome) << outcome.error();
  ASSERT_TRUE(outcome->ok()) << to_text(outcome->report);
  const GemmData::Accuracy accuracy = data.compare({&*plan, options.numerics});
  EXPECT_TRUE(accuracy.correct()) << accuracy.text();
}

class Cases {
 public:
  Cases(const GemmConfig& config, uint64_t seed) : config_(config), random_(seed) {}

  Case next() {
    const GemmShape& s = config_.shape;
    const int rows = s.swap ? s.tile_right * s.cluster_right : s.tile_left * s.cluster_left;
    const int columns = s.swap ? s.tile_left * s.cluster_left : s.tile_right * s.cluster_right;
    constexpr DType outputs[] = {DType::bf16, DType::f16, DType::f32, DType::e4m3};
    constexpr DType biases[] = {DType::f32, DType::bf16, DType::f16};
    constexpr Activation activations[] = {Activation::none, Activation::none,      Activation::none,
                                          Activation::relu, Activation::gelu,      Activation::gelu_tanh,
                                          Activation::silu, Activation::gelu_tanh, Activation::none};
    Case c;
    c.spec.m = extent(rows);
    c.spec.n = extent(columns);
    c.spec.k = 1 + pick(5 * s.tile_k);
    c.spec.batch = pick(4) == 0 ? 3 : 1;
    c.spec.d = of(outputs);
    c.spec.bias = static_cast<BiasAlong>(pick(3));
    c.spec.bias_type = of(biases);
    c.spec.activation = of(activations);
    c.spec.alpha = pick(2) == 0 ? 1.0f : -0.5f;
    c.spec.beta = pick(2) == 0 ? 0.0f : 0.5f;
    c.spec.fill = pick(2) == 0 ? Fill::integer : Fill::normal;
    c.spec.seed = random_();
    c.spec.padding = pick(3);
    c.spec.odd_output = pick(3) == 0;
    c.spec.in_place = pick(3) == 0;
    c.spec.shared_a = pick(4) == 0;
    c.splits = pick(3) == 0 ? 2 + pick(4) : 1;
    const int size = s.cluster_size();
    c.sms = pick(2) == 0 ? size : 4 * size;  // several tiles per cluster, or one
    c.schedule = {static_cast<loom::Policy>(pick(4)), random_() % 1000};
    return c;
  }

 private:
  int pick(int count) { return static_cast<int>(random_() % static_cast<uint64_t>(count)); }
  template <class T, size_t count>
  T of(const T (&values)[count]) {
    return values[pick(static_cast<int>(count))];
  }
  /// One, up to a cluster tile, just around one, or two and a bit.
  int extent(int tile) {
    switch (pick(5)) {
      case 0: return 1 + pick(9);
      case 1: return 1 + pick(tile);
      case 2: return std::max(1, tile - 1 + pick(3));
      case 3: return tile + 1 + pick(tile);
      default: return std::min(2 * tile, 300) + 5;
    }
  }

  const GemmConfig& config_;
  std::mt19937_64 random_;
};

/// Those that the loom has: a representative part in the usual build, all under `./dev test --full`.
inline std::vector<const GemmConfig*> built_configs(Chip chip) {
  std::vector<const GemmConfig*> list;
  for (const GemmConfig& config : gemm_configs(chip))
    if (built_for_loom(config)) list.push_back(&config);
  return list;
}
/// Of these keys, those that the loom has; there is at least one.
inline std::vector<const GemmConfig*> built_of(std::initializer_list<const char*> keys) {
  std::vector<const GemmConfig*> list;
  for (const char* key : keys) {
    const Result<const GemmConfig*> config = find_gemm_config(key);
    EXPECT_TRUE(config) << config.error();
    if (config && built_for_loom(**config)) list.push_back(*config);
  }
  EXPECT_FALSE(list.empty()) << "none of the keys is in the representative part";
  return list;
}
inline std::string identifier(std::string key) {
  std::replace(key.begin(), key.end(), '-', '_');
  return key;
}
inline std::string name_of_config(const testing::TestParamInfo<const GemmConfig*>& info) {
  return identifier(info.param->key);
}

inline void run_random(const GemmConfig& config, int count, uint64_t seed) {
  Cases cases(config, seed);
  for (int i = 0; i < count; ++i) {
    expect_right(config, cases.next());
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace warploom::test
