// The Hopper pairs on a GPU: both sides on the same data, in turn, with CUDA events. Their results must agree to the
// bit. Prints a table and, with a file name, writes it as JSON (docs/free_of_cost.md shows it).
//
//   twins [file.json]
#include <cmath>

#include "../../examples/gpu/gpu_machine.cuh"
#include "../../examples/two_stage_copy_kernel.hpp"
#include "hopper_gemm_pair.hpp"
#include "two_stage_copy_twin.hpp"

namespace warploom::twins {
namespace {

using examples::GpuMachine;
using examples::Shape;

// A sample is the mean of a batch, so that the gap between two launches weighs little; sides take turns batch by batch.
constexpr int rounds = 7, batches = 6, batch = 8, launches = rounds * batches * batch;

void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

template <class Kernel>
class Launch {
 public:
  Launch(const Shape& shape, const typename Kernel::Params& params) : params_(params) {
    constexpr int bytes = sizeof(typename Kernel::Storage);
    check(cudaFuncSetAttribute(&examples::entry<Kernel>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
          "cudaFuncSetAttribute");
    attribute_.id = cudaLaunchAttributeClusterDimension;
    attribute_.val.clusterDim = {shape.cluster.x, 1, 1};
    config_.gridDim = {shape.grid.x, 1, 1};
    config_.blockDim = {shape.threads, 1, 1};
    config_.dynamicSmemBytes = bytes;
    check(cudaEventCreate(&begin_), "cudaEventCreate");
    check(cudaEventCreate(&end_), "cudaEventCreate");
  }
  void once() {
    config_.attrs = &attribute_;
    config_.numAttrs = 1;
    check(cudaLaunchKernelEx(&config_, &examples::entry<Kernel>, params_), Kernel::name);
  }
  /// Microseconds per launch.
  double many(int count) {
    check(cudaEventRecord(begin_), "cudaEventRecord");
    for (int i = 0; i < count; ++i) once();
    check(cudaEventRecord(end_), "cudaEventRecord");
    check(cudaEventSynchronize(end_), Kernel::name);
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin_, end_), "cudaEventElapsedTime");
    return 1000.0 * milliseconds / count;
  }

