// The part of gpu/cluster_places.hpp that looks at the chip.
#include <cuda_runtime.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "gpu/cluster_places.hpp"

namespace warploom::gpu {
namespace {

constexpr int shared_bytes = 200 << 10;  // no SM has room for two
constexpr long long cycles = 20'000;     // long enough that no SM takes a second CTA

__global__ void note_sm(int* sms) {
  if (threadIdx.x == 0) {
    uint32_t sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    sms[blockIdx.x] = static_cast<int>(sm);
  }
  const long long begin = clock64();
  while (clock64() - begin < cycles) {
  }
}

/// Launches note_sm on a stream of its own, also while another one of this thread is being captured.
class Probe {
 public:
  Probe() {
    cudaThreadExchangeStreamCaptureMode(&mode_);
    good_ = cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking) == cudaSuccess &&
            cudaMalloc(&sms_, ClusterPlaces::most * 2 * sizeof(int)) == cudaSuccess &&
            cudaFuncSetAttribute(note_sm, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes) == cudaSuccess &&
            cudaFuncSetAttribute(note_sm, cudaFuncAttributeNonPortableClusterSizeAllowed, 1) == cudaSuccess;
  }
  ~Probe() {
    if (sms_ != nullptr) cudaFree(sms_);
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
    (void)cudaGetLastError();  // nobody's but this probe's
    cudaThreadExchangeStreamCaptureMode(&mode_);
  }
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;

  /// The SM of each CTA.
  std::optional<std::vector<int>> run(int ctas, int cluster) {
    if (!good_ || ctas > ClusterPlaces::most * 2) return std::nullopt;
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {static_cast<unsigned>(cluster), 1, 1};
    cudaLaunchConfig_t config{};
    config.gridDim = {static_cast<unsigned>(ctas), 1, 1};
    config.blockDim = {128, 1, 1};
    config.dynamicSmemBytes = shared_bytes;
    config.stream = stream_;
    config.attrs = &attribute;
    config.numAttrs = 1;
    std::vector<int> sms(static_cast<size_t>(ctas));
    if (cudaLaunchKernelEx(&config, note_sm, sms_) != cudaSuccess ||
        cudaMemcpyAsync(sms.data(), sms_, sms.size() * sizeof(int), cudaMemcpyDeviceToHost, stream_) != cudaSuccess ||
        cudaStreamSynchronize(stream_) != cudaSuccess)
      return std::nullopt;
    return sms;
  }

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
  cudaStream_t stream_ = nullptr;
  int* sms_ = nullptr;
  bool good_ = false;
};

/// The GPC of each SM, by any number: CTAs of a cluster run on one.
std::vector<int> gpcs(Probe& probe, int sms) {
  std::vector<int> group(static_cast<size_t>(sms));
  std::iota(group.begin(), group.end(), 0);
  for (const int cluster : {2, 4, 8, 16})
    for (int again = 0; again < 3; ++again) {
      const auto found = probe.run(sms / cluster * cluster, cluster);
      if (!found) continue;
      for (size_t i = 0; i < found->size(); ++i) {
        const int from = group[static_cast<size_t>((*found)[i])];
        const int to = group[static_cast<size_t>((*found)[i - i % static_cast<size_t>(cluster)])];
        std::replace(group.begin(), group.end(), from, to);
      }
    }
  // One that has no room for the largest clusters shows in pieces: what is small belongs together.
  std::map<int, int> sizes;
  for (const int g : group) ++sizes[g];
  int largest = 0;
  for (const auto& [g, size] : sizes) largest = std::max(largest, size);
  for (int& g : group)
    if (2 * sizes[g] <= largest) g = -1;
  return group;
}

ClusterPlaces look(int clusters, int size, int sms) {
  Probe probe;
  const std::vector<int> gpc = gpcs(probe, sms);
  const auto found = probe.run(clusters * size, size);
  if (!found) return {};
  std::vector<int> group;
  for (int c = 0; c < clusters; ++c) {
    const int sm = (*found)[static_cast<size_t>(c * size)];
    if (sm < 0 || sm >= sms) return {};
    group.push_back(gpc[static_cast<size_t>(sm)]);
  }
  return places_by_group(group);
}

}  // namespace

ClusterPlaces cluster_places(int clusters, int size) {
  int device = 0, sms = 0;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device) != cudaSuccess)
    return {};
  if (size < 2 || clusters != sms / size || clusters > ClusterPlaces::most) return {};
  static std::mutex mutex;
  static std::map<std::pair<int, int>, ClusterPlaces> known;  // by device and size
  const std::lock_guard lock(mutex);
  const auto [at, fresh] = known.try_emplace({device, size});
  if (fresh) at->second = look(clusters, size, sms);
  return at->second;
}

}  // namespace warploom::gpu
