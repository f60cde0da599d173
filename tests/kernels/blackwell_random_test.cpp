// Problems described at random, good and bad: each comes out right, or is refused in one sentence, and then the nearest
// problem that runs is run and comes out right.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "kernels/gemm_values.hpp"
#include "warploom/kernels/gemm_data.hpp"

namespace warploom::test {
namespace {

/// Room for one tensor of any problem here, and NaN or small integers in it.
class Room {
 public:
  static constexpr size_t bytes = size_t{1} << 20;
  Room() : memory_(bytes) {}
  std::byte* data() { return memory_.data(); }
  void fill(DType type, std::mt19937_64& random) {
    for (size_t i = 0; i < bytes / size_of(type); ++i)
      store_bits(type, memory_.data() + i * size_of(type),
                 encode_value(type, static_cast<float>(static_cast<int>(random() % 7) - 3)));
  }
  void fill_with_powers_of_two(std::mt19937_64& random) {
    auto* const floats = reinterpret_cast<float*>(memory_.data());
    for (size_t i = 0; i < bytes / sizeof(float); ++i) floats[i] = static_cast<float>(1u << random() % 3);
  }
  void fill_with_nans(DType type) {
    fill_with(type, nan_bits(type), memory_.data(), static_cast<int64_t>(bytes / size_of(type)));
  }

 private:
  AlignedBytes memory_;
};

class Problems {
 public:
  explicit Problems(uint64_t seed) : random_(seed) {}

  GemmProblem next() {
    constexpr DType operands[] = {DType::bf16, DType::f16, DType::e4m3, DType::e5m2, DType::e4m3, DType::f32};
    constexpr DType outputs[] = {DType::bf16, DType::f16, DType::f32, DType::e4m3};
    constexpr Activation activations[] = {Activation::none, Activation::relu, Activation::gelu, Activation::gelu_tanh,
                                          Activation::silu};
    GemmProblem p;
    p.m = extent(), p.n = extent(), p.k = extent();
    p.batch = pick(4) == 0 ? 2 : 1;
    p.a.type = p.b.type = of(operands);
    if (size_of(p.a.type) == 1 && pick(2) == 0) p.b.type = pick(2) == 0 ? DType::e4m3 : DType::e5m2;
    if (size_of(p.a.type) == 2) p.a.major = major(), p.b.major = major();
    place_operand(p.a, a, p.m, p.k);
    place_operand(p.b, b, p.n, p.k);
    p.d.type = of(outputs);
    p.c.type = p.d.type == DType::e4m3 ? DType::bf16 : p.d.type;
    p.alpha = pick(2) == 0 ? 1.0f : -0.5f;
    p.beta = pick(2) == 0 ? 0.0f : 0.5f;
    p.activation = of(activations);
    p.d.data = d.data() + pick(3) * size_of(p.d.type);
    p.d.stride = p.n + pick(12);
    p.d.batch_stride = p.d.stride * p.m + pick(5);
    p.c = {c.data() + pick(3) * size_of(p.c.type), p.c.type, p.n + pick(12), 0};
    p.c.batch_stride = p.c.stride * p.m + pick(5);
    p.bias = {bias.data(), pick(2) == 0 ? DType::f32 : DType::bf16, static_cast<BiasAlong>(pick(3))};
    if (p.a.type == DType::e4m3 && p.b.type == DType::e4m3) p.scaling = static_cast<Scaling>(pick(3));
    if (p.scaling != Scaling::none && pick(6) != 0) p.n = p.n / 8 * 8;
    place_scales(p);
    for (int faults = pick(3); faults > 0; --faults) spoil(p);
    return p;
  }
  /// What the problem reads is integers, what it writes NaN.
  void fill_for(const GemmProblem& p) {
    a.fill(p.a.type, random_), b.fill(p.b.type, random_), c.fill(p.c.type, random_), bias.fill(p.bias.type, random_);
    for (Room* scales : {&a_scales, &b_scales}) scales->fill_with_powers_of_two(random_);
    d.fill_with_nans(p.d.type);
  }
  void fill_d(DType type) { d.fill(type, random_); }
  int pick(int count) { return static_cast<int>(random_() % static_cast<uint64_t>(count)); }

  Room a, b, c, d, bias, a_scales, b_scales;

