#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "bench/device.hpp"
#include "bench/device_kernels.hpp"

namespace warploom::bench {
namespace {

constexpr int warp = 32;

__device__ uint64_t mixed(uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ull;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

/// The value of an element before it is rounded or quantised: a function of its place alone.
__device__ float value_at(Fill fill, uint64_t seed, int batch, int64_t row, int64_t column, float limit) {
  const uint64_t place = static_cast<uint64_t>(row) * 0x100000001b3ull + static_cast<uint64_t>(column);
  const uint64_t bits = mixed(mixed(seed * 0x9e3779b97f4a7c15ull + static_cast<uint64_t>(batch)) + place);
  if (fill == Fill::integers) {
    const int range = static_cast<int>(limit);
    return static_cast<float>(static_cast<int>(bits % static_cast<uint64_t>(2 * range + 1)) - range);
  }
  // Box-Muller; the first uniform is never 0.
  const float u = static_cast<float>((bits >> 40) + 1) * 0x1p-24f;
  const float v = static_cast<float>(bits & 0xffffff) * 0x1p-24f;
  return sqrtf(-2.0f * logf(u)) * cospif(2.0f * v);
}

__device__ void put(void* data, DType type, int64_t index, float value) {
  switch (type) {
    case DType::e4m3: static_cast<__nv_fp8_e4m3*>(data)[index] = __nv_fp8_e4m3(value); break;
    case DType::e5m2: static_cast<__nv_fp8_e5m2*>(data)[index] = __nv_fp8_e5m2(value); break;
    case DType::bf16: static_cast<__nv_bfloat16*>(data)[index] = __float2bfloat16_rn(value); break;
    case DType::f16: static_cast<__half*>(data)[index] = __float2half_rn(value); break;
    case DType::f32: static_cast<float*>(data)[index] = value; break;
  }
}

__device__ float get(const void* data, DType type, int64_t index) {
  switch (type) {
    case DType::e4m3: return static_cast<float>(static_cast<const __nv_fp8_e4m3*>(data)[index]);
    case DType::e5m2: return static_cast<float>(static_cast<const __nv_fp8_e5m2*>(data)[index]);
    case DType::bf16: return __bfloat162float(static_cast<const __nv_bfloat16*>(data)[index]);
    case DType::f16: return __half2float(static_cast<const __half*>(data)[index]);
    case DType::f32: return static_cast<const float*>(data)[index];
  }
  return 0;
}

__device__ int64_t index_of(const Matrix& matrix, int batch, int64_t row, int64_t k) {
  return batch * matrix.batch_stride + (matrix.k_major ? row * matrix.stride + k : k * matrix.stride + row);
}

__device__ float largest(DType type) { return type == DType::e5m2 ? 57344.0f : 448.0f; }
/// Of the integers: sums of K of their products stay exact where the tensor core keeps 13 bits (FP8) or 23.
__device__ float integer_limit(DType type) { return size_of(type) == 1 ? 1.0f : 3.0f; }

/// One block of threads per 128 columns of one row (rows) or of 128 rows (blocks, and none).
__global__ void fill_kernel(OperandFill operand) {
  const int batch = static_cast<int>(blockIdx.z);
  const int64_t first_k = static_cast<int64_t>(blockIdx.x) * 128;
  const int height = operand.blocks == ScaleBlocks::rows ? 1 : 128;
  const int64_t first_row = static_cast<int64_t>(blockIdx.y) * height;
  const float limit = integer_limit(operand.matrix.type);
  const bool k_major = operand.matrix.k_major;
  float scale = 1.0f;

  if (operand.blocks != ScaleBlocks::none) {
    __shared__ float maxima[warp];
    __shared__ float shared_scale;
    float top = 0;
    for (int i = static_cast<int>(threadIdx.x); i < height * 128; i += static_cast<int>(blockDim.x)) {
      const int64_t row = first_row + i / 128, k = first_k + i % 128;
      if (row < operand.rows && k < operand.k)
        top = fmaxf(top, fabsf(value_at(operand.fill, operand.seed, batch, row, k, limit)));
    }
    for (int step = warp / 2; step > 0; step /= 2) top = fmaxf(top, __shfl_xor_sync(~0u, top, step));
    if (threadIdx.x % warp == 0) maxima[threadIdx.x / warp] = top;
    __syncthreads();
    if (threadIdx.x == 0) {
      for (unsigned i = 0; i < blockDim.x / warp; ++i) top = fmaxf(top, maxima[i]);
      if (operand.fill == Fill::integers)  // powers of two: exact
        shared_scale = ldexpf(1.0f, static_cast<int>(mixed(operand.seed + blockIdx.x * 77773 + blockIdx.y) % 3) - 1);
      else
        shared_scale = top > 0 ? top / largest(operand.matrix.type) : 1.0f;
      const int64_t at = operand.blocks == ScaleBlocks::rows
                             ? static_cast<int64_t>(blockIdx.x) * operand.scale_stride + first_row
                             : static_cast<int64_t>(blockIdx.y) * operand.scale_stride + blockIdx.x;
      operand.scales[at] = shared_scale;
    }
    __syncthreads();
    scale = operand.fill == Fill::integers ? 1.0f : 1.0f / shared_scale;
  }
  for (int i = static_cast<int>(threadIdx.x); i < height * 128; i += static_cast<int>(blockDim.x)) {
    const int64_t row = first_row + (k_major ? i / 128 : i % height);
    const int64_t k = first_k + (k_major ? i % 128 : i / height);
    if (row < operand.rows && k < operand.k)
      put(operand.matrix.data, operand.matrix.type, index_of(operand.matrix, batch, row, k),
          scale * value_at(operand.fill, operand.seed, batch, row, k, limit));
  }
}

__device__ double activate(Activation activation, double x) {
  if (activation != Activation::none && isinf(x) && x < 0) return 0;  // the limit; the formulas have 0 times it
  switch (activation) {
    case Activation::none: return x;
    case Activation::relu: return x > 0 ? x : 0.0;
    case Activation::gelu: return 0.5 * x * (1.0 + erf(x * 0.70710678118654752440));
    case Activation::gelu_tanh: return 0.5 * x * (1.0 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
    case Activation::silu: return x / (1.0 + exp(-x));
  }
  return x;
}

/// Half the distance to the next value of the type.
__device__ double half_ulp(DType type, double value) {
  int mantissa = 23, smallest = -126;  // exponent of the smallest normal number
  switch (type) {
    case DType::e4m3: mantissa = 3, smallest = -6; break;
    case DType::e5m2: mantissa = 2, smallest = -14; break;
    case DType::bf16: mantissa = 7, smallest = -126; break;
    case DType::f16: mantissa = 10, smallest = -14; break;
    case DType::f32: break;
  }
  int exponent = smallest;
  if (value != 0) exponent = max(smallest, ilogb(value));
  return ldexp(0.5, exponent - mantissa);
}

/// Rounded as D is, and read back.
__device__ double rounded(DType type, double value) {
  const float once = static_cast<float>(value);
  switch (type) {
    case DType::e4m3: return static_cast<float>(__nv_fp8_e4m3(once));
    case DType::e5m2: return static_cast<float>(__nv_fp8_e5m2(once));
    case DType::bf16: return __bfloat162float(__float2bfloat16_rn(once));
    case DType::f16: return __half2float(__float2half_rn(once));
    case DType::f32: return once;
  }
  return once;
}

/// One warp per element of D.
__global__ void compare_kernel(ReferenceProblem p, Comparison* result) {
  const int64_t element = (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / warp;
  if (element >= static_cast<int64_t>(p.m) * p.n * p.batch) return;
  const int lane = static_cast<int>(threadIdx.x % warp);
  const int column = static_cast<int>(element % p.n);
  const int row = static_cast<int>(element / p.n % p.m);
  const int batch = static_cast<int>(element / p.n / p.m);

  double sum = 0, squares = 0;
  for (int k = lane; k < p.k; k += warp) {
    double product = static_cast<double>(get(p.a.data, p.a.type, index_of(p.a, batch, row, k))) *
                     static_cast<double>(get(p.b.data, p.b.type, index_of(p.b, batch, column, k)));
    if (p.scaling != Scaling::none) {
      product *= p.a_scales[k / 128 * p.a_scale_stride + row];
      product *= p.scaling == Scaling::a_rows_b_rows ? p.b_scales[k / 128 * p.b_scale_stride + column]
                                                     : p.b_scales[column / 128 * p.b_scale_stride + k / 128];
    }
    sum += product;
    squares += product * product;
  }
  for (int step = warp / 2; step > 0; step /= 2) {
    sum += __shfl_xor_sync(~0u, sum, step);
    squares += __shfl_xor_sync(~0u, squares, step);
  }
  if (lane != 0) return;

  double want = static_cast<double>(p.alpha) * sum;
  double magnitude = fabs(want);
  if (p.beta != 0) {
    const double c = get(p.c.data, p.c.type, batch * p.c.batch_stride + row * p.c.stride + column);
    want += static_cast<double>(p.beta) * c;
    magnitude += fabs(static_cast<double>(p.beta) * c);
  }
  if (p.bias_along != BiasAlong::none) {
    const double bias = get(p.bias, p.bias_type, p.bias_along == BiasAlong::n ? column : row);
    want += bias;
    magnitude += fabs(bias);
  }
  // What fp32 sums may lose: a tensor core truncates after every step of 16 (32) elements; FP8 keeps only 13 bits, and
  // where there are scales is promoted to fp32 every 128 elements.
  const bool fp8 = size_of(p.a.type) == 1;
  const double steps = fp8 ? (p.scaling != Scaling::none ? 4 + p.k / 4096.0 : 1 + p.k / 32.0) : 1 + p.k / 16.0;
  const double unit = fp8 ? 0x1p-13 : 0x1p-23;
  double allowed = 4 * fabs(static_cast<double>(p.alpha)) * sqrt(squares) * unit * steps + magnitude * 0x1p-21;
  allowed *= 1.2;  // the steepest of the activations
  want = activate(p.activation, want);
  if (p.activation != Activation::none && p.activation != Activation::relu) allowed += fabs(want) * 1e-5 + 1e-6;

  const double got = get(p.d.data, p.d.type, batch * p.d.batch_stride + row * p.d.stride + column);
  const double target = rounded(p.d.type, want);
  double error = 0;
  if (got == target || (isnan(got) && isnan(target)))
    error = 0;
  else if (p.exact)
    error = 2;
  else if (isnan(got) || isinf(got) || isinf(target))
    error = 1e30;
  else
    // Where D saturates the target is what the limit is, and not the sum beyond it.
    error = fabs(got - (p.d.type == DType::e4m3 && fabs(want) > 448 ? target : want)) /
            (allowed + 1.001 * half_ulp(p.d.type, fmax(fabs(target), fabs(got))));
  if (error == 0) return;
  // Errors are positive: their bits are ordered as they are.
  atomicMax(reinterpret_cast<unsigned long long*>(&result->worst),
            static_cast<unsigned long long>(__double_as_longlong(error)));
  if (error <= 1) return;
  if (atomicAdd(&result->wrong, 1ull) == 0) {
    result->row = row;
    result->column = column;
    result->batch = batch;
    result->got = got;
    result->wanted = target;
  }
}

__device__ float activate_fast(Activation activation, float x) {
  switch (activation) {
    case Activation::relu: return fmaxf(x, 0.0f);
    case Activation::silu: return x / (1.0f + __expf(-x));
    case Activation::gelu: return 0.5f * x * (1.0f + erff(x * 0.70710678f));
    case Activation::gelu_tanh: return 0.5f * x * (1.0f + tanhf(0.79788456f * (x + 0.044715f * x * x * x)));
    default: return x;
  }
}

__global__ void elementwise_kernel(ElementwisePass p) {
  const int64_t units = p.m * p.n / 8;
  for (int64_t unit = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; unit < units;
       unit += static_cast<int64_t>(gridDim.x) * blockDim.x) {
    uint4 d = static_cast<const uint4*>(p.d)[unit];
    uint4 c{};
    if (p.beta != 0) c = static_cast<const uint4*>(p.c)[unit];
    auto* dv = reinterpret_cast<__nv_bfloat16*>(&d);
    const auto* cv = reinterpret_cast<const __nv_bfloat16*>(&c);
    const int64_t column = unit * 8 % p.n;
    for (int i = 0; i < 8; ++i) {
      float x = __bfloat162float(dv[i]) + p.beta * __bfloat162float(cv[i]);
      if (p.bias != nullptr) x += __bfloat162float(static_cast<const __nv_bfloat16*>(p.bias)[column + i]);
      dv[i] = __float2bfloat16_rn(activate_fast(p.activation, x));
    }
    static_cast<uint4*>(p.d)[unit] = d;
  }
}

__global__ void hash_kernel(const uint8_t* data, int64_t rows, int64_t bytes, int64_t stride, uint64_t seed,
                            unsigned long long* hash) {
  unsigned long long sum = 0;
  const int64_t count = rows * bytes;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += static_cast<int64_t>(gridDim.x) * blockDim.x) {
    const int64_t row = i / bytes, byte = i % bytes;
    sum += mixed(seed + static_cast<uint64_t>(i) * 256 + data[row * stride + byte]);
  }
  for (int step = warp / 2; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
  if (threadIdx.x % warp == 0) atomicAdd(hash, sum);
}

__global__ void padding_kernel(const uint8_t* data, int64_t rows, int64_t bytes, int64_t stride, int64_t room,
                               uint8_t value, unsigned long long* count) {
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < room;
       i += static_cast<int64_t>(gridDim.x) * blockDim.x) {
    const bool inside = i / stride < rows && i % stride < bytes;
    if (!inside && data[i] != value) atomicAdd(count, 1ull);
  }
}

unsigned blocks_for(int64_t items, int64_t per_block) {
  const int64_t blocks = (items + per_block - 1) / per_block;
  return static_cast<unsigned>(blocks < 1 ? 1 : blocks > 4096 ? 4096 : blocks);
}

/// Gives up after a second or so, and says so: a gate that nobody opens is an error, not a hang.
__global__ void gate_kernel(volatile unsigned* said, unsigned wanted) {
  for (int i = 0; i < 1000000; ++i) {
    if (static_cast<int>(said[0] - wanted) >= 0) return;
    __nanosleep(1000);
  }
  said[1] = 1;
}

}  // namespace

void fill_operand(const OperandFill& operand, cudaStream_t stream) {
  const unsigned k_blocks = static_cast<unsigned>((operand.k + 127) / 128);
  // A grid is at most 65535 high: the rows of `rows` come in slices.
  const int height = operand.blocks == ScaleBlocks::rows ? 1 : 128;
  const int slices = (operand.rows + height - 1) / height;
  fill_kernel<<<dim3(k_blocks, static_cast<unsigned>(slices), static_cast<unsigned>(operand.batch)),
                height == 1 ? 128 : 512, 0, stream>>>(operand);
}

void compare(const ReferenceProblem& problem, Comparison* result, cudaStream_t stream) {
  const Comparison none{};
  cudaMemcpyAsync(result, &none, sizeof(none), cudaMemcpyHostToDevice, stream);
  const int64_t elements = static_cast<int64_t>(problem.m) * problem.n * problem.batch;
  compare_kernel<<<static_cast<unsigned>((elements * warp + 255) / 256), 256, 0, stream>>>(problem, result);
}

void elementwise_pass(const ElementwisePass& pass, cudaStream_t stream) {
  elementwise_kernel<<<blocks_for(pass.m * pass.n / 8, 256), 256, 0, stream>>>(pass);
}

void add_hash(const void* data, int64_t rows, int64_t bytes, int64_t stride, uint64_t seed, unsigned long long* hash,
              cudaStream_t stream) {
  hash_kernel<<<blocks_for(rows * bytes, 4096), 256, 0, stream>>>(static_cast<const uint8_t*>(data), rows, bytes,
                                                                  stride, seed, hash);
}

void count_changed_padding(const void* data, int64_t rows, int64_t bytes, int64_t stride, int64_t room, uint8_t value,
                           unsigned long long* count, cudaStream_t stream) {
  padding_kernel<<<blocks_for(room, 4096), 256, 0, stream>>>(static_cast<const uint8_t*>(data), rows, bytes, stride,
                                                             room, value, count);
}

Gate::Gate() {
  void* memory = nullptr;
  check(cudaHostAlloc(&memory, 2 * sizeof(unsigned), cudaHostAllocDefault), "cudaHostAlloc");
  said_ = static_cast<volatile unsigned*>(memory);
  said_[0] = 0;
  said_[1] = 0;
}
Gate::~Gate() { cudaFreeHost(const_cast<unsigned*>(said_)); }
void Gate::close(cudaStream_t stream) {
  gate_kernel<<<1, 1, 0, stream>>>(said_, ++closed_);
  check(cudaGetLastError(), "a launch");
}
void Gate::open() { said_[0] = said_[0] + 1; }
bool Gate::held() const { return said_[1] == 0; }

}  // namespace warploom::bench
