// Records what ex2.approx.ftz.f32 and rcp.approx.ftz.f32 return for every float from 1 to 2, 2^23 words each, one file
// after the other: the data of tools/special_functions_fit.py.
//
//   nvcc -arch=sm_90 tools/special_functions.cu -o record && ./record special_functions.bin
#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

constexpr uint32_t count = 1u << 23;

__global__ void record(uint32_t* out) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  const float x = __uint_as_float(0x3f800000u + i);
  float power, quotient;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(quotient) : "f"(x));
  out[i] = __float_as_uint(power);
  out[count + i] = __float_as_uint(quotient);
}

bool failed(cudaError_t error) {
  if (error != cudaSuccess) std::fprintf(stderr, "record: %s\n", cudaGetErrorString(error));
  return error != cudaSuccess;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: record FILE\n"), 2;
  std::vector<uint32_t> words(2 * count);
  uint32_t* out = nullptr;
  if (failed(cudaMalloc(&out, words.size() * sizeof words[0]))) return 2;
  record<<<count / 256, 256>>>(out);
  if (failed(cudaMemcpy(words.data(), out, words.size() * sizeof words[0], cudaMemcpyDeviceToHost))) return 2;
  std::FILE* const file = std::fopen(argv[1], "wb");
  if (file == nullptr || std::fwrite(words.data(), sizeof words[0], words.size(), file) != words.size() ||
      std::fclose(file) != 0)
    return std::fprintf(stderr, "record: cannot write %s\n", argv[1]), 2;
  return 0;
}
