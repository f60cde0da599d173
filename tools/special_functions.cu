// Records what a GPU's approximate functions return, for tools/special_functions_fit.py: ex2, rcp, lg2, sqrt, rsqrt,
// sin, cos, tanh, the 16-bit forms, the coarse double forms and division.
//
//   nvcc -arch=sm_90 tools/special_functions.cu -o record && mkdir words && ./record words
//   tools/recorded_words.py pack words packed        # 2 GB become some 30 MB
//
// Files of the folder, little-endian, without headers:
//   FUNCTION.EXPONENT.words   the results of the 2^23 floats with that exponent, one u32 each
//   FUNCTION.samples          u32: argument and result; 64 arguments for each sign and exponent
//   FUNCTION.sums             of all 2^32 arguments, 2^15 a block: two u32, see sum_block
//   FUNCTION.table            16-bit forms: the results of all 65536 arguments, u16
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace {

__device__ uint32_t bits(float x) { return __float_as_uint(x); }
__device__ float value(uint32_t x) { return __uint_as_float(x); }

/// A function of one f32, as the bits of argument and result.
#define UNARY(NAME, INSTRUCTION)                                  \
  struct NAME {                                                   \
    static constexpr const char* name = INSTRUCTION;              \
    static __device__ uint32_t at(uint32_t x) {                   \
      float result;                                               \
      asm(INSTRUCTION " %0, %1;" : "=f"(result) : "f"(value(x))); \
      return bits(result);                                        \
    }                                                             \
  };
UNARY(Exp2Ftz, "ex2.approx.ftz.f32")
UNARY(Exp2, "ex2.approx.f32")
UNARY(ReciprocalFtz, "rcp.approx.ftz.f32")
UNARY(Reciprocal, "rcp.approx.f32")
UNARY(Log2Ftz, "lg2.approx.ftz.f32")
UNARY(Log2, "lg2.approx.f32")
UNARY(RootFtz, "sqrt.approx.ftz.f32")
UNARY(Root, "sqrt.approx.f32")
UNARY(InverseRootFtz, "rsqrt.approx.ftz.f32")
UNARY(InverseRoot, "rsqrt.approx.f32")
UNARY(SineFtz, "sin.approx.ftz.f32")
UNARY(Sine, "sin.approx.f32")
UNARY(CosineFtz, "cos.approx.ftz.f32")
UNARY(Cosine, "cos.approx.f32")
UNARY(Tanh, "tanh.approx.f32")

/// A function of one double with the result's lower word 0, as their upper words.
#define UNARY_DOUBLE(NAME, INSTRUCTION)                                                                     \
  struct NAME {                                                                                             \
    static constexpr const char* name = INSTRUCTION;                                                        \
    static __device__ uint32_t at(uint32_t x) {                                                             \
      double result;                                                                                        \
      asm(INSTRUCTION " %0, %1;" : "=d"(result) : "d"(__hiloint2double(static_cast<int>(x), 0x12345678)));  \
      return static_cast<uint32_t>(__double2hiint(result)) ^ static_cast<uint32_t>(__double2loint(result)); \
    }                                                                                                       \
  };
UNARY_DOUBLE(ReciprocalDouble, "rcp.approx.ftz.f64")
UNARY_DOUBLE(InverseRootDouble, "rsqrt.approx.ftz.f64")

#define UNARY_HALF(NAME, INSTRUCTION)                                \
  struct NAME {                                                      \
    static constexpr const char* name = INSTRUCTION;                 \
    static __device__ uint32_t at(uint32_t x) {                      \
      uint16_t result;                                               \
      asm(INSTRUCTION " %0, %1;" : "=h"(result) : "h"(uint16_t(x))); \
      return result;                                                 \
    }                                                                \
  };
UNARY_HALF(Exp2Half, "ex2.approx.f16")
UNARY_HALF(TanhHalf, "tanh.approx.f16")
UNARY_HALF(TanhBrain, "tanh.approx.bf16")
UNARY_HALF(Exp2Brain, "ex2.approx.ftz.bf16")

/// Quotients of pairs that follow from one number.
__host__ __device__ uint32_t mixed(uint32_t x) {
  x = (x ^ x >> 16) * 0x7feb352du;
  x = (x ^ x >> 15) * 0x846ca68bu;
  return x ^ x >> 16;
}
#define DIVISION(NAME, INSTRUCTION)                                                                              \
  struct NAME {                                                                                                  \
    static constexpr const char* name = INSTRUCTION;                                                             \
    static __device__ uint32_t at(uint32_t x) {                                                                  \
      float result;                                                                                              \
      asm(INSTRUCTION " %0, %1, %2;" : "=f"(result) : "f"(value(mixed(x))), "f"(value(mixed(x + 0x9e3779b9u)))); \
      return bits(result);                                                                                       \
    }                                                                                                            \
  };
DIVISION(DivideApprox, "div.approx.f32")
DIVISION(DivideApproxFtz, "div.approx.ftz.f32")
DIVISION(DivideFull, "div.full.f32")
DIVISION(DivideFullFtz, "div.full.ftz.f32")

template <typename Function>
__global__ void record(uint32_t first, uint32_t* out) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = Function::at(first + i);
}

