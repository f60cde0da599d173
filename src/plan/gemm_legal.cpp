// Which GEMMs can run. Every rule stands beside its cure: `why_not` speaks the first broken one, `nearest_that_runs`
// cures them one after the other.
#include "plan/gemm_legal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "kernels/gemm_params.hpp"
#include "plan/gemm_layout.hpp"
#include "types/no_throw.hpp"

namespace warploom {
namespace {

// Below 2^31 by more than a cluster tile, so that rounding up to tiles cannot overflow an int.
constexpr int largest_extent = std::numeric_limits<int>::max() - 4095;

bool is_fp8(DType type) { return type == DType::e4m3 || type == DType::e5m2; }
bool nothing_to_do(const GemmProblem& p) { return p.m == 0 || p.n == 0 || p.batch == 0; }
const char* name_of(Major major) { return major == Major::k ? "K-major" : "MN-major"; }
const char* name_of(Scaling scaling) {
  switch (scaling) {
    case Scaling::none: return "no scales";
    case Scaling::a_rows_b_blocks: return "scales of 1 x 128 blocks of A and 128 x 128 blocks of B";
    case Scaling::a_rows_b_rows: return "scales of 1 x 128 blocks of A and B";
  }
  return "?";
}

using Cure = void (*)(GemmProblem& p);
/// What is broken, and what mends it; an empty sentence: nothing.
struct Broken {
  std::string sentence = {};
  Cure cure = nullptr;
};

// ---- extents and types

/// A number that is none of an enum's values, as a caller in another language may hand over.
template <class Enum>
bool beyond(Enum value, Enum last) {
  return static_cast<int>(value) > static_cast<int>(last);
}

Broken values(const GemmProblem& p, Chip) {
  constexpr DType last = DType::f32;
  const std::pair<const char*, DType> types[] = {
      {"A", p.a.type},
      {"B", p.b.type},
      {"D", p.d.type},
      {"C", p.beta != 0.0f ? p.c.type : last},
      {"the bias", p.bias.along != BiasAlong::none ? p.bias.type : last},
  };
  for (const auto& [name, type] : types)
    if (beyond(type, last))
      return {fmt::format("the type of {} is {}; there are e4m3, e5m2, bf16, f16 and f32, 0 to {}", name,
                          static_cast<int>(type), static_cast<int>(last)),
              [](GemmProblem& q) {
                for (DType* of : {&q.a.type, &q.b.type, &q.d.type, &q.c.type, &q.bias.type})
                  if (beyond(*of, last)) *of = of == &q.bias.type ? DType::f32 : DType::bf16;
              }};
  if (beyond(p.activation, Activation::silu))
    return {fmt::format("the activation is {}; there are none, relu, gelu, gelu_tanh and silu, 0 to {}",
                        static_cast<int>(p.activation), static_cast<int>(Activation::silu)),
            [](GemmProblem& q) { q.activation = Activation::none; }};
  if (beyond(p.bias.along, BiasAlong::m))
    return {fmt::format("the bias lies along {}; there are none, n and m, 0 to {}", static_cast<int>(p.bias.along),
                        static_cast<int>(BiasAlong::m)),
            [](GemmProblem& q) { q.bias.along = BiasAlong::none; }};
  if (beyond(p.scaling, Scaling::a_rows_b_rows))
    return {fmt::format("the scaling is {}; there are none, a_rows_b_blocks and a_rows_b_rows, 0 to {}",
                        static_cast<int>(p.scaling), static_cast<int>(Scaling::a_rows_b_rows)),
            [](GemmProblem& q) { q.scaling = Scaling::none; }};
  return {};
}

Broken extents(const GemmProblem& p, Chip) {
  if (p.m < 0 || p.n < 0 || p.k < 0 || p.batch < 0)
    return {fmt::format("m, n, k and batch are {}, {}, {} and {}; none may be negative", p.m, p.n, p.k, p.batch),
            [](GemmProblem& q) {
              for (int* extent : {&q.m, &q.n, &q.k, &q.batch}) *extent = std::max(*extent, 0);
            }};
  if (std::max({p.m, p.n, p.k}) > largest_extent)
    return {fmt::format("m, n and k are {}, {} and {}; each may be {} at most", p.m, p.n, p.k, largest_extent),
            [](GemmProblem& q) {
              for (int* extent : {&q.m, &q.n, &q.k}) *extent = std::min(*extent, largest_extent);
            }};
  return {};
}

Broken compiled(const GemmProblem& p, Chip chip);

Broken operand_types(const GemmProblem& p, Chip chip) {
  if (p.scaling != Scaling::none && (p.a.type != DType::e4m3 || p.b.type != DType::e4m3)) {
    // Where the operands are a pair of their own, the scales are what is too much.
    GemmProblem plain = p;
    plain.scaling = Scaling::none;
    const bool a_pair = operand_types(plain, chip).sentence.empty() && compiled(plain, chip).sentence.empty();
    return {fmt::format("A is {} and B {}; with scales both must be e4m3", name_of(p.a.type), name_of(p.b.type)),
            a_pair ? Cure{[](GemmProblem& q) { q.scaling = Scaling::none; }}
                   : Cure{[](GemmProblem& q) { q.a.type = q.b.type = DType::e4m3; }}};
  }
  if (chip == Chip::sm90) {
    if (p.a.type == DType::f32)
      return {"A is f32; operands are bf16, f16, e4m3 or e5m2",
              [](GemmProblem& q) { q.a.type = q.b.type == DType::f32 ? DType::bf16 : q.b.type; }};
    if (p.b.type == DType::f32)
      return {"B is f32; operands are bf16, f16, e4m3 or e5m2", [](GemmProblem& q) { q.b.type = q.a.type; }};
  }
  if (p.a.type != p.b.type && !(is_fp8(p.a.type) && is_fp8(p.b.type)))
    return {fmt::format("A is {} and B {}; {} operands are of one type, and only e4m3 and e5m2 mix", name_of(p.a.type),
                        name_of(p.b.type), p.a.type == DType::f32 || p.b.type == DType::f32 ? "f32" : "16-bit"),
            [](GemmProblem& q) { q.b.type = q.a.type; }};
  if (p.a.type == DType::f32 && (p.a.major != Major::k || p.b.major != Major::k))
    return {fmt::format("{} in {} is not possible; f32 operands are K-major", p.a.major != Major::k ? "A" : "B",
                        name_of(Major::mn)),
            [](GemmProblem& q) { q.a.major = q.b.major = Major::k; }};
  if (is_fp8(p.a.type) && (p.a.major != Major::k || p.b.major != Major::k))
    return {fmt::format("{} in {} is not possible; FP8 operands are K-major", p.a.major != Major::k ? "A" : "B",
                        name_of(Major::mn)),
            [](GemmProblem& q) { q.a.major = q.b.major = Major::k; }};
  return {};
}

Broken other_types(const GemmProblem& p, Chip chip) {
  if (p.d.type == DType::e5m2)
    return {"D is e5m2; it may be bf16, f16, f32 or e4m3", [](GemmProblem& q) { q.d.type = DType::e4m3; }};
  const DType c_type = p.d.type == DType::e4m3 ? DType::bf16 : p.d.type;
  if (p.beta != 0.0f && p.c.type != c_type)
    return {fmt::format("C is {} and D {}; C must be {} then", name_of(p.c.type), name_of(p.d.type), name_of(c_type)),
            [](GemmProblem& q) { q.c.type = q.d.type == DType::e4m3 ? DType::bf16 : q.d.type; }};
  if (p.bias.along != BiasAlong::none && is_fp8(p.bias.type))
    return {fmt::format("the bias is {}; it may be f32, bf16 or f16", name_of(p.bias.type)),
            [](GemmProblem& q) { q.bias.type = DType::f32; }};
  if (p.scaling != Scaling::none && p.batch > 1 && chip == Chip::sm90)
    return {fmt::format("batch is {}; with scales it must be 1", p.batch), [](GemmProblem& q) { q.batch = 1; }};
  if (p.scaling != Scaling::none && p.n % 8 != 0)
    return {fmt::format("n is {}; with scales it must be a multiple of 8, such as {}", p.n, round_up(p.n, 8)),
            [](GemmProblem& q) { q.n = static_cast<int>(round_up(q.n, 8)); }};
  return {};
}

/// How many of the choices that are fixed at compile time differ.
int distance(const GemmProblem& p, const GemmConfig& config) {
  return 4 * (p.scaling != config.scaling) + 2 * (p.a.type != config.a) + 2 * (p.b.type != config.b) +
         (p.a.major != config.a_major) + (p.b.major != config.b_major);
}

const GemmConfig& nearest_config(const GemmProblem& p, Chip chip) {
  const std::span<const GemmConfig> configs = gemm_configs(chip);
  return *std::min_element(configs.begin(), configs.end(),
                           [&](const GemmConfig& x, const GemmConfig& y) { return distance(p, x) < distance(p, y); });
}

std::string compiled_for(const GemmConfig& config) {
  return fmt::format("A in {} {}, B in {} {}, {}", name_of(config.a), name_of(config.a_major), name_of(config.b),
                     name_of(config.b_major), name_of(config.scaling));
}

template <Chip chip>
void take_nearest_config(GemmProblem& p) {
  const GemmConfig& config = nearest_config(p, chip);
  p.a.type = config.a;
  p.b.type = config.b;
  p.a.major = config.a_major;
  p.b.major = config.b_major;
  p.scaling = config.scaling;
}

Broken compiled(const GemmProblem& p, Chip chip) {
  const GemmConfig& nearest = nearest_config(p, chip);
  if (distance(p, nearest) == 0) return {};
  return {
      fmt::format("no kernel was compiled for A in {} {}, B in {} {}, {}; the nearest is for {}", name_of(p.a.type),
                  name_of(p.a.major), name_of(p.b.type), name_of(p.b.major), name_of(p.scaling), compiled_for(nearest)),
      chip == Chip::sm90 ? &take_nearest_config<Chip::sm90> : &take_nearest_config<Chip::sm100>};
}

// ---- memory

template <class T>
void align(T*& data, uintptr_t to) {
  const auto address = reinterpret_cast<uintptr_t>(data);
  data = reinterpret_cast<T*>((address + to - 1) / to * to);
}

/// Mends strides and alignment of anything that has them.
template <class Ref>
void mend(Ref& ref, const Layout& layout) {
  const Fault fault = fault_of(layout).fault;
  if (fault == Fault::alignment) align(ref.data, layout.alignment);
  if constexpr (requires { ref.stride; }) {
    if (fault == Fault::short_stride || fault == Fault::span) ref.stride = least_stride(layout);
    if (fault == Fault::stride) ref.stride = round_up(layout.stride, layout.unit);
  }
  if constexpr (requires { ref.batch_stride; }) {
    Layout mended = layout;
    mended.stride = ref.stride;
    if (fault == Fault::batch_stride || fault == Fault::span) ref.batch_stride = least_batch_stride(mended);
  }
}

/// A tensor that is too large however densely it is packed: halves the extent that makes it so.
void shrink(GemmProblem& p) {
  if (p.batch > 1)
    p.batch /= 2;
  else if (p.k > p.m && p.k > p.n)
    p.k /= 2;
  else if (p.m > p.n)
    p.m /= 2;
  else
    p.n /= 2;
}

bool c_is_d(const GemmProblem& p) {
  return p.c.data == p.d.data && p.c.type == p.d.type && p.c.stride == p.d.stride &&
         (p.batch <= 1 || p.c.batch_stride == p.d.batch_stride);
}

/// Memory that is read, and when it is.
struct Reader {
  Layout (*layout)(const GemmProblem&);
  bool (*used)(const GemmProblem&);
  Cure cure;       ///< of a broken layout
  Cure leave_out;  ///< what makes the tensor unused
};
bool has_k(const GemmProblem& p) { return p.k > 0; }
bool has_scales(const GemmProblem& p) { return p.k > 0 && p.scaling != Scaling::none; }
bool has_c(const GemmProblem& p) { return p.beta != 0.0f; }
bool has_bias(const GemmProblem& p) { return p.bias.along != BiasAlong::none; }
void no_k(GemmProblem& p) { p.k = 0; }
void no_c(GemmProblem& p) { p.beta = 0.0f; }
void no_bias(GemmProblem& p) { p.bias.along = BiasAlong::none; }

/// A tensor that is not there cannot be mended, only done without: no A is a product over nothing.
template <auto ref, Layout (*layout)(const GemmProblem&), Cure leave_out>
void mend_or_leave_out(GemmProblem& p) {
  const Layout before = layout(p);
  if (before.data == nullptr) {
    leave_out(p);
    return;
  }
  mend(p.*ref, before);
  if (fault_of(layout(p)).fault == fault_of(before).fault) shrink(p);
}

constexpr Reader readers[] = {
    {&layout_of_a, &has_k, &mend_or_leave_out<&GemmProblem::a, &layout_of_a, &no_k>, &no_k},
    {&layout_of_b, &has_k, &mend_or_leave_out<&GemmProblem::b, &layout_of_b, &no_k>, &no_k},
    {&layout_of_c, &has_c, &mend_or_leave_out<&GemmProblem::c, &layout_of_c, &no_c>, &no_c},
    {&layout_of_bias, &has_bias, &mend_or_leave_out<&GemmProblem::bias, &layout_of_bias, &no_bias>, &no_bias},
    {&layout_of_a_scales, &has_scales, &mend_or_leave_out<&GemmProblem::a_scales, &layout_of_a_scales, &no_k>, &no_k},
    {&layout_of_b_scales, &has_scales, &mend_or_leave_out<&GemmProblem::b_scales, &layout_of_b_scales, &no_k>, &no_k},
};

void no_rows(GemmProblem& p) { p.m = 0; }

Broken memory(const GemmProblem& p, Chip) {
  if (nothing_to_do(p)) return {};
  for (const Reader& reader : readers)
    if (reader.used(p))
      if (LayoutFault fault = fault_of(reader.layout(p)); fault.fault != Fault::none)
        return {std::move(fault.sentence), reader.cure};
  const Layout d = layout_of_d(p);
  if (LayoutFault fault = fault_of(d); fault.fault != Fault::none)
    return {std::move(fault.sentence), &mend_or_leave_out<&GemmProblem::d, &layout_of_d, &no_rows>};
  if (overlaps_itself(bytes_of(d)))
    return {fmt::format("matrices of D are {} elements apart and overlap; {} works", p.d.batch_stride,
                        least_batch_stride(d)),
            [](GemmProblem& q) { q.d.batch_stride = least_batch_stride(layout_of_d(q)); }};
  for (const Reader& reader : readers) {
    if (!reader.used(p)) continue;
    const Layout other = reader.layout(p);
    if (!share_a_byte(bytes_of(d), bytes_of(other))) continue;
    if (reader.layout == &layout_of_c) {
      if (c_is_d(p)) continue;
      return {"C and D overlap; C may be D itself, with the same type and strides, or lie elsewhere",
              [](GemmProblem& q) {
                if (q.d.type == DType::e4m3)
                  q.beta = 0.0f;  // C is bf16 then and cannot be D
                else
                  q.c = {q.d.data, q.d.type, q.d.stride, q.d.batch_stride};
              }};
    }
    return {fmt::format("D overlaps {}; it must lie elsewhere", other.name), reader.leave_out};
  }
  return {};
}

// ---- what a configuration adds

/// Work items are counted in an int, split K included; with launch control so are the CTAs of all of them.
bool countable(const GemmProblem& p, const GemmConfig& config) {
  const GemmTiles tiles = gemm_tiles(p, config.shape);
  constexpr double most_splits = 16;
  const double ctas = config.shape.launch_control ? config.shape.cluster_size() : 1;
  return ctas * static_cast<double>(tiles.left_clusters) * static_cast<double>(tiles.right_clusters) * p.batch *
             most_splits <
         0.5 * std::numeric_limits<int>::max();
}

Broken tiles(const GemmProblem& p, Chip chip) {
  for (const GemmConfig& config : gemm_configs(chip))
    if (distance(p, config) == 0 && countable(p, config)) return {};
  return {fmt::format("{} x {} x {} outputs are too many tiles to count; half as many may do", p.batch, p.m, p.n),
          &shrink};
}

struct Rule {
  Broken (*broken)(const GemmProblem&, Chip);
  ErrorCode code;
};
constexpr Rule rules[] = {
    {&extents, ErrorCode::bad_argument},      {&values, ErrorCode::bad_argument},
    {&operand_types, ErrorCode::unsupported}, {&other_types, ErrorCode::unsupported},
    {&compiled, ErrorCode::unsupported},      {&tiles, ErrorCode::unsupported},
    {&memory, ErrorCode::bad_argument},
};

struct BrokenRule {
  Broken broken = {};
  ErrorCode code = ErrorCode::none;
};
BrokenRule first_broken(const GemmProblem& p, Chip chip) {
  for (const Rule& rule : rules)
    if (Broken broken = rule.broken(p, chip); !broken.sentence.empty()) return {std::move(broken), rule.code};
  return {};
}

}  // namespace

Error trouble_with(const GemmProblem& problem, Chip chip) {
  BrokenRule found = first_broken(problem, chip);
  return {std::move(found.broken.sentence), found.code};
}

Error trouble_with_memory(const GemmProblem& problem) {
  Broken found = memory(problem, {});
  const ErrorCode code = found.sentence.empty() ? ErrorCode::none : ErrorCode::bad_argument;
  return {std::move(found.sentence), code};
}

Error trouble_with(const GemmProblem& p, const GemmConfig& config) {
  const Chip chip = config.shape.chip;
  if (Error trouble = trouble_with(p, chip); trouble.code != ErrorCode::none) return trouble;
  if (distance(p, config) != 0)
    return {fmt::format("configuration {} is for {}; this problem has A in {} {}, B in {} {}, {}, as {} does",
                        config.key, compiled_for(config), name_of(p.a.type), name_of(p.a.major), name_of(p.b.type),
                        name_of(p.b.major), name_of(p.scaling), nearest_config(p, chip).key)};
  if (!countable(p, config)) {
    const auto configs = gemm_configs(chip);
    const auto larger = std::find_if(configs.begin(), configs.end(), [&](const GemmConfig& other) {
      return distance(p, other) == 0 && countable(p, other);
    });
    return {fmt::format("{} x {} x {} outputs are too many tiles for configuration {}; {} has larger ones", p.batch,
                        p.m, p.n, config.key, larger->key),
            ErrorCode::unsupported};
  }
  return {{}, ErrorCode::none};
}

std::string why_not(const GemmProblem& problem, Chip chip) {
  return sentence_of([&] { return first_broken(problem, chip).broken.sentence; });
}

std::string why_not(const GemmProblem& problem, const GemmConfig& config) {
  return sentence_of([&] { return trouble_with(problem, config).message; });
}

namespace {

GemmProblem cured(const GemmProblem& problem, Chip chip) {
  GemmProblem p = problem;
  // A cure may break a rule further up, which is then cured in turn; each makes the problem smaller or more regular.
  for (int step = 0; step < 1000; ++step) {
    const Broken broken = first_broken(p, chip).broken;
    if (broken.sentence.empty() || broken.cure == nullptr) return p;
    broken.cure(p);
  }
  p.m = p.n = p.k = 0;
  return p;
}

}  // namespace

GemmProblem nearest_that_runs(const GemmProblem& problem, Chip chip) {
  return no_throw<GemmProblem>([&] { return cured(problem, chip); },
                               [&](const Error&) {
                                 GemmProblem none = problem;
                                 none.m = none.n = none.k = none.batch = 0;
                                 return none;
                               });
}

}  // namespace warploom
