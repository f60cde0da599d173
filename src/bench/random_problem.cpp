#include "bench/random_problem.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bench/dice.hpp"

namespace warploom::bench {
namespace {

/// Small sizes, sizes near a multiple of the tiles', and now and then a large one.
int size(Dice& dice, int most) {
  switch (dice.below(5)) {
    case 0: return dice.between(1, 40);
    case 1: return std::clamp(64 * dice.between(1, most / 64) + dice.between(-1, 1), 1, most);
    case 2: return 8 * dice.between(1, most / 8);
    case 3: return 128 * dice.between(1, most / 128);
    default: return dice.between(1, most);
  }
}

int64_t up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

/// Tight, padded to 16 bytes, padded further, or (rarely) something that no TMA takes.
int64_t stride(Dice& dice, int64_t inner, DType type) {
  const int64_t unit = 16 / size_of(type);
  switch (dice.below(8)) {
    case 0: return inner;
    case 1: return up(inner, unit) + unit * dice.between(1, 5);
    case 2: return inner + dice.between(0, 3);
    default: return up(inner, unit);
  }
}

}  // namespace

RandomProblem random_problem(uint64_t seed, uint64_t number) {
  Dice dice(seed * 0x100000001b3ull + number);
  RandomProblem made;
  GemmProblem& p = made.problem;
  made.integers = dice.one_in(3);
  p.m = size(dice, 900);
  p.n = size(dice, 900);
  p.k = size(dice, 1500);
  if (dice.one_in(40)) p.k = dice.of({8192, 16384});
  if (dice.one_in(60)) (dice.one_in(2) ? p.m : dice.one_in(2) ? p.n : p.k) = 0;
  p.batch = dice.one_in(6) ? dice.between(2, 5) : 1;

  p.a.type = dice.of({DType::bf16, DType::bf16, DType::f16, DType::e4m3, DType::e4m3, DType::e5m2});
  p.b.type = dice.one_in(25) ? dice.of({DType::bf16, DType::f16, DType::e4m3, DType::e5m2}) : p.a.type;
  const bool fp8 = size_of(p.a.type) == 1;
  if (!fp8 || dice.one_in(25)) {
    p.a.major = dice.one_in(3) ? Major::mn : Major::k;
    p.b.major = dice.one_in(3) ? Major::mn : Major::k;
  }
  const auto operand = [&](OperandRef& ref, int rows) {
    ref.stride = stride(dice, ref.major == Major::k ? p.k : rows, ref.type);
    ref.batch_stride =
        up(ref.stride * (ref.major == Major::k ? rows : p.k), dice.one_in(20) ? 1 : 16) + (dice.one_in(3) ? 64 : 0);
  };
  operand(p.a, p.m);
  operand(p.b, p.n);
  if (fp8 && !dice.one_in(4)) {
    p.scaling = dice.one_in(3) ? Scaling::a_rows_b_rows : Scaling::a_rows_b_blocks;
    if (!dice.one_in(20)) p.batch = 1;
    p.a_scales.stride = dice.one_in(20) ? p.m : up(p.m, 4) + 4 * dice.below(3);
    p.b_scales.stride = dice.one_in(20) ? p.n : up(p.n, 4) + 4 * dice.below(3);
  }
  const auto output = [&](auto& ref, DType type) {
    ref.type = type;
    ref.stride = stride(dice, p.n, type);
    ref.batch_stride = ref.stride * p.m + (dice.one_in(3) ? 16 : 0);
  };
  output(p.d, dice.of({DType::bf16, DType::bf16, p.a.type == DType::f16 ? DType::f16 : DType::bf16, DType::f16,
                       DType::f32, DType::e4m3}));
  if (dice.one_in(2)) {
    p.beta = dice.of({1.0f, 0.5f, -2.0f});
    output(p.c, p.d.type == DType::e4m3 ? DType::bf16 : p.d.type);
    if (dice.one_in(30)) p.c.type = dice.of({DType::bf16, DType::f16, DType::f32});
    if (p.c.type == p.d.type && dice.one_in(3)) {
      made.c_is_d = true;
      p.c.stride = p.d.stride;
      p.c.batch_stride = p.d.batch_stride;
    }
  }
  p.alpha = dice.of({1.0f, 1.0f, 0.5f, -1.0f, 2.0f});
  if (!made.integers && dice.one_in(4)) p.alpha = 0.37f;
  if (dice.one_in(3)) {
    p.bias.along = dice.one_in(3) ? BiasAlong::m : BiasAlong::n;
    p.bias.type = dice.of({DType::f32, DType::bf16, DType::f16});
  }
  if (dice.one_in(3))
    p.activation = dice.of({Activation::relu, Activation::gelu, Activation::gelu_tanh, Activation::silu});
  return made;
}

std::string describe(const GemmProblem& p) {
  const auto operand = [](const OperandRef& ref) {
    return fmt::format("{}{}[{}]", name_of(ref.type), ref.major == Major::k ? "" : " mn", ref.stride);
  };
  std::string text = fmt::format("{}x{}x{}", p.m, p.n, p.k);
  if (p.batch != 1)
    text += fmt::format(" batch {} ({}, {}, {})", p.batch, p.a.batch_stride, p.b.batch_stride, p.d.batch_stride);
  text += fmt::format(" A {} B {} D {}[{}]", operand(p.a), operand(p.b), name_of(p.d.type), p.d.stride);
  if (p.alpha != 1) text += fmt::format(" alpha {}", p.alpha);
  if (p.beta != 0) text += fmt::format(" beta {} C {}[{}]", p.beta, name_of(p.c.type), p.c.stride);
  if (p.bias.along != BiasAlong::none)
    text += fmt::format(" bias({}) {}", p.bias.along == BiasAlong::n ? 'n' : 'm', name_of(p.bias.type));
  if (p.activation != Activation::none) text += fmt::format(" {}", name_of(p.activation));
  if (p.scaling == Scaling::a_rows_b_blocks) text += fmt::format(" scales rows[{}]/blocks", p.a_scales.stride);
  if (p.scaling == Scaling::a_rows_b_rows)
    text += fmt::format(" scales rows[{}]/rows[{}]", p.a_scales.stride, p.b_scales.stride);
  return text;
}

}  // namespace warploom::bench