 private:
  typename Kernel::Params params_;
  cudaLaunchConfig_t config_{};
  cudaLaunchAttribute attribute_{};
  cudaEvent_t begin_{}, end_{};
};

struct Row {
  std::string name;
  double library_us, by_hand_us, ratio, worst_round;
  double work;  ///< floating-point operations or bytes
  const char* unit;
  bool same;
};

template <class Library, class ByHand>
Row compare(std::string name, Launch<Library> library, Launch<ByHand> by_hand, double work, const char* unit) {
  library.many(batch), by_hand.many(batch);  // warm
  std::vector<double> of_library, of_hand, ratios;
  for (int round = 0; round < rounds; ++round) {
    std::vector<double> here, there;
    for (int i = 0; i < batches; ++i) {
      if (i % 2 == 0) here.push_back(library.many(batch));
      there.push_back(by_hand.many(batch));
      if (i % 2 == 1) here.push_back(library.many(batch));
    }
    ratios.push_back(median(here) / median(there));
    of_library.insert(of_library.end(), here.begin(), here.end());
    of_hand.insert(of_hand.end(), there.begin(), there.end());
  }
  double worst = 1;
  for (const double ratio : ratios)
    if (std::fabs(ratio - 1) > std::fabs(worst - 1)) worst = ratio;
  const double here = median(of_library), there = median(of_hand);
  return {std::move(name), here, there, here / there, worst, work, unit, false};
}

template <class T>
bool same(GpuMachine& machine, const T* a, const T* b, size_t count) {
  const std::vector<T> x = machine.read(a, count), y = machine.read(b, count);
  return std::memcmp(x.data(), y.data(), count * sizeof(T)) == 0;
}

TensorMap map_of(GpuMachine& machine, TmaType type, const void* data, int rows, int columns, int bytes, int box_rows,
                 Swizzle swizzle) {
  TensorMapArgs args;
  args.type = type;
  args.address = data;
  args.dims = {static_cast<uint64_t>(columns), static_cast<uint64_t>(rows), 1, 1, 1};
  args.strides = {static_cast<uint64_t>(columns) * static_cast<uint64_t>(bytes), 16, 16, 16};
  args.box = {64, static_cast<uint32_t>(box_rows), 1, 1, 1};
  args.swizzle = swizzle;
  return machine.encode(args);
}

Row copy(GpuMachine& machine, uint32_t sms) {
  using Library = examples::TwoStageCopy;
  using ByHand = TwoStageCopyTwin<Library::Params>;
  constexpr int rows = 8192, columns = 16384;
  machine.reset();
  std::vector<float> source(static_cast<size_t>(rows) * columns);
  examples::Random random(1);
  for (float& value : source) value = static_cast<float>(random.below(1 << 20));
  const float* from = machine.memory(source);
  const std::vector<float> nothing(source.size());
  float* here = machine.memory(nothing, true);
  float* there = machine.memory(nothing, true);
  const TensorMap map = map_of(machine, TmaType::f32, from, rows, columns, 4, 64, Swizzle::none);
  const Shape shape{{6 * sms}, {1}, Library::threads};
  Row row = compare("two-stage copy, 512 MiB", Launch<Library>(shape, {map, here, columns, rows, columns}),
                    Launch<ByHand>(shape, {map, there, columns, rows, columns}), 8.0 * rows * columns, "GB/s");
  row.same = same<float>(machine, here, from, source.size()) && same<float>(machine, there, from, source.size());
  return row;
}

template <int cluster>
Row gemm(GpuMachine& machine, uint32_t sms, const std::vector<bf16>& a, const std::vector<bf16>& b, int size) {
  using Library = HopperGemmSide<cluster>;
  using ByHand = HopperGemmTwinSide<cluster>;
  machine.reset();
  const bf16* a_data = machine.memory(a);
  const bf16* b_data = machine.memory(b);
  const std::vector<bf16> nothing(static_cast<size_t>(size) * static_cast<size_t>(size));
  bf16* here = machine.memory(nothing, true);
  bf16* there = machine.memory(nothing, true);
  const auto params = [&](bf16* d) -> examples::HopperGemmParams {
    using Payload = typename Library::Payload;
    return {map_of(machine, TmaType::bf16, a_data, size, size, 2, Payload::a_slice_rows, Swizzle::b128),
            map_of(machine, TmaType::bf16, b_data, size, size, 2, Payload::b_slice_rows, Swizzle::b128),
            map_of(machine, TmaType::bf16, d, size, size, 2, Library::group_rows, Swizzle::b128),
            size,
            size,
            size};
  };
  const Shape shape{{sms / cluster * cluster}, {cluster}, Library::threads};
  Row row = compare("bf16 GEMM " + std::to_string(size) + "^3, cluster " + std::to_string(cluster) + "x1",
                    Launch<Library>(shape, params(here)), Launch<ByHand>(shape, params(there)),
                    2.0 * size * size * size, "TFLOP/s");
  row.same = same(machine, here, there, nothing.size());
  return row;
}

int run(const char* file) {
  if (const std::string missing = GpuMachine::missing(); !missing.empty()) {
    std::fprintf(stderr, "%s\n", missing.c_str());
    return 2;
  }
  cudaDeviceProp device{};
  check(cudaGetDeviceProperties(&device, 0), "cudaGetDeviceProperties");
  const auto sms = static_cast<uint32_t>(device.multiProcessorCount);
  GpuMachine machine;

  constexpr int size = 4096;
  examples::Random random(2);
  std::vector<bf16> a(static_cast<size_t>(size) * size), b(a.size());
  // Numbers from -1.99 to 1.99 with full mantissas: an accumulation in another order would show.
  for (std::vector<bf16>* operand : {&a, &b})
    for (bf16& value : *operand)
      value = {static_cast<uint16_t>((random.word() & 0x807f) | (0x3d80 + (random.below(5) << 7)))};
  const std::vector<Row> rows = {copy(machine, sms), gemm<1>(machine, sms, a, b, size),
                                 gemm<2>(machine, sms, a, b, size)};
  if (!machine.trouble().empty()) {
    std::fprintf(stderr, "%s\n", machine.trouble().c_str());
    return 1;
  }

  std::printf("%s, %d launches a side, medians\n", device.name, launches);
  std::printf("%-34s %12s %12s %8s %12s %18s  %s\n", "", "library", "by hand", "ratio", "worst round", "library",
              "results");
  bool all_same = true;
  for (const Row& row : rows) {
    const double rate = row.work / row.library_us * (row.unit[0] == 'T' ? 1e-6 : 1e-3);
    std::printf("%-34s %9.2f us %9.2f us %8.4f %12.4f %10.0f %-7s  %s\n", row.name.c_str(), row.library_us,
                row.by_hand_us, row.ratio, row.worst_round, rate, row.unit, row.same ? "same" : "DIFFERENT");
    all_same &= row.same;
  }
  if (file != nullptr) {
    std::FILE* json = std::fopen(file, "w");
    if (json == nullptr) {
      std::perror(file);
      return 1;
    }
    std::fprintf(json, "{\"device\": \"%s\", \"launches\": %d, \"pairs\": [", device.name, launches);
    for (size_t i = 0; i < rows.size(); ++i)
      std::fprintf(json,
                   "%s\n  {\"name\": \"%s\", \"library_us\": %.3f, \"by_hand_us\": %.3f, \"ratio\": %.5f, "
                   "\"worst_round\": %.5f, \"same_results\": %s}",
                   i == 0 ? "" : ",", rows[i].name.c_str(), rows[i].library_us, rows[i].by_hand_us, rows[i].ratio,
                   rows[i].worst_round, rows[i].same ? "true" : "false");
    std::fprintf(json, "\n]}\n");
    std::fclose(json);
  }
  return all_same ? 0 : 1;
}

}  // namespace
}  // namespace warploom::twins

int main(int argc, char** argv) { return warploom::twins::run(argc > 1 ? argv[1] : nullptr); }