 private:
  template <class T, size_t count>
  T of(const T (&values)[count]) {
    return values[pick(static_cast<int>(count))];
  }
  int extent() { return pick(12) == 0 ? 0 : pick(3) == 0 ? 1 + pick(17) : 1 + pick(150); }
  Major major() { return pick(2) == 0 ? Major::k : Major::mn; }
  void place_operand(OperandRef& ref, Room& room, int rows, int k) {
    const int64_t unit = 16 / size_of(ref.type), inner = ref.major == Major::k ? k : rows;
    ref.data = room.data() + 16 * pick(3);
    ref.stride = ((std::max<int64_t>(inner, 1) + unit - 1) / unit + pick(2)) * unit;
    ref.batch_stride = ref.stride * (ref.major == Major::k ? rows : k) + pick(2) * unit;
  }
  void place_scales(GemmProblem& p) {
    const int64_t blocks = (p.k + 127) / 128;
    const auto place = [&](Room& room, int64_t stride, int64_t lines) {
      return ScalesRef{reinterpret_cast<const float*>(room.data() + 16 * pick(3)), stride,
                       (stride * lines + 3) / 4 * 4 + 4 * pick(2)};
    };
    const auto padded = [&](int rows) { return (std::max(rows, 1) + 3) / 4 * 4 + 4 * pick(2); };
    p.a_scales = place(a_scales, padded(p.m), blocks);
    p.b_scales = p.scaling == Scaling::a_rows_b_rows ? place(b_scales, padded(p.n), blocks)
                                                     : place(b_scales, blocks, (p.n + 127) / 128);
  }
  DType any_type() {
    constexpr DType all[] = {DType::e4m3, DType::e5m2, DType::bf16, DType::f16, DType::f32};
    return of(all);
  }
  template <class T>
  void shift(T*& data) {
    data = reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(data) + static_cast<uintptr_t>(1 + pick(15)));
  }
  int64_t any_stride() {
    const int64_t strides[] = {-1, 0, 1, 7, 100, int64_t{1} << 41, int64_t{1} << 60};
    return of(strides);
  }
  void spoil(GemmProblem& p) {
    switch (pick(25)) {
      case 0: p.m = -1; break;
      case 1: p.k = -3; break;
      case 2: p.batch = -1; break;
      case 3: p.a.type = any_type(); break;
      case 4: p.b.type = any_type(); break;
      case 5: p.c.type = any_type(); break;
      case 6: p.d.type = any_type(); break;
      case 7: p.a.stride = any_stride(); break;
      case 8: p.b.stride = any_stride(); break;
      case 9: p.c.stride = any_stride(); break;
      case 10: p.d.stride = any_stride(); break;
      case 11: p.a.batch_stride = any_stride(); break;
      case 12: p.d.batch_stride = any_stride(); break;
      case 13: shift(p.a.data); break;
      case 14: shift(p.d.data); break;
      case 15: p.b.data = nullptr; break;
      case 16: p.c.data = p.d.data; break;
      case 17: p.a.major = p.a.major == Major::k ? Major::mn : Major::k; break;
      case 18: p.bias.type = any_type(); break;
      case 19: p.a_scales.stride = any_stride(); break;
      case 20: p.b_scales.batch_stride = any_stride(); break;
      case 21: shift(p.b_scales.data); break;
      case 22: p.a_scales.data = nullptr; break;
      default: p.scaling = static_cast<Scaling>(pick(3)); break;
    }
  }

