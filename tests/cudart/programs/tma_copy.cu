// Copies a matrix by TMA: global to shared memory, plus one in shared memory, back to global memory. -DPLANTED: the
// store is not behind a proxy fence.
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <vector>

constexpr int tile = 32;

__global__ void copy(const __grid_constant__ CUtensorMap from, const __grid_constant__ CUtensorMap to) {
  __shared__ alignas(128) int words[tile * tile];
  __shared__ alignas(8) uint64_t barrier;
  const auto shared = [](const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); };
  const int x = blockIdx.x * tile, y = blockIdx.y * tile;
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared(&barrier)));
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared(&barrier)), "r"(tile * tile * 4)
                 : "memory");
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], "
        "[%4];" ::"r"(shared(words)),
        "l"(&from), "r"(x), "r"(y), "r"(shared(&barrier))
        : "memory");
  }
  uint32_t done = 0;
  while (done == 0)
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done)
                 : "r"(shared(&barrier))
                 : "memory");
  for (int i = threadIdx.x; i < tile * tile; i += blockDim.x) words[i] += 1;
#ifndef PLANTED
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&to), "r"(x),
                 "r"(y), "r"(shared(words))
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;");
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }
}

int main() {
  const int columns = 96, rows = 64;
  std::vector<int> values(columns * rows), got(values.size());
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int>(i);
  int *a, *b;
  cudaMalloc(&a, values.size() * 4);
  cudaMalloc(&b, values.size() * 4);
  cudaMemcpy(a, values.data(), values.size() * 4, cudaMemcpyHostToDevice);

  void* entry = nullptr;
  cudaDriverEntryPointQueryResult query;
  cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 12000, cudaEnableDefault, &query);
  const auto encode = reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(entry);
  const auto map_of = [&](int* data) {
    CUtensorMap map;
    const cuuint64_t dims[] = {columns, rows}, strides[] = {columns * 4};
    const cuuint32_t box[] = {tile, tile}, steps[] = {1, 1};
    if (encode(&map, CU_TENSOR_MAP_DATA_TYPE_INT32, 2, data, dims, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
               CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
               CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) != CUDA_SUCCESS)
      std::printf("no tensor map\n");
    return map;
  };
  copy<<<dim3(columns / tile, rows / tile), 64>>>(map_of(a), map_of(b));
  const cudaError_t error = cudaDeviceSynchronize();
  cudaMemcpy(got.data(), b, got.size() * 4, cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (size_t i = 0; i < got.size(); ++i) wrong += got[i] != values[i] + 1;
  std::printf("%s, %d wrong\n", cudaGetErrorName(error), wrong);
  return wrong == 0 ? 0 : 1;
}
