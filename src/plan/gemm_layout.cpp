#include "plan/gemm_layout.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace warploom {
namespace {

constexpr int64_t largest_stride_bytes = int64_t{1} << 40;  // exclusive, TMA's
constexpr double largest_span_bytes = 0x1p47;               // what a process can address
constexpr int64_t scale_block = 128;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
/// Elements of a type in 16 bytes, TMA's unit.
int64_t unit_of(DType type) { return 16 / size_of(type); }

double span(const Layout& l) {
  return (static_cast<double>(l.batch - 1) * static_cast<double>(l.batch > 1 ? l.batch_stride : 0) +
          static_cast<double>(l.outer - 1) * static_cast<double>(l.stride) + static_cast<double>(l.inner)) *
         size_of(l.type);
}

Layout layout_of_operand(const char* name, const OperandRef& ref, int rows, const GemmProblem& p) {
  const bool k_major = ref.major == Major::k;
  return {name,
          k_major ? "rows" : "columns",
          ref.data,
          ref.type,
          k_major ? p.k : rows,
          k_major ? rows : p.k,
          ref.stride,
          p.batch,
          ref.batch_stride,
          16,
          unit_of(ref.type)};
}
template <class Pointer>
Layout layout_of_output(const char* name, const OutputRef<Pointer>& ref, const GemmProblem& p) {
  return {name, "rows", ref.data, ref.type, p.n, p.m, ref.stride, p.batch, ref.batch_stride, size_of(ref.type), 1};
}
Layout layout_of_row_scales(const char* name, const ScalesRef& ref, int rows, const GemmProblem& p) {
  return {name,       "rows",  ref.data,         DType::f32, rows, ceil_div(p.k, scale_block),
          ref.stride, p.batch, ref.batch_stride, 16,         4};
}

}  // namespace

int64_t least_stride(const Layout& l) { return round_up(std::max<int64_t>(l.inner, 1), l.unit); }

int64_t least_batch_stride(const Layout& l) { return round_up(l.outer * l.stride, l.unit); }

LayoutFault fault_of(const Layout& l) {
  if (l.data == nullptr) return {Fault::missing, fmt::format("{} is missing: its pointer is null", l.name)};
  if (reinterpret_cast<uintptr_t>(l.data) % l.alignment != 0)
    return {Fault::alignment, fmt::format("{} must start at a multiple of {} bytes", l.name, l.alignment)};
  if (l.stride < l.inner)
    return {Fault::short_stride, fmt::format("{} of {} are {} elements apart but {} long; {} works", l.lines, l.name,
                                             l.stride, l.inner, least_stride(l))};
  // Before the next: there is no multiple of anything behind the largest number.
  if (l.stride >= largest_stride_bytes / size_of(l.type))
    return {Fault::short_stride, fmt::format("{} of {} are {} elements apart; they must be less than 2^40 bytes apart",
                                             l.lines, l.name, l.stride)};
  if (l.stride % l.unit != 0)
    return {Fault::stride, fmt::format("{} of {} are {} elements apart; a multiple of {} (16 bytes) is needed, so pad "
                                       "them to {}",
                                       l.lines, l.name, l.stride, l.unit, round_up(l.stride, l.unit))};
  // Where a matrix alone is longer, no distance would do, and the product might be more than a number holds.
  const int64_t most = largest_stride_bytes / size_of(l.type);
  const bool within_reach = static_cast<double>(l.outer) * static_cast<double>(l.stride) < static_cast<double>(most);
  if (l.batch > 1 && (l.batch_stride < 0 || l.batch_stride % l.unit != 0 || l.batch_stride >= most))
    return {Fault::batch_stride,
            fmt::format("matrices of {} are {} elements apart; {} and less than 2^40 bytes is possible{}", l.name,
                        l.batch_stride,
                        l.unit > 1 ? fmt::format("a multiple of {} (16 bytes)", l.unit) : "any distance from 0",
                        within_reach ? fmt::format(", such as {}", least_batch_stride(l)) : "")};
  if (span(l) > largest_span_bytes)
    return {Fault::span, fmt::format("{} is {:.3g} bytes from end to end, more than 2^47, which a process can address",
                                     l.name, span(l))};
  return {};
}

Layout layout_of_a(const GemmProblem& p) { return layout_of_operand("A", p.a, p.m, p); }

Layout layout_of_b(const GemmProblem& p) { return layout_of_operand("B", p.b, p.n, p); }

Layout layout_of_d(const GemmProblem& p) { return layout_of_output("D", p.d, p); }

Layout layout_of_c(const GemmProblem& p) { return layout_of_output("C", p.c, p); }

Layout layout_of_bias(const GemmProblem& p) {
  const int64_t length = p.bias.along == BiasAlong::n ? p.n : p.m;
  return {"bias", "rows", p.bias.data, p.bias.type, length, 1, length, 1, 0, size_of(p.bias.type), 1};
}

Layout layout_of_a_scales(const GemmProblem& p) { return layout_of_row_scales("a_scales", p.a_scales, p.m, p); }

Layout layout_of_b_scales(const GemmProblem& p) {
  if (p.scaling == Scaling::a_rows_b_rows) return layout_of_row_scales("b_scales", p.b_scales, p.n, p);
  // In one line, whatever K: so TMA sees them.
  const int64_t all = ceil_div(p.k, scale_block) * ceil_div(p.n, scale_block);
  return {"b_scales",       "rows",  p.b_scales.data,         DType::f32, all, 1,
          round_up(all, 4), p.batch, p.b_scales.batch_stride, 16,         4};
}

StridedBytes bytes_of(const Layout& l) {
  const int64_t element = size_of(l.type);
  // A single row or matrix may say anything about its stride.
  return {.begin = reinterpret_cast<uintptr_t>(l.data),
          .width = l.inner * element,
          .outer = {l.outer, l.outer > 1 ? l.stride * element : 0},
          .batch = {l.batch, l.batch > 1 ? l.batch_stride * element : 0}};
}

}  // namespace warploom
