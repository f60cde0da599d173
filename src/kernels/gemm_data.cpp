#include "warploom/kernels/gemm_data.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "kernels/gemm_values.hpp"
#include "warploom/types/convert.hpp"

namespace warploom {
namespace {

constexpr int64_t block = 128;
constexpr float largest_e4m3 = 448.0f;

int64_t round_up(int64_t value, int64_t to) { return (value + to - 1) / to * to; }
int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// As to_e4m3, without a call to frexp: there are a great many elements.
uint8_t quantise(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits >> 31 << 7, magnitude = bits & 0x7fffffff;
  if (magnitude < 0x3c800000)  // below 2^-6: subnormal, in units of 2^-9
    return static_cast<uint8_t>(sign | static_cast<uint32_t>(std::lrint(std::fabs(value) * 512.0f)));
  const uint32_t rounded = magnitude + 0x7ffff + (magnitude >> 20 & 1);
  return static_cast<uint8_t>(sign | std::min<uint32_t>((rounded >> 20) - (120u << 3), 0x7e));
}

}  // namespace

std::byte* GemmData::Tensor::at(int64_t matrix, int64_t line) {
  return bytes.data() + (offset + matrix * batch_stride + line * stride) * size_of(type);
}
const std::byte* GemmData::Tensor::at(int64_t matrix, int64_t line) const {
  return bytes.data() + (offset + matrix * batch_stride + line * stride) * size_of(type);
}
int64_t GemmData::Tensor::last() const {
  if (inner == 0 || outer == 0 || batch == 0) return offset;
  return offset + (batch - 1) * batch_stride + (outer - 1) * stride + inner;
}

GemmData::Tensor GemmData::make(DType type, int64_t inner, int64_t outer, int64_t batch, int64_t unit, int64_t padding,
                                int64_t offset) {
  Tensor tensor;
  tensor.type = type;
  tensor.inner = inner;
  tensor.outer = outer;
  tensor.batch = batch;
  tensor.stride = round_up(std::max<int64_t>(inner, 1), unit) + padding;
  tensor.batch_stride = round_up(tensor.stride * std::max<int64_t>(outer, 1), unit) + padding;
  tensor.offset = offset;
  // A few elements behind the last, to see that they stay as they are; an empty tensor has an address, too.
  const int64_t elements = offset + tensor.batch_stride * batch + 16;
  tensor.bytes = AlignedBytes(static_cast<size_t>(elements) * size_of(type));
  fill_with(type, nan_bits(type), tensor.bytes.data(), static_cast<int64_t>(tensor.bytes.size() / size_of(type)));
  return tensor;
}

void GemmData::fill_operand(Tensor& tensor, uint64_t which, const void* source) {
  const auto line_bytes = static_cast<size_t>(tensor.inner) * size_of(tensor.type);
  const bool addend = which != stream_a && which != stream_b;
  const std::vector<float>& values = this->values(addend);
  std::vector<uint32_t> codes(source == nullptr ? values.size() : 0);
  for (size_t i = 0; i < codes.size(); ++i) codes[i] = encode_value(tensor.type, values[i]);
  const int64_t lines = tensor.batch * tensor.outer;
  in_parallel(lines, lines * tensor.inner, [&](int64_t line) {
    std::byte* to = tensor.at(line / tensor.outer, line % tensor.outer);
    if (source != nullptr) {
      std::copy_n(static_cast<const std::byte*>(source) + static_cast<size_t>(line) * line_bytes, line_bytes, to);
      return;
    }
    RowRandom(spec_.seed, which, static_cast<uint64_t>(line)).indices(tensor.inner, [&](int64_t i, uint16_t index) {
      store_bits(tensor.type, to + i * size_of(tensor.type), codes[index]);
    });
  });
}

const std::vector<float>& GemmData::values(bool addend) const {
  if (spec_.fill == Fill::ring) return addend ? ring_addends_ : ring_operands_;
  return value_table(spec_.fill, addend ? Values::addend : Values::operand);
}

/// `line`: the row, counted through all matrices.
void GemmData::unquantised_row(uint64_t which, int64_t line, float* values) const {
  const std::vector<float>& table = this->values(false);
  RowRandom(spec_.seed, which, static_cast<uint64_t>(line)).indices(spec_.k, [&](int64_t i, uint16_t index) {
    values[i] = table[index];
  });
}

/// Quantises made-up rows with one scale per K block and `block_rows` rows. Scales of single rows are [K block][row],
/// those of blocks [block of rows][K block].
void GemmData::fill_scaled(Tensor& tensor, Scales& scales, int64_t block_rows, uint64_t which) {
  const int64_t k = spec_.k, groups = ceil_div(tensor.outer, block_rows);
  in_parallel(tensor.batch * groups, tensor.batch * tensor.outer * k, [&](int64_t index) {
    const int64_t matrix = index / groups, group = index % groups;
    const int64_t first = group * block_rows, rows = std::min(block_rows, tensor.outer - first);
    std::vector<float> values(static_cast<size_t>(rows * k));
    for (int64_t r = 0; r < rows; ++r) unquantised_row(which, matrix * tensor.outer + first + r, values.data() + r * k);
    RowRandom random(spec_.seed, which == stream_a ? stream_a_scales : stream_b_scales, static_cast<uint64_t>(index));
    for (int64_t kb = 0; kb < k_blocks_; ++kb) {
      const int64_t begin = kb * block, end = std::min(k, begin + block);
      float scale = 1.0f;
      if (spec_.fill == Fill::integer) {
        scale = static_cast<float>(1u << random.next() % 3);
      } else if (spec_.fill != Fill::ring) {
        float amax = 0;
        for (int64_t r = 0; r < rows; ++r)
          for (int64_t q = begin; q < end; ++q)
            amax = std::max(amax, std::fabs(values[static_cast<size_t>(r * k + q)]));
        if (amax > 0) scale = amax / largest_e4m3;
      }
      const bool by_blocks = block_rows > 1;
      scales.of(matrix)[by_blocks ? group * scales.stride + kb : kb * scales.stride + first] = scale;
      // Integers are stored as they are; what they stand for is larger.
      const float inverse = spec_.fill == Fill::integer ? 1.0f : 1.0f / scale;
      for (int64_t r = 0; r < rows; ++r) {
        std::byte* to = tensor.at(matrix, first + r);
        for (int64_t q = begin; q < end; ++q)
          to[q] = static_cast<std::byte>(quantise(values[static_cast<size_t>(r * k + q)] * inverse));
      }
    }
  });
}

GemmData::Scales GemmData::make_scales(int64_t stride, int64_t lines, int64_t matrices, int64_t padding) {
  Scales scales;
  scales.stride = stride;
  scales.batch_stride = round_up(stride * lines, 4) + 4 * padding;
  scales.bytes = AlignedBytes(static_cast<size_t>(scales.batch_stride * matrices + 4) * sizeof(float));
  fill_with(DType::f32, nan_bits(DType::f32), scales.bytes.data(),
            static_cast<int64_t>(scales.bytes.size() / sizeof(float)));
  return scales;
}

GemmData::GemmData(const GemmDataSpec& spec, const GemmSources& sources) : spec_(spec) {
  const int64_t m = spec.m, n = spec.n, k = spec.k, batch = spec.batch;
  k_blocks_ = ceil_div(k, block);
  if (spec.fill == Fill::ring) {
    // Sums that the kernel adds up itself: of K blocks where it promotes them, of CTAs that share a tile; C and bias.
    // Kernels share out blocks of 128 bytes of K.
    const int64_t shared_blocks = ceil_div(k * size_of(spec.a), 128);
    const int64_t shares = std::min<int64_t>(most_ring_splits, std::max<int64_t>(shared_blocks, 1));
    const int64_t sums = size_of(spec.a) == 1 ? std::max(k_blocks_, shares) : shares;
    ring_ = ring_for(spec.d, spec.a, spec.b, k, sums + (spec.beta != 0.0f) + (spec.bias != BiasAlong::none));
    ring_operands_ = counting_table(ring_.largest);
    ring_addends_ = counting_table(ring_.modulus == 0 ? 0 : ring_.modulus - 1);
  }
  made_up_ = sources.a == nullptr && sources.b == nullptr;
  auto operand = [&](DType type, Major major, int64_t rows, int64_t matrices) {
    const int64_t unit = 16 / size_of(type);
    return major == Major::k ? make(type, k, rows, matrices, unit, spec.padding * unit, 0)
                             : make(type, rows, k, matrices, unit, spec.padding * unit, 0);
  };
  auto output = [&](DType type) {
    const int64_t unit = spec.odd_output ? 1 : 16 / size_of(type);
    return make(type, n, m, batch, unit, spec.odd_output ? 1 : spec.padding * unit, spec.odd_output ? 1 : 0);
  };
  a_ = operand(spec.a, spec.a_major, m, spec.shared_a ? 1 : batch);
  b_ = operand(spec.b, spec.b_major, n, batch);
  if (spec.shared_a) a_.batch_stride = 0;
  c_ = output(spec.d == DType::e4m3 ? DType::bf16 : spec.d);
  d_ = output(spec.d);
  const int64_t bias_length = spec.bias == BiasAlong::n ? n : spec.bias == BiasAlong::m ? m : 0;
  bias_ = make(spec.bias_type, bias_length, 1, 1, 1, 0, 0);

  if (spec.scaling != Scaling::none) {
    const bool by_rows = spec.scaling == Scaling::a_rows_b_rows;
    const auto padded = [&](int64_t rows) { return round_up(std::max<int64_t>(rows, 1), 4) + 4 * spec.padding; };
    const int64_t b_lines = by_rows ? k_blocks_ : ceil_div(n, block);
    a_scales_ = make_scales(padded(m), k_blocks_, a_.batch, spec.padding);
    b_scales_ = make_scales(by_rows ? padded(n) : k_blocks_, b_lines, batch, spec.padding);
    if (spec.shared_a) a_scales_.batch_stride = 0;
    if (made_up_) {
      fill_scaled(a_, a_scales_, 1, stream_a);
      fill_scaled(b_, b_scales_, by_rows ? 1 : block, stream_b);
    } else {
      auto copy = [&](Scales& to, const float* from, int64_t from_stride, int64_t length, int64_t lines) {
        for (int64_t line = 0; line < batch * lines; ++line)
          std::copy_n(from + line * from_stride, length, to.of(line / lines) + line % lines * to.stride);
      };
      copy(a_scales_, sources.a_scales, sources.a_scales_stride, m, k_blocks_);
      copy(b_scales_, sources.b_scales, sources.b_scales_stride, by_rows ? n : k_blocks_, b_lines);
    }
  }
  if (spec.scaling == Scaling::none || !made_up_) {
    fill_operand(a_, stream_a, sources.a);
    fill_operand(b_, stream_b, sources.b);
  }
  if (spec.beta != 0.0f) fill_operand(c_, stream_c, sources.c);
  if (spec.bias != BiasAlong::none) fill_operand(bias_, stream_bias, sources.bias);
}

GemmProblem GemmData::problem() {
  if (spec_.in_place && spec_.beta != 0.0f)
    std::copy_n(c_.bytes.data(), d_.bytes.size(), d_.bytes.data());
  else
    fill_with(d_.type, unwritten_bits(d_.type), d_.bytes.data(),
              static_cast<int64_t>(d_.bytes.size() / size_of(d_.type)));
  GemmProblem p;
  p.m = spec_.m;
  p.n = spec_.n;
  p.k = spec_.k;
  p.batch = spec_.batch;
  p.a = {a_.bytes.data(), a_.type, a_.stride, a_.batch_stride, spec_.a_major};
  p.b = {b_.bytes.data(), b_.type, b_.stride, b_.batch_stride, spec_.b_major};
  p.d = {d_.at(0, 0), d_.type, d_.stride, d_.batch_stride};
  if (spec_.beta != 0.0f) {
    p.c = {c_.at(0, 0), c_.type, c_.stride, c_.batch_stride};
    if (spec_.in_place) p.c.data = p.d.data;
  }
  if (spec_.bias != BiasAlong::none) p.bias = {bias_.bytes.data(), bias_.type, spec_.bias};
  p.alpha = spec_.alpha;
  p.beta = spec_.beta;
  p.activation = spec_.activation;
  p.scaling = spec_.scaling;
  if (spec_.scaling != Scaling::none) {
    p.a_scales = {a_scales_.of(0), a_scales_.stride, a_scales_.batch_stride};
    p.b_scales = {b_scales_.of(0), spec_.scaling == Scaling::a_rows_b_rows ? b_scales_.stride : 0,
                  b_scales_.batch_stride};
  }
  return p;
}

std::vector<std::byte> GemmData::dense_d() const {
  const auto row = static_cast<size_t>(spec_.n) * size_of(d_.type);
  std::vector<std::byte> dense(row * static_cast<size_t>(spec_.m) * static_cast<size_t>(spec_.batch));
  for (int64_t line = 0; line < int64_t{spec_.batch} * spec_.m; ++line)
    std::copy_n(d_.at(line / spec_.m, line % spec_.m), row, dense.data() + static_cast<size_t>(line) * row);
  return dense;
}

}  // namespace warploom
