#include "kernels/gemm_reference.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/gemm_values.hpp"

namespace warploom {
namespace {

constexpr int64_t block = 128;  // of scales

}  // namespace

GemmData::Reference::Reference(const GemmData& data, const HowItRan& how)
    : data_(data),
      ring_(data.made_up_ && data.spec_.fill == Fill::ring),
      bound_(data.spec_, how, data.made_up_ && data.spec_.fill == Fill::integer) {}

double GemmData::Reference::decode(uint64_t which, int64_t matrix, int64_t line, double* values) const {
  const GemmDataSpec& spec = data_.spec_;
  const bool of_a = which == stream_a;
  const Tensor& tensor = of_a ? data_.a_ : data_.b_;
  if ((of_a ? spec.a_major : spec.b_major) == Major::k)
    decode_values(tensor.type, tensor.at(matrix, line), 1, spec.k, values);
  else
    decode_values(tensor.type, tensor.at(matrix, 0) + line * size_of(tensor.type), tensor.stride, spec.k, values);
  if (spec.scaling == Scaling::none) return 1;
  const Scales& scales = of_a ? data_.a_scales_ : data_.b_scales_;
  const bool by_lines = of_a || spec.scaling == Scaling::a_rows_b_rows;
  double largest = 0;
  for (int64_t q = 0; q < spec.k; ++q) {
    const double scale =
        scales.of(matrix)[by_lines ? q / block * scales.stride + line : line / block * scales.stride + q / block];
    values[q] *= scale;
    largest = std::isfinite(scale) ? std::max(largest, std::fabs(scale)) : INFINITY;
  }
  return largest;
}

void GemmData::Reference::pack(PackedLines& to, int64_t at, uint64_t which, int64_t matrix, int64_t line,
                               bool unquantised) const {
  const GemmDataSpec& spec = data_.spec_;
  std::vector<double> values(static_cast<size_t>(spec.k));
  double scale = 1;
  if (unquantised) {
    std::vector<float> made(values.size());
    const int64_t before = which == stream_b ? matrix * spec.n : spec.shared_a ? 0 : matrix * spec.m;
    data_.unquantised_row(which, before + line, made.data());
    std::copy(made.begin(), made.end(), values.begin());
  } else {
    scale = decode(which, matrix, line, values.data());
  }
  to.set(at, values.data(), scale);
}

BoundedElement GemmData::Reference::element(const BoundedSum& sum, int64_t matrix, int64_t row, int64_t column) const {
  const GemmDataSpec& spec = data_.spec_;
  double source = 0, bias = 0;
  if (spec.beta != 0.0f)
    source = decode_value(data_.c_.type, data_.c_.at(matrix, row) + column * size_of(data_.c_.type));
  if (spec.bias != BiasAlong::none)
    bias = decode_value(data_.bias_.type, data_.bias_.bytes.data() +
                                              (spec.bias == BiasAlong::n ? column : row) * size_of(data_.bias_.type));
  return bound_.element(sum, source, bias);
}

BoundedSum GemmData::Reference::sum(int64_t matrix, int64_t row, int64_t column) const {
  PackedLines a(1, data_.spec_.k, bound_.step()), b(1, data_.spec_.k, bound_.step());
  pack(a, 0, stream_a, matrix, row, false);
  pack(b, 0, stream_b, matrix, column, false);
  const ReferencePanel panel(a, 0, 1, b);
  return bound_.sum(panel.sum(0, 0), panel.peak(0, 0), a.norms(0), b.norms(0));
}

std::vector<double> GemmData::Reference::parts(int64_t matrix, int64_t row, int64_t column, int64_t k_block) const {
  const int64_t k = data_.spec_.k;
  std::vector<double> a(static_cast<size_t>(k)), b(a.size()), parts(static_cast<size_t>((k + k_block - 1) / k_block));
  decode(stream_a, matrix, row, a.data());
  decode(stream_b, matrix, column, b.data());
  for (size_t q = 0; q < a.size(); ++q) parts[q / static_cast<size_t>(k_block)] += a[q] * b[q];
  return parts;
}

bool GemmData::Reference::right(const BoundedElement& element, uint32_t bits) const {
  if (!ring_) return bound_.right(element, bits);
  return data_.ring_.modulus != 0 && same_in_ring(decode_bits(data_.d_.type, bits), element.want, data_.ring_.modulus);
}

uint32_t GemmData::Reference::bits_of_d(int64_t matrix, int64_t row, int64_t column) const {
  return load_bits(data_.d_.type, data_.d_.at(matrix, row) + column * size_of(data_.d_.type));
}

bool GemmData::Reference::holds_source(int64_t matrix, int64_t row, int64_t column) const {
  return data_.spec_.beta != 0.0f && data_.c_.type == data_.d_.type &&
         bits_of_d(matrix, row, column) ==
             load_bits(data_.c_.type, data_.c_.at(matrix, row) + column * size_of(data_.c_.type));
}

}  // namespace warploom