constexpr uint32_t samples_each = 64;
template <typename Function>
__global__ void record_samples(uint32_t* out) {  // a block for each sign and exponent
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  uint32_t mantissa = mixed(i) & 0x7fffff;
  if (threadIdx.x < 2) mantissa = threadIdx.x;
  if (threadIdx.x == 2) mantissa = 0x7fffff;
  const uint32_t x = blockIdx.x << 23 | mantissa;
  out[2 * i] = x;
  out[2 * i + 1] = Function::at(x);
}

/// The sum of a block's results, and their sum weighted by (index * 0x9e3779b1) | 1, both modulo 2^32.
constexpr uint32_t sum_block = 1u << 15, sum_blocks = 1u << 17, sum_threads = 256;
template <typename Function>
__global__ void record_sums(uint32_t* out) {
  __shared__ uint32_t plain, weighted;
  if (threadIdx.x == 0) plain = weighted = 0;
  __syncthreads();
  uint32_t sum = 0, weighted_sum = 0;
  for (uint32_t i = threadIdx.x; i < sum_block; i += sum_threads) {
    const uint32_t result = Function::at(blockIdx.x * sum_block + i);
    sum += result;
    weighted_sum += result * (i * 0x9e3779b1u | 1u);
  }
  atomicAdd(&plain, sum);
  atomicAdd(&weighted, weighted_sum);
  __syncthreads();
  if (threadIdx.x == 0) {
    out[2 * blockIdx.x] = plain;
    out[2 * blockIdx.x + 1] = weighted;
  }
}

bool failed(cudaError_t error) {
  if (error != cudaSuccess) std::fprintf(stderr, "record: %s\n", cudaGetErrorString(error));
  return error != cudaSuccess;
}

class Recorder {
 public:
  explicit Recorder(std::string folder) : folder_(std::move(folder)), words_(1u << 23) {
    good_ = !failed(cudaMalloc(&device_, words_.size() * sizeof words_[0]));
  }
  bool good() const { return good_; }

