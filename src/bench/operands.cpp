#include "bench/operands.hpp"

#include <algorithm>

namespace warploom::bench {
namespace {

constexpr uint8_t untouched = 0xb7;
constexpr size_t guard = 1024;

size_t bytes_of(int64_t inner, int64_t outer, int64_t stride, int batch, int64_t batch_stride, DType type) {
  if (inner <= 0 || outer <= 0 || batch <= 0) return 0;
  return static_cast<size_t>((batch - 1) * batch_stride + (outer - 1) * stride + inner) * size_of(type);
}

int64_t blocks_of(int k) { return (k + 127) / 128; }

Matrix matrix_of(const OperandRef& ref) {
  return {const_cast<void*>(ref.data), ref.type, ref.stride, ref.batch_stride, ref.major == Major::k};
}

Buffer make_operand(OperandRef& ref, int rows, int k, int batch, Fill fill, uint64_t seed, ScaleBlocks blocks,
                    const Buffer& scales, int64_t scale_stride, cudaStream_t stream) {
  const bool k_major = ref.major == Major::k;
  // What lies between the rows is NaN in every type: nobody may add it up.
  Buffer memory(bytes_of(k_major ? k : rows, k_major ? rows : k, ref.stride, batch, ref.batch_stride, ref.type) + 16);
  check(cudaMemsetAsync(memory.data(), 0xff, memory.bytes(), stream), "cudaMemset");
  ref.data = memory.data();
  if (rows > 0 && k > 0 && batch > 0)
    fill_operand({matrix_of(ref), rows, k, batch, fill, seed, blocks, scales.as<float>(), scale_stride}, stream);
  return memory;
}

Buffer make_plain(DType type, int64_t rows, int64_t columns, int64_t stride, int batch, int64_t batch_stride, Fill fill,
                  uint64_t seed, cudaStream_t stream) {
  OperandRef ref{nullptr, type, stride, batch_stride, Major::k};
  return make_operand(ref, static_cast<int>(rows), static_cast<int>(columns), batch, fill, seed, ScaleBlocks::none, {},
                      0, stream);
}

}  // namespace

Operands::Operands(const GemmProblem& shape, Fill fill, uint64_t seed, cudaStream_t stream, bool c_is_d)
    : problem_(shape), fill_(fill), c_is_d_(c_is_d) {
  GemmProblem& p = problem_;
  const int64_t blocks = blocks_of(p.k);
  const bool scaled = p.scaling != Scaling::none;
  const bool b_rows = p.scaling == Scaling::a_rows_b_rows;
  if (scaled) {
    a_scales_ = Buffer(static_cast<size_t>(blocks * p.a_scales.stride + 4) * sizeof(float));
    const int64_t b_count = b_rows ? blocks * p.b_scales.stride : blocks_of(p.n) * blocks;
    b_scales_ = Buffer(static_cast<size_t>(b_count + 4) * sizeof(float));
    for (const Buffer* scales : {&a_scales_, &b_scales_})
      check(cudaMemsetAsync(scales->data(), 0xff, scales->bytes(), stream), "cudaMemset");
    p.a_scales.data = a_scales_.as<float>();
    p.b_scales.data = b_scales_.as<float>();
  }
  a_ = make_operand(p.a, p.m, p.k, p.batch, fill, seed * 8 + 1, scaled ? ScaleBlocks::rows : ScaleBlocks::none,
                    a_scales_, p.a_scales.stride, stream);
  b_ = make_operand(p.b, p.n, p.k, p.batch, fill, seed * 8 + 2,
                    !scaled  ? ScaleBlocks::none
                    : b_rows ? ScaleBlocks::rows
                             : ScaleBlocks::blocks,
                    b_scales_, b_rows ? p.b_scales.stride : blocks, stream);
  d_bytes_ = bytes_of(p.n, p.m, p.d.stride, p.batch, p.d.batch_stride, p.d.type);
  d_ = Buffer(d_bytes_ + guard);
  p.d.data = d_.data();
  if (p.beta != 0) {
    c_ = make_plain(p.c.type, p.m, p.n, p.c.stride, p.batch, p.c.batch_stride, fill, seed * 8 + 3, stream);
    p.c.data = c_is_d ? p.d.data : c_.data();
  }
  if (p.bias.along != BiasAlong::none) {
    const int64_t count = p.bias.along == BiasAlong::n ? p.n : p.m;
    bias_ = make_plain(p.bias.type, 1, count, count, 1, 0, fill, seed * 8 + 4, stream);
    p.bias.data = bias_.data();
  }
  scratch_ = Buffer(256);
}

size_t Operands::bytes() const {
  return a_.bytes() + b_.bytes() + d_.bytes() + (c_is_d_ ? 0 : c_.bytes()) + a_scales_.bytes() + b_scales_.bytes();
}

void Operands::reset_output(cudaStream_t stream) {
  check(cudaMemsetAsync(d_.data(), untouched, d_.bytes(), stream), "cudaMemset");
  const GemmProblem& p = problem_;
  if (!c_is_d_ || p.beta == 0 || p.m == 0 || p.n == 0) return;
  const size_t size = size_of(p.d.type);
  for (int batch = 0; batch < p.batch; ++batch)
    check(cudaMemcpy2DAsync(d_.as<uint8_t>() + batch * p.d.batch_stride * static_cast<int64_t>(size),
                            static_cast<size_t>(p.d.stride) * size,
                            c_.as<uint8_t>() + batch * p.c.batch_stride * static_cast<int64_t>(size),
                            static_cast<size_t>(p.c.stride) * size, static_cast<size_t>(p.n) * size,
                            static_cast<size_t>(p.m), cudaMemcpyDeviceToDevice, stream),
          "cudaMemcpy2D");
}

Comparison Operands::verify(cudaStream_t stream) const { return verify(problem_, stream); }

Comparison Operands::verify(const GemmProblem& p, cudaStream_t stream) const {
  ReferenceProblem reference;
  reference.m = p.m;
  reference.n = p.n;
  reference.k = p.k;
  reference.batch = p.batch;
  reference.a = matrix_of(p.a);
  reference.b = matrix_of(p.b);
  reference.c = {c_.data(), p.c.type, p.c.stride, p.c.batch_stride, true};  // C as it was, also where D overwrote it
  reference.d = {p.d.data, p.d.type, p.d.stride, p.d.batch_stride, true};
  reference.bias = p.bias.data;
  reference.bias_type = p.bias.type;
  reference.bias_along = p.bias.along;
  reference.alpha = p.alpha;
  reference.beta = p.beta;
  reference.activation = p.activation;
  reference.scaling = p.scaling;
  reference.a_scales = p.a_scales.data;
  reference.b_scales = p.b_scales.data;
  reference.a_scale_stride = p.a_scales.stride;
  reference.b_scale_stride = p.scaling == Scaling::a_rows_b_rows ? p.b_scales.stride : blocks_of(p.k);
  reference.exact = fill_ == Fill::integers && (p.activation == Activation::none || p.activation == Activation::relu);
  Comparison result;
  if (p.m == 0 || p.n == 0 || p.batch == 0) return result;
  compare(reference, scratch_.as<Comparison>(), stream);
  check(cudaMemcpyAsync(&result, scratch_.data(), sizeof(result), cudaMemcpyDeviceToHost, stream), "cudaMemcpy");
  check(cudaStreamSynchronize(stream), "the reference");
  return result;
}

unsigned long long Operands::changed_padding(cudaStream_t stream) const {
  const GemmProblem& p = problem_;
  const int64_t size = size_of(p.d.type);
  auto* count = reinterpret_cast<unsigned long long*>(scratch_.as<uint8_t>() + 128);
  check(cudaMemsetAsync(count, 0, sizeof(*count), stream), "cudaMemset");
  for (int batch = 0; batch < p.batch; ++batch) {
    const int64_t from = batch * p.d.batch_stride * size;
    // An empty D has no room for its batches.
    const int64_t left = static_cast<int64_t>(d_.bytes()) - from;
    const int64_t room = batch + 1 < p.batch ? std::min(p.d.batch_stride * size, left) : left;
    if (room > 0)
      count_changed_padding(d_.as<uint8_t>() + from, p.m, p.n * size, std::max<int64_t>(p.d.stride * size, 1), room,
                            untouched, count, stream);
  }
  unsigned long long changed = 0;
  check(cudaMemcpyAsync(&changed, count, sizeof(changed), cudaMemcpyDeviceToHost, stream), "cudaMemcpy");
  check(cudaStreamSynchronize(stream), "looking at D's padding");
  return changed;
}

uint64_t Operands::hash(cudaStream_t stream) const {
  const GemmProblem& p = problem_;
  const int64_t size = size_of(p.d.type);
  auto* sum = reinterpret_cast<unsigned long long*>(scratch_.as<uint8_t>() + 128);
  check(cudaMemsetAsync(sum, 0, sizeof(*sum), stream), "cudaMemset");
  for (int batch = 0; batch < p.batch; ++batch)
    add_hash(d_.as<uint8_t>() + batch * p.d.batch_stride * size, p.m, p.n * size, p.d.stride * size,
             static_cast<uint64_t>(batch) << 56, sum, stream);
  unsigned long long value = 0;
  check(cudaMemcpyAsync(&value, sum, sizeof(value), cudaMemcpyDeviceToHost, stream), "cudaMemcpy");
  check(cudaStreamSynchronize(stream), "a hash");
  return value;
}

uint64_t Operands::hash_row(int batch, int row, cudaStream_t stream) const {
  const GemmProblem& p = problem_;
  const int64_t size = size_of(p.d.type);
  auto* sum = reinterpret_cast<unsigned long long*>(scratch_.as<uint8_t>() + 128);
  check(cudaMemsetAsync(sum, 0, sizeof(*sum), stream), "cudaMemset");
  add_hash(d_.as<uint8_t>() + (batch * p.d.batch_stride + row * p.d.stride) * size, 1, p.n * size, p.n * size, 0, sum,
           stream);
  unsigned long long value = 0;
  check(cudaMemcpyAsync(&value, sum, sizeof(value), cudaMemcpyDeviceToHost, stream), "cudaMemcpy");
  check(cudaStreamSynchronize(stream), "a hash");
  return value;
}

}  // namespace warploom::bench
