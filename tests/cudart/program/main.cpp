// A CUDA program as nvcc would make it, without nvcc: a fat binary, stubs that register themselves, calls of the
// runtime.
//
//   program FILE.ptx SCENARIO
//
// It is started by `warploom ptx run`, and by nothing else: tests/cudart/cudart_test.cpp.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "ptx/fat_binaries.hpp"

struct Extent {
  unsigned x, y, z;
};
extern "C" {
void** __cudaRegisterFatBinary(void*);
void __cudaRegisterFatBinaryEnd(void**);
void __cudaUnregisterFatBinary(void**);
void __cudaRegisterFunction(void**, const char*, char*, const char*, int, void*, void*, void*, void*, int*);
void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int);
int cudaLaunchKernel(const void*, Extent, Extent, void**, size_t, void*);
int cudaMalloc(void**, size_t);
int cudaFree(void*);
int cudaMemcpy(void*, const void*, size_t, int);
int cudaMemcpyToSymbol(const void*, const void*, size_t, size_t, int);
int cudaMemcpyFromSymbol(void*, const void*, size_t, size_t, int);
int cudaMemset(void*, int, size_t);
int cudaDeviceSynchronize();
int cudaGetLastError();
const char* cudaGetErrorName(int);
int cudaDeviceGetAttribute(int*, int, int);
int cudaFuncSetAttribute(const void*, int, int);
int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int*, const void*, int, size_t);
int cudaGraphCreate(void**, unsigned);
int cudaRuntimeGetVersion(int*);
int cudaDriverGetVersion(int*);
int cudaGetDriverEntryPointByVersion(const char*, void**, unsigned, unsigned long long, int*);
}

namespace {

char stub, bias;

void say(const char* what, int status) { std::printf("%s: %s\n", what, cudaGetErrorName(status)); }

struct Arrays {
  int n;
  void *a = nullptr, *b = nullptr, *c = nullptr;
  std::vector<float> result;

  explicit Arrays(int count) : n(count), result(static_cast<size_t>(count)) {
    std::vector<float> x(result.size()), y(result.size());
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] = static_cast<float>(i);
      y[i] = 1000.0f;
    }
    for (void** pointer : {&a, &b, &c}) cudaMalloc(pointer, bytes());
    cudaMemcpy(a, x.data(), bytes(), 1);
    cudaMemcpy(b, y.data(), bytes(), 1);
  }
  ~Arrays() {
    for (void* pointer : {a, b, c}) cudaFree(pointer);
  }
  Arrays(const Arrays&) = delete;
  Arrays& operator=(const Arrays&) = delete;
  size_t bytes() const { return result.size() * sizeof(float); }
  int launch(int count, unsigned threads = 64) {
    void* arguments[] = {&a, &b, &c, &count};
    const unsigned blocks = (static_cast<unsigned>(count) + threads - 1) / threads;
    return cudaLaunchKernel(&stub, {blocks, 1, 1}, {threads, 1, 1}, arguments, 0, nullptr);
  }
  int wrong(float more) {
    cudaMemcpy(result.data(), c, bytes(), 2);
    int count = 0;
    for (size_t i = 0; i < result.size(); ++i) count += result[i] == static_cast<float>(i) + 1000.0f + more ? 0 : 1;
    return count;
  }
};

int run(const std::string& scenario) {
  Arrays arrays(200);
  if (scenario == "add") {
    say("launch", arrays.launch(200));
    say("synchronize", cudaDeviceSynchronize());
    const float more = 0.5f;
    const int before = arrays.wrong(0);
    say("symbol", cudaMemcpyToSymbol(&bias, &more, sizeof(more), 0, 1));
    say("launch", arrays.launch(200));
    const int after = arrays.wrong(more);
    std::printf("%d %d wrong\n", before, after);
    return before + after == 0 ? 0 : 1;
  }
  if (scenario == "beyond") {  // one element behind the end of all three
    say("launch", arrays.launch(201));
    say("synchronize", cudaDeviceSynchronize());
    say("again", cudaDeviceSynchronize());
    return 0;
  }
  if (scenario == "unknown-call") {
    void* graph = nullptr;
    cudaGraphCreate(&graph, 0);
    return 0;
  }
  if (scenario == "refused") {
    say("threads", arrays.launch(200, 2048));
    say("last", cudaGetLastError());
    say("none", cudaGetLastError());
    say("copy", cudaMemcpy(arrays.result.data(), arrays.a, arrays.bytes() + 4, 2));
    say("set", cudaMemset(arrays.a, 0, arrays.bytes() + 1));
    say("function", cudaLaunchKernel(&bias, {1, 1, 1}, {1, 1, 1}, nullptr, 0, nullptr));
    void* entry = nullptr;
    say("driver", cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 12000, 0, nullptr));
    say("driver", cudaGetDriverEntryPointByVersion("cuFrobnicate", &entry, 12000, 0, nullptr));
    return 0;
  }
  if (scenario == "questions") {
    int processors = 0, major = 0, blocks = 0;
    cudaDeviceGetAttribute(&processors, 16, 0);
    cudaDeviceGetAttribute(&major, 75, 0);
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &stub, 256, 0);
    std::printf("%d SMs, capability %d, %d blocks\n", processors, major, blocks);
    int runtime = 0, driver = 0;
    cudaRuntimeGetVersion(&runtime);
    cudaDriverGetVersion(&driver);
    std::printf("runtime %d, driver %d\n", runtime, driver);
    say("shared", cudaFuncSetAttribute(&stub, 8, 232449));
    return 5;
  }
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  std::ifstream file(argv[1]);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto bytes = warploom::ptx::FatBinary().ptx(text, warploom::ptx::Packing::zstd, 90).bytes();
  struct Wrapper {
    uint32_t magic, version;
    const void* data;
    const void* more;
  } wrapper{0x466243b1u, 1, bytes.data(), nullptr};
  void** const binary = __cudaRegisterFatBinary(&wrapper);
  char name[] = "add", variable[] = "bias";
  __cudaRegisterFunction(binary, &stub, name, name, -1, nullptr, nullptr, nullptr, nullptr, nullptr);
  __cudaRegisterVar(binary, &bias, variable, variable, 0, sizeof(float), 1, 0);
  __cudaRegisterFatBinaryEnd(binary);
  const int code = run(argv[2]);
  __cudaUnregisterFatBinary(binary);
  return code;
}