  template <typename Function>
  void exponents(int from, int to) {
    for (int exponent = from; exponent <= to; ++exponent) {
      record<Function><<<(1u << 23) / 256, 256>>>(static_cast<uint32_t>(exponent + 127) << 23, device_);
      write(std::string{Function::name} + "." + std::to_string(exponent) + ".words", 1u << 23);
    }
  }
  template <typename Function>
  void samples_and_sums() {
    record_samples<Function><<<512, samples_each>>>(device_);
    write(std::string{Function::name} + ".samples", 2 * 512 * samples_each);
    sums<Function>();
  }
  template <typename Function>
  void sums() {
    record_sums<Function><<<sum_blocks, sum_threads>>>(device_);
    write(std::string{Function::name} + ".sums", 2 * sum_blocks);
  }
  template <typename Function>
  void doubles(uint32_t first, uint32_t count, const char* suffix) {
    record<Function><<<count / 256, 256>>>(first, device_);
    write(std::string{Function::name} + suffix, count);
  }
  template <typename Function>
  void table() {
    record<Function><<<65536 / 256, 256>>>(0, device_);
    write(std::string{Function::name} + ".table", 65536, true);
  }

 private:
  void write(const std::string& name, size_t count, bool narrow = false) {
    if (!good_) return;
    good_ = !failed(cudaGetLastError()) &&
            !failed(cudaMemcpy(words_.data(), device_, count * sizeof words_[0], cudaMemcpyDeviceToHost));
    std::vector<uint16_t> halves(words_.begin(), words_.begin() + (narrow ? count : 0));
    const std::string path = folder_ + "/" + name;
    std::FILE* const file = std::fopen(path.c_str(), "wb");
    const void* const data = narrow ? static_cast<const void*>(halves.data()) : words_.data();
    const size_t size = narrow ? 2 : 4;
    if (file == nullptr || std::fwrite(data, size, count, file) != count || std::fclose(file) != 0) {
      std::fprintf(stderr, "record: cannot write %s\n", path.c_str());
      good_ = false;
    }
  }

  std::string folder_;
  std::vector<uint32_t> words_;
  uint32_t* device_ = nullptr;
  bool good_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: record FOLDER\n"), 2;
  Recorder recorder{argv[1]};
  recorder.exponents<Exp2Ftz>(0, 0);
  recorder.exponents<ReciprocalFtz>(0, 0);
  recorder.exponents<Log2Ftz>(-3, 3);
  recorder.exponents<Log2Ftz>(20, 20);
  recorder.exponents<Log2Ftz>(-70, -70);
  recorder.exponents<RootFtz>(0, 1);
  recorder.exponents<InverseRootFtz>(0, 1);
  recorder.exponents<SineFtz>(-12, 10);
  recorder.exponents<CosineFtz>(-12, 10);
  recorder.exponents<Tanh>(-14, 4);

  recorder.samples_and_sums<Exp2Ftz>();
  recorder.samples_and_sums<Exp2>();
  recorder.samples_and_sums<ReciprocalFtz>();
  recorder.samples_and_sums<Reciprocal>();
  recorder.samples_and_sums<Log2Ftz>();
  recorder.samples_and_sums<Log2>();
  recorder.samples_and_sums<RootFtz>();
  recorder.samples_and_sums<Root>();
  recorder.samples_and_sums<InverseRootFtz>();
  recorder.samples_and_sums<InverseRoot>();
  recorder.samples_and_sums<SineFtz>();
  recorder.samples_and_sums<Sine>();
  recorder.samples_and_sums<CosineFtz>();
  recorder.samples_and_sums<Cosine>();
  recorder.samples_and_sums<Tanh>();
  recorder.samples_and_sums<DivideApprox>();
  recorder.samples_and_sums<DivideApproxFtz>();
  recorder.samples_and_sums<DivideFull>();
  recorder.samples_and_sums<DivideFullFtz>();

  recorder.doubles<ReciprocalDouble>(0x3ff00000u, 1u << 20, ".0.words");
  recorder.doubles<InverseRootDouble>(0x3ff00000u, 1u << 21, ".0.words");
  recorder.samples_and_sums<ReciprocalDouble>();
  recorder.samples_and_sums<InverseRootDouble>();

  recorder.table<Exp2Half>();
  recorder.table<TanhHalf>();
  recorder.table<TanhBrain>();
  recorder.table<Exp2Brain>();
  return recorder.good() ? 0 : 2;
}