  std::mt19937_64 random_;
};

double operand_at(const OperandRef& ref, int matrix, int row, int k) {
  const int64_t at = matrix * ref.batch_stride + (ref.major == Major::k ? row * ref.stride + k : k * ref.stride + row);
  double value = 0;
  decode_values(ref.type, static_cast<const std::byte*>(ref.data) + at * size_of(ref.type), 1, 1, &value);
  return value;
}

/// What an element of either operand is multiplied with.
double scales_at(const GemmProblem& p, int matrix, int row, int column, int k) {
  if (p.scaling == Scaling::none) return 1;
  const int64_t block = k / 128, blocks = (p.k + 127) / 128;
  const float of_a = p.a_scales.data[matrix * p.a_scales.batch_stride + block * p.a_scales.stride + row];
  const float* const b = p.b_scales.data + matrix * p.b_scales.batch_stride;
  return static_cast<double>(of_a) * static_cast<double>(p.scaling == Scaling::a_rows_b_rows
                                                             ? b[block * p.b_scales.stride + column]
                                                             : b[column / 128 * blocks + block]);
}

double activated(Activation activation, double x) {
  switch (activation) {
    case Activation::none: break;
    case Activation::relu: return std::max(x, 0.0);
    case Activation::gelu: return x * std::erfc(-x / std::sqrt(2.0)) / 2;
    case Activation::gelu_tanh: return x / (1 + std::exp(-std::sqrt(8 / M_PI) * (x + 0.044715 * x * x * x)));
    case Activation::silu: return x / (1 + std::exp(-x));
  }
  return x;
}

/// By how much an activation that is no exact function may be off: one step of 16 or 8 bits, four of f32.
double allowed(DType type, double value) {
  switch (type) {
    case DType::bf16: return 0x1p-7 * std::abs(value) + 1e-30;
    case DType::f16: return 0x1p-10 * std::abs(value) + 0x1p-24;
    case DType::e4m3: return 0x1p-3 * std::abs(value) + 0x1p-9;
    default: return 0x1p-21 * std::abs(value) + 1e-30;
  }
}

/// Not GemmData::compare: these problems lie where GemmData puts none, and it has a witness in this. All are integers.
/// D as it must be, one element after the other; `c` as it was before, where it is D itself.
std::string first_wrong(const GemmProblem& p, const std::vector<float>& c) {
  for (int matrix = 0; matrix < p.batch; ++matrix)
    for (int i = 0; i < p.m; ++i)
      for (int j = 0; j < p.n; ++j) {
        double sum = 0;
        for (int k = 0; k < p.k; ++k)
          sum += operand_at(p.a, matrix, i, k) * operand_at(p.b, matrix, j, k) * scales_at(p, matrix, i, j, k);
        sum *= static_cast<double>(p.alpha);
        if (p.beta != 0.0f)
          sum +=
              static_cast<double>(p.beta) * static_cast<double>(c[static_cast<size_t>((matrix * p.m + i) * p.n + j)]);
        if (p.bias.along != BiasAlong::none)
          sum += decode_value(p.bias.type, static_cast<const std::byte*>(p.bias.data) +
                                               (p.bias.along == BiasAlong::n ? j : i) * size_of(p.bias.type));
        sum = activated(p.activation, sum);
        const auto* at = static_cast<const std::byte*>(p.d.data) +
                         (matrix * p.d.batch_stride + i * p.d.stride + j) * size_of(p.d.type);
        const uint32_t want = encode_value(p.d.type, static_cast<float>(sum)), got = load_bits(p.d.type, at);
        const double value = decode_value(p.d.type, at);
        const bool exact = p.activation == Activation::none || p.activation == Activation::relu;
        const double off = exact ? 0 : allowed(p.d.type, sum);
        if (want != got && !(sum == 0 && value == 0) && !(std::abs(value - sum) <= off))
          return fmt::format("D[{}, {}, {}] is {}, not {}", matrix, i, j, value, sum);
      }
  return {};
}

void expect_right(Problems& problems, const GemmProblem& p) {
  problems.fill_for(p);
  std::vector<float> c;
  if (p.beta != 0.0f && p.c.data == p.d.data) problems.fill_d(p.d.type);
  if (p.beta != 0.0f)
    for (int matrix = 0; matrix < p.batch; ++matrix)
      for (int i = 0; i < p.m; ++i)
        for (int j = 0; j < p.n; ++j)
          c.push_back(decode_value(p.c.type, static_cast<const std::byte*>(p.c.data) +
                                                 (matrix * p.c.batch_stride + i * p.c.stride + j) * size_of(p.c.type)));
  const ChipLimits chip{problems.pick(2) == 0 ? 16 : 148, Chip::sm100};
  std::vector<GemmPlan> plans = gemm_plans(p, chip);
  ASSERT_FALSE(plans.empty());
  std::erase_if(plans, [](const GemmPlan& plan) { return !built_for_loom(*plan.config); });
  if (plans.empty()) return;  // types or majors that the representative part leaves out
  const GemmPlan& plan = plans[static_cast<size_t>(problems.pick(static_cast<int>(plans.size())))];
  SCOPED_TRACE(plan.why);
  const Result<loom::Outcome> outcome = run_on_loom(p, plan);
  ASSERT_TRUE(outcome) << outcome.error();
  ASSERT_TRUE(outcome->ok()) << to_text(outcome->report);
  EXPECT_EQ(first_wrong(p, c), "");
}

void run_random_problems(int count, uint64_t seed) {
  Problems problems(seed);
  int refused = 0, scaled = 0;
  for (int i = 0; i < count; ++i) {
    const GemmProblem p = problems.next();
    SCOPED_TRACE(fmt::format("problem {}: {} x {} x {}, batch {}, A {} B {} C {} D {} scaling {} {}", i, p.m, p.n, p.k,
                             p.batch, name_of(p.a.type), name_of(p.b.type), name_of(p.c.type), name_of(p.d.type),
                             static_cast<int>(p.scaling), name_of(p.activation)));
    const std::string reason = why_not(p, Chip::sm100);
    if (reason.empty()) {
      scaled += p.scaling != Scaling::none;
      expect_right(problems, p);
    } else {
      ++refused;
      EXPECT_EQ(reason.find('\n'), std::string::npos) << reason;
      EXPECT_GT(reason.size(), 20u);
      EXPECT_FALSE(plan_gemm(p, ChipLimits::of(Chip::sm100)));
      const GemmProblem nearest = nearest_that_runs(p, Chip::sm100);
      SCOPED_TRACE("the nearest to what was refused: " + reason);
      ASSERT_EQ(why_not(nearest, Chip::sm100), "");
      expect_right(problems, nearest);
    }
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(scaled, count / 50);  // about one in 17, by chance fewer
  EXPECT_GT(refused, count / 5);
  EXPECT_LT(refused, count * 4 / 5);
}

TEST(BlackwellRandom, RightOrASentence) { run_random_problems(150, 17); }

/// Two thousand, in tenths for several cores.
class BlackwellRandomFull : public testing::TestWithParam<uint64_t> {};
TEST_P(BlackwellRandomFull, RightOrASentence) { run_random_problems(200, GetParam()); }
INSTANTIATE_TEST_SUITE_P(Tenths, BlackwellRandomFull, testing::Range<uint64_t>(18, 28));

}  // namespace
}  // namespace warploom::test
