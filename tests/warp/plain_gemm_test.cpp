// The accumulator ring once per tile: producer(), consumer(), the must-release pair and acquire/release, in a GEMM that
// adds K up in tensor memory.
#include <gtest/gtest.h>

#include <random>

#include "warp/blockwise_launch.hpp"
#include "warp/plain_gemm_kernel.hpp"
#include "warploom/types/convert.hpp"

namespace warploom::test {
namespace {

struct Problem {
  int m, n, k;
  std::vector<bf16> a, b, d;
  std::vector<double> answer;

  Problem(int m_, int n_, int k_, Fill fill) : m(m_), n(n_), k(k_) {
    std::mt19937 random(5);
    std::normal_distribution<float> normal;
    auto next = [&] {
      return to_bf16(fill == Fill::integer ? static_cast<float>(random() % 7) - 3.0f : normal(random));
    };
    auto size = [](int rows, int columns) { return static_cast<size_t>(rows) * static_cast<size_t>(columns); };
    a.resize(size(m, k));
    b.resize(size(n, k));
    d.resize(size(m, n));
    for (bf16& value : a) value = next();
    for (bf16& value : b) value = next();
    std::vector<float> fa, fb;
    for (bf16 value : a) fa.push_back(to_float(value));
    for (bf16 value : b) fb.push_back(to_float(value));
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j) {
        double sum = 0;
        for (int q = 0; q < k; ++q)
          sum += static_cast<double>(fa[size(i, k) + static_cast<size_t>(q)]) * fb[size(j, k) + static_cast<size_t>(q)];
        answer.push_back(sum);
      }
  }

  TensorMap map(const std::vector<bf16>& tensor, int rows, int columns, uint32_t box_rows) const {
    TensorMapArgs args;
    args.type = TmaType::bf16;
    args.address = tensor.data();
    args.dims = {static_cast<uint64_t>(columns), static_cast<uint64_t>(rows), 1, 1, 1};
    args.strides[0] = static_cast<uint64_t>(columns) * 2;
    args.box = {64, box_rows, 1, 1, 1};
    args.swizzle = Swizzle::b128;
    const Result<TensorMap> made = encode(args);
    EXPECT_TRUE(made);
    return *made;
  }
};

template <class Kernel>
void entry(const void* params) {
  Skeleton<Kernel>::run(*static_cast<const PlainGemmParams*>(params));
}

/// One cluster; several tiles per CTA, more than the accumulator ring has stages in the 1-SM case; the input ring goes
/// round more than twice per tile.
template <class Cluster>
Problem& problem(Fill fill) {
  constexpr int k = 64 * (2 * PlainGemm<Cluster>::stages + 1);
  static Problem integer(256, Cluster::size == 1 ? 256 : 512, k, Fill::integer);
  static Problem normal(256, Cluster::size == 1 ? 256 : 512, k, Fill::normal);
  return fill == Fill::integer ? integer : normal;
}

template <class Cluster>
void run(TileMmaUse mma, TileEpilogueUse epilogue, Fill fill, const loom::Schedule& schedule) {
  SCOPED_TRACE(schedule.text());
  using Kernel = PlainGemm<Cluster>;
  Problem& p = problem<Cluster>(fill);
  std::fill(p.d.begin(), p.d.end(), bf16{0x7fff});
  const PlainGemmParams params{p.map(p.a, p.m, p.k, 128),
                               p.map(p.b, p.n, p.k, Kernel::Payload::b_rows),
                               p.map(p.d, p.m, p.n, 128),
                               p.m,
                               p.n,
                               p.k,
                               mma,
                               epilogue};
  const loom::TensorRef tensors[] = {{p.d.data(), p.d.size() * 2, loom::Access::write, "D"},
                                     {p.a.data(), p.a.size() * 2, loom::Access::read, "A"},
                                     {p.b.data(), p.b.size() * 2, loom::Access::read, "B"}};
  const loom::LaunchConfig config{.kernel = "plain-gemm",
                                  .grid = {Cluster::m, Cluster::n, 1},
                                  .cluster = {Cluster::m, Cluster::n, 1},
                                  .threads = Skeleton<Kernel>::threads,
                                  .shared_bytes = sizeof(typename Kernel::Storage)};
  failed_line = 0;
  const loom::Outcome outcome = loom::launch(config, &entry<Kernel>, &params, tensors, on(schedule));
  ASSERT_TRUE(outcome.ok()) << to_text(outcome.report);
  ASSERT_EQ(failed_line, 0) << "a check in plain_gemm_kernel.hpp";
  int wrong = 0;
  double xy = 0, xx = 0, yy = 0;
  for (size_t i = 0; i < p.d.size(); ++i) {
    const double have = to_float(p.d[i]), want = p.answer[i];
    wrong += to_bf16(static_cast<float>(want)) != p.d[i];
    xy += have * want;
    xx += have * have;
    yy += want * want;
  }
  if (fill == Fill::integer) {
    ASSERT_EQ(wrong, 0);
  }
  ASSERT_LT(1 - 2 * xy / (xx + yy), 1e-5);
}

template <class Cluster>
void run_on_every_schedule(TileMmaUse mma, TileEpilogueUse epilogue) {
  for (const loom::Schedule& schedule : schedules()) run<Cluster>(mma, epilogue, Fill::integer, schedule);
  run<Cluster>(mma, epilogue, Fill::normal, {loom::Policy::random, 4});
}

struct Case {
  const char* name;
  TileMmaUse mma;
  TileEpilogueUse epilogue;
};
constexpr Case cases[] = {
    {"Scoped", TileMmaUse::producer, TileEpilogueUse::consumer},
    {"FreedEarly", TileMmaUse::producer, TileEpilogueUse::consumer_free},
    {"Linear", TileMmaUse::linear, TileEpilogueUse::linear},
    {"AcquireRelease", TileMmaUse::acquire_release, TileEpilogueUse::acquire_release},
};

class PlainGemmTest : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(, PlainGemmTest, testing::ValuesIn(cases), [](const auto& test) { return test.param.name; });

TEST_P(PlainGemmTest, OneSm) { run_on_every_schedule<ClusterShape<1, 1, 1>>(GetParam().mma, GetParam().epilogue); }
TEST_P(PlainGemmTest, TwoSm) { run_on_every_schedule<ClusterShape<2, 2, 1>>(GetParam().mma, GetParam().epilogue); }

}  // namespace
}  // namespace warploom::test
