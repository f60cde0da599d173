// Foreign code (Options::foreign): what only relies on more than the manual promises is a warning, and the run goes on.
// Each row of severity.hpp: a kernel that does it, with `foreign` and without, and a twin that does not.
#include <map>

#include "docs/text.hpp"
#include "loom/check/points.hpp"
#include "loom/report/severity.hpp"
#include "support/json.hpp"
#include "warploom/arch/tmem.hpp"

namespace warploom::loom {
namespace {

using namespace points;

struct Case {
  const char* code;
  Launch launch;
  bool checked = true;  ///< found by the checker
};

/// Foreign: clean, with that one warning, at the line of OFFENDING and nowhere else; and what it leaves in memory is
/// right. Strict, which is without `foreign`: the error. The twin: neither.
template <class Kernel>
void warned(const Case& what, Kernel kernel, uint32_t result = 0) {
  for (const Schedule& schedule : schedules(what.launch)) {
    SCOPED_TRACE(schedule.text());
    Memory memory;
    Launch launch = what.launch;
    launch.shared_bytes = storage_bytes;
    launch.tensors = memory.tensors();
    Options options = with(schedule);
    options.check = what.checked;
    const Outcome strict = run(launch, kernel, Params{memory.words.data(), true}, options);
    ASSERT_EQ(strict.report.findings.size(), 1u) << "no finding";
    EXPECT_EQ(strict.report.findings[0].code, what.code) << to_text(strict.report);
    EXPECT_TRUE(strict.report.warnings.empty());

    options.foreign = true;
    memory.words = {};
    offending_line = 0;
    const Outcome outcome = run(launch, kernel, Params{memory.words.data(), true}, options);
    EXPECT_TRUE(outcome.ok()) << to_text(outcome.report);
    ASSERT_EQ(outcome.report.warnings.size(), 1u) << to_text(outcome.report);
    const Finding& warning = outcome.report.warnings[0];
    EXPECT_EQ(warning.code, what.code);
    EXPECT_EQ(warning.severity, Severity::warning);
    EXPECT_FALSE(warning.clause.empty());
    EXPECT_EQ(file_name(warning.at.user.file), "warnings_test.cpp");
    EXPECT_EQ(warning.at.user.line, offending_line.load()) << to_text(outcome.report);
    if (result != 0) {
      EXPECT_EQ(memory.words[0], result);
    }

    const Outcome twin = run(launch, kernel, Params{memory.words.data(), false}, options);
    EXPECT_TRUE(twin.ok()) << to_text(twin.report);
    EXPECT_TRUE(twin.report.warnings.empty()) << to_text(twin.report);
  }
}

TEST(Warnings, ABulkStoreThatIsNotWaitedFor) {
  warned(
      {.code = "EXIT-PENDING", .launch = {}, .checked = false},
      [](const Params& p) {
        auto& s = shared<Storage>();
        if (thread_index() != 0) return;
        for (uint32_t i = 0; i < 4; ++i) store_shared(&s.line[i], 7u);
        fence_proxy_async_shared();
        OFFENDING(bulk_store(p.words, address(s.line), 16));
        bulk_commit_group();
        if (!p.buggy) bulk_wait_group<0>();
      },
      7);
}

TEST(Warnings, AFragmentThatIsReadBeforeItsWait) {
  warned(
      {.code = "FRAGMENT", .launch = {}, .checked = false},
      [](const Params& p) {
        auto& s = shared<Storage>();
        tmem_alloc<1>(address(s.slot[0]), 32);
        const TmemAddress base{load_shared(&s.slot[0])};
        const uint32_t words[] = {5, 6, 7, 8};
        tmem_store_32x32b(base, words);
        tmem_wait_store();
        Fragment<uint32_t, 4> registers;
        tmem_load_32x32b(registers, base);
        if (!p.buggy) tmem_wait_load();
        const Fragment<uint32_t, 4>& seen = registers;
        uint32_t value = 0;
        OFFENDING(value = seen[2]);
        if (lane_index() == 0) store_global(p.words, value);
        tmem_wait_load();
        tmem_dealloc<1>(base, 32);
      },
      7);
}

TEST(Warnings, TensorMemoryThatChangesHandsWithoutFences) {
  warned(
      {.code = "TMEM-FENCE", .launch = {.threads = 160}},
      [](const Params& p) {
        auto& s = shared<Storage>();
        if (warp_index() == 0) tmem_alloc<1>(address(s.slot[0]), 32);
        if (!p.buggy) tcgen05_fence_before();
        syncthreads();
        if (!p.buggy) tcgen05_fence_after();
        const TmemAddress base{load_shared(&s.slot[0])};
        if (warp_index() == 0) {
          const uint32_t words[] = {5, 6, 7, 8};
          tmem_store_32x32b(base, words);
          tmem_wait_store();
        }
        if (!p.buggy) tcgen05_fence_before();
        syncthreads();
        if (!p.buggy) tcgen05_fence_after();
        if (warp_index() == 4) {
          Fragment<uint32_t, 4> registers;
          OFFENDING(tmem_load_32x32b(registers, base));
          tmem_wait_load();
          if (lane_index() == 0) store_global(p.words, registers[2]);
        }
        tcgen05_fence_before();
        syncthreads();
        tcgen05_fence_after();
        if (warp_index() == 0) tmem_dealloc<1>(base, 32);
      },
      7);
}

TEST(Warnings, WarpsThatStoreTheSame) {
  warned({.code = "RACE-SMEM", .launch = {.threads = 64}}, [](const Params& p) {
    auto& s = shared<Storage>();
    if (lane_index() == 0) OFFENDING(store_shared(&s.slot[p.buggy ? 0 : warp_index()], 7u));
  });
  warned(
      {.code = "RACE-GLOBAL", .launch = {.threads = 64}},
      [](const Params& p) {
        if (lane_index() == 0) OFFENDING(store_global(p.words + (p.buggy ? 0 : warp_index()), 7u));
      },
      7);
}

TEST(Warnings, ABarrierThatNoFenceMakesKnown) {
  warned({.code = "BAR-UNINIT", .launch = {.threads = 32}}, [](const Params& p) {
    auto& s = shared<Storage>();
    if (thread_index() == 0) {
      mbarrier_init(address(s.a[0]), 1);
      if (!p.buggy) fence_mbarrier_init();
    }
    syncthreads();
    if (thread_index() == 0) {
      mbarrier_arrive_expect_tx(address(s.a[0]), 16);
      OFFENDING(bulk_load(address(s.line), p.words, 16, address(s.a[0])));
      mbarrier_wait(address(s.a[0]), 1);
    }
  });
}

TEST(Warnings, NothingElseIsOne) {
  // Two values, a read beside a store, an init that nothing orders: errors of foreign code, too.
  const auto found = [](auto kernel, const char* code) {
    Memory memory;
    const Launch launch{.threads = 64, .shared_bytes = storage_bytes, .tensors = memory.tensors()};
    for (const Schedule& schedule : schedules()) {
      Options options = with(schedule);
      options.check = options.foreign = true;
      const Outcome outcome = run(launch, kernel, Params{memory.words.data(), true}, options);
      ASSERT_EQ(outcome.report.findings.size(), 1u) << schedule.text();
      EXPECT_EQ(outcome.report.findings[0].code, code) << to_text(outcome.report);
      EXPECT_EQ(outcome.report.findings[0].severity, Severity::error);
    }
  };
  found(
      [](const Params&) {
        if (lane_index() == 0) store_shared(&shared<Storage>().slot[0], warp_index());
      },
      "RACE-SMEM");
  found(
      [](const Params& p) {
        if (lane_index() == 0 && warp_index() == 0) store_global(p.words, 0u);
        if (lane_index() == 0 && warp_index() == 1) (void)load_global(p.words);
      },
      "RACE-GLOBAL");
  found(
      [](const Params&) {
        auto& s = shared<Storage>();
        const uint32_t local = thread_index();
        (void)address(local);
        store_shared(&s.slot[0], 1u);
      },
      "OOB-SHARED");
}

constexpr auto twice_the_same = [](const Params&) {
  auto& s = shared<Storage>();
  if (lane_index() == 0)
    for (uint32_t i = 0; i < 3; ++i) store_shared(&s.slot[0], 7u);
};

Outcome twice_the_same_by_clusters(bool foreign) {
  Memory memory;
  const Launch launch{.grid = {3}, .threads = 64, .shared_bytes = storage_bytes, .tensors = memory.tensors()};
  Options options;
  options.check = true;
  options.foreign = foreign;
  return run(launch, twice_the_same, Params{memory.words.data(), true}, options);
}

TEST(Warnings, EachPlaceIsThereOnce) {
  const Outcome outcome = twice_the_same_by_clusters(true);
  ASSERT_EQ(outcome.report.warnings.size(), 1u) << to_text(outcome.report);
  EXPECT_GE(outcome.report.warnings[0].times, 3u);  // of three clusters
}

TEST(Warnings, AreInTheTextAndInTheJson) {
  const Outcome outcome = twice_the_same_by_clusters(true);
  const std::string text = to_text(outcome.report);
  EXPECT_TRUE(contains(text, "no errors, 1 warning  (kernel probe)")) << text;
  EXPECT_TRUE(contains(text, "warning RACE-SMEM: ")) << text;
  EXPECT_TRUE(contains(text, "manual: PTX ISA, memory consistency model")) << text;
  const auto json = test::parse_json(to_json(outcome.report));
  EXPECT_TRUE(json["clean"].get<bool>());
  EXPECT_EQ(json["warnings"][0]["severity"].get<std::string>(), "warning");
  EXPECT_EQ(json["warnings"][0]["code"].get<std::string>(), "RACE-SMEM");
  EXPECT_FALSE(json["warnings"][0]["clause"].get<std::string>().empty());
  const auto strict = test::parse_json(to_json(twice_the_same_by_clusters(false).report));
  EXPECT_EQ(strict["findings"][0]["severity"].get<std::string>(), "error");
  EXPECT_TRUE(contains(to_text(twice_the_same_by_clusters(false).report), "error RACE-SMEM: "));
}

TEST(Warnings, AVerdictNamesThem) {
  CheckOptions options;
  options.run.foreign = true;
  Verdict verdict =
      check({.what = "probe",
             .launch =
                 [&](const Options& run_options) {
                   Memory memory;
                   const Launch launch{.threads = 64, .shared_bytes = storage_bytes, .tensors = memory.tensors()};
                   return run(launch, twice_the_same, Params{memory.words.data(), true}, run_options);
                 }},
            options);
  EXPECT_EQ(verdict.kind, Verdict::Kind::holds) << verdict.sentence();
  EXPECT_TRUE(verdict.good());
  EXPECT_TRUE(contains(verdict.sentence(), ", apart from 1 warning: RACE-SMEM at ")) << verdict.sentence();
}

/// docs/reports.md has a row for each row of the table, with the same words.
TEST(Warnings, TheDocumentSaysWhatTheTableSays) {
  const std::string document = test::text_of(test::source_folder() / "docs/reports.md");
  for (const ForeignRow& row : foreign_rows) {
    EXPECT_TRUE(contains(document, row.clause)) << row.clause;
    EXPECT_TRUE(contains(document, row.then)) << row.then;
  }
}

}  // namespace
}  // namespace warploom::loom
