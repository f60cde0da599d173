// A kernel and its programmatic dependent, which starts early and waits for it. -DPLANTED: it does not wait.
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

__global__ void first(int* data) {
  asm volatile("griddepcontrol.launch_dependents;");
  data[blockIdx.x * blockDim.x + threadIdx.x] = threadIdx.x + 1;
}

__global__ void second(const int* data, int* sums) {
#ifndef PLANTED
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
  int sum = 0;
  for (int i = 0; i < 64; ++i) sum += data[blockIdx.x * 64 + i];
  sums[blockIdx.x] = sum;
}

int main() {
  constexpr int blocks = 4;
  int *data, *sums;
  cudaMalloc(&data, blocks * 64 * sizeof(int));
  cudaMalloc(&sums, blocks * sizeof(int));
  first<<<blocks, 64>>>(data);
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = blocks;
  config.blockDim = 1;  // a block may be smaller than a warp
  config.attrs = &attribute;
  config.numAttrs = 1;
  cudaLaunchKernelEx(&config, second, static_cast<const int*>(data), sums);
  const cudaError_t error = cudaDeviceSynchronize();
  std::vector<int> got(blocks);
  cudaMemcpy(got.data(), sums, blocks * sizeof(int), cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (const int sum : got) wrong += sum != 64 * 65 / 2;
  std::printf("%s, %d wrong\n", cudaGetErrorName(error), wrong);
  return wrong == 0 ? 0 : 1;
}
