// Adds two vectors, with a constant that the host sets. -DPLANTED: one element too many.
#include <cstdio>
#include <vector>

__constant__ float scale;
__device__ unsigned blocks_done;

__global__ void add(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef PLANTED
  if (i <= n) c[i] = a[i] + scale * b[i];
#else
  if (i < n) c[i] = a[i] + scale * b[i];
#endif
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(&blocks_done, 1);
}

int main() {
  const int n = 1000;
  std::vector<float> a(n), b(n), c(n);
  for (int i = 0; i < n; ++i) {
    a[i] = i;
    b[i] = 2 * i;
  }
  float *x, *y, *z;
  for (float** pointer : {&x, &y, &z}) cudaMalloc(pointer, n * sizeof(float));
  cudaMemcpy(x, a.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(y, b.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  const float half = 0.5f;
  cudaMemcpyToSymbol(scale, &half, sizeof(half));
  add<<<(n + 127) / 128, 128>>>(x, y, z, n);
  const cudaError_t error = cudaDeviceSynchronize();
  cudaMemcpy(c.data(), z, n * sizeof(float), cudaMemcpyDeviceToHost);
  unsigned done = 0;
  cudaMemcpyFromSymbol(&done, blocks_done, sizeof(done));
  int wrong = 0;
  for (int i = 0; i < n; ++i) wrong += c[i] != 2 * a[i];
  std::printf("%s, %u blocks, %d wrong\n", cudaGetErrorName(error), done, wrong);
  return wrong == 0 ? 0 : 1;
}
