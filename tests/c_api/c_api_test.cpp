// The C functions of the library: what they refuse, what they answer, and that nothing leaves them but a status.
#include "warploom/c_api.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "c_api/answer.hpp"

extern "C" int program_in_c(void);

namespace warploom {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr double most_microseconds = 100;  // not what is measured there
#else
constexpr double most_microseconds = 1;
#endif

struct PlanDeleter {
  void operator()(warploom_plan* plan) const { warploom_plan_release(plan); }
};
using Plan = std::unique_ptr<warploom_plan, PlanDeleter>;

/// A problem that runs, and its memory.
struct Small {
  static constexpr int m = 64, n = 64, k = 64;
  std::vector<uint16_t> memory = std::vector<uint16_t>(size_t{5} * 64 * 64 + 64);
  warploom_gemm_problem p = WARPLOOM_GEMM_PROBLEM_INIT;

  Small() {
    auto* at = memory.data();
    while (reinterpret_cast<uintptr_t>(at) % 128 != 0) ++at;
    p.m = m;
    p.n = n;
    p.k = k;
    p.a = at;
    p.b = at + m * k;
    p.c = at + 2 * m * k;
    p.d = at + 3 * m * k;
    p.a_stride = p.b_stride = k;
    p.c_stride = p.d_stride = n;
  }
};

Plan plan_of(const warploom_gemm_problem& p, int32_t chip = WARPLOOM_SM90) {
  warploom_plan* plan = nullptr;
  warploom_plan_gemm_on_loom(&p, chip, 0, &plan);
  return Plan(plan);
}

void expect_refused(int status, int code, const char* sentence) {
  EXPECT_EQ(status, code) << warploom_error();
  EXPECT_EQ(warploom_error_code(), code);
  EXPECT_NE(std::string(warploom_error()).find(sentence), std::string::npos) << warploom_error();
}

TEST(CApi, AProgramInC) { EXPECT_EQ(program_in_c(), 0); }

TEST(CApi, TheCodesAreThoseOfErrorCode) {
  const std::pair<int, ErrorCode> codes[] = {
      {WARPLOOM_OK, ErrorCode::none},
      {WARPLOOM_BAD_ARGUMENT, ErrorCode::bad_argument},
      {WARPLOOM_UNSUPPORTED, ErrorCode::unsupported},
      {WARPLOOM_NOT_FOUND, ErrorCode::not_found},
      {WARPLOOM_NOT_BUILT, ErrorCode::not_built},
      {WARPLOOM_OUT_OF_MEMORY, ErrorCode::out_of_memory},
      {WARPLOOM_NO_THREADS, ErrorCode::no_threads},
      {WARPLOOM_NO_DEVICE, ErrorCode::no_device},
      {WARPLOOM_DEVICE_FAILED, ErrorCode::device_failed},
      {WARPLOOM_IO, ErrorCode::io},
      {WARPLOOM_FINDING, ErrorCode::finding},
      {WARPLOOM_INTERNAL, ErrorCode::internal},
  };
  for (const auto& [c, cpp] : codes) {
    EXPECT_EQ(c, static_cast<int>(cpp));
    EXPECT_STREQ(warploom_code_name(c), to_string(cpp));
    EXPECT_STRNE(warploom_code_name(c), "unknown");
  }
  EXPECT_STREQ(warploom_code_name(static_cast<int>(std::size(codes))), "unknown");
  EXPECT_STREQ(warploom_code_name(-1), "unknown");
}

TEST(CApi, EnumeratorsAreThoseOfTheLibrary) {
  EXPECT_EQ(WARPLOOM_F32, static_cast<int>(DType::f32));
  EXPECT_EQ(WARPLOOM_BF16, static_cast<int>(DType::bf16));
  EXPECT_EQ(WARPLOOM_MN_MAJOR, static_cast<int>(Major::mn));
  EXPECT_EQ(WARPLOOM_BIAS_M, static_cast<int>(BiasAlong::m));
  EXPECT_EQ(WARPLOOM_SILU, static_cast<int>(Activation::silu));
  EXPECT_EQ(WARPLOOM_A_ROWS_B_ROWS, static_cast<int>(Scaling::a_rows_b_rows));
  EXPECT_EQ(WARPLOOM_SM100, static_cast<int>(Chip::sm100));
  const warploom_gemm_problem p = WARPLOOM_GEMM_PROBLEM_INIT;
  EXPECT_EQ(p.batch, 1);
  EXPECT_EQ(p.alpha, 1.0f);
  EXPECT_EQ(p.beta, 0.0f);
  EXPECT_EQ(p.a_type, WARPLOOM_BF16);
  EXPECT_EQ(p.d_type, WARPLOOM_BF16);
  EXPECT_EQ(p.bias_type, WARPLOOM_F32);
  EXPECT_EQ(p.a_major, WARPLOOM_K_MAJOR);
  EXPECT_EQ(p.scaling, WARPLOOM_NO_SCALES);
}

/// What used to multiply nothing, alpha 0 times, and say that all is well.
TEST(CApi, AStructOfZeroBytesIsRefused) {
  Small small;
  warploom_gemm_problem zero;
  std::memset(&zero, 0, sizeof(zero));
  zero.m = small.p.m;
  zero.a = small.p.a;
  expect_refused(warploom_gemm_supported_on(&zero, WARPLOOM_SM90), WARPLOOM_BAD_ARGUMENT,
                 "struct_size of the problem is 0");
  EXPECT_NE(std::string(warploom_error()).find("WARPLOOM_GEMM_PROBLEM_INIT"), std::string::npos);
  warploom_loom_options options;
  std::memset(&options, 0, sizeof(options));
  const Plan plan = plan_of(small.p);
  ASSERT_NE(plan, nullptr);
  expect_refused(warploom_run_on_loom(&small.p, plan.get(), &options, nullptr), WARPLOOM_BAD_ARGUMENT, "struct_size");
}

/// What is handed over and would not be used, and an extent that nobody set.
TEST(CApi, WhatWouldSilentlyDoNothingIsRefused) {
  Small small;
  small.p.bias = small.p.a;
  expect_refused(warploom_gemm_supported_on(&small.p, WARPLOOM_SM90), WARPLOOM_BAD_ARGUMENT, "WARPLOOM_NO_BIAS");
  small.p.bias = nullptr;
  small.p.a_scales = static_cast<const float*>(small.p.a);
  expect_refused(warploom_gemm_supported_on(&small.p, WARPLOOM_SM90), WARPLOOM_BAD_ARGUMENT, "WARPLOOM_NO_SCALES");
  small.p.a_scales = nullptr;
  for (int32_t warploom_gemm_problem::* extent :
       {&warploom_gemm_problem::m, &warploom_gemm_problem::n, &warploom_gemm_problem::k}) {
    warploom_gemm_problem forgotten = small.p;
    forgotten.*extent = warploom_gemm_problem(WARPLOOM_GEMM_PROBLEM_INIT).*extent;
    expect_refused(warploom_gemm_supported_on(&forgotten, WARPLOOM_SM90), WARPLOOM_BAD_ARGUMENT, "-1");
  }
}

TEST(CApi, StructsOfOtherVersions) {
  struct Newer {
    warploom_gemm_problem known;
    int64_t unknown;
  };
  Small small;
  Newer newer{small.p, 0};
  newer.known.struct_size = sizeof(Newer);
  EXPECT_EQ(warploom_gemm_supported_on(&newer.known, WARPLOOM_SM90), WARPLOOM_OK) << warploom_error();
  newer.unknown = 7;
  expect_refused(warploom_gemm_supported_on(&newer.known, WARPLOOM_SM90), WARPLOOM_UNSUPPORTED, "does not know");
  for (const size_t bytes : {size_t{1}, size_t{8}, sizeof(warploom_gemm_problem) - 8, size_t{1} << 20, ~size_t{0}}) {
    small.p.struct_size = bytes;
    expect_refused(warploom_gemm_supported_on(&small.p, WARPLOOM_SM90), WARPLOOM_BAD_ARGUMENT, "struct_size");
  }
}

TEST(CApi, NullPointersAreRefused) {
  Small small;
  const Plan plan = plan_of(small.p);
  ASSERT_NE(plan, nullptr);
  warploom_plan* made = nullptr;
  expect_refused(warploom_gemm_supported_on(nullptr, WARPLOOM_SM90), WARPLOOM_BAD_ARGUMENT, "null pointer");
  expect_refused(warploom_plan_gemm(nullptr, WARPLOOM_SM90, 0, nullptr, &made), WARPLOOM_BAD_ARGUMENT, "null pointer");
  expect_refused(warploom_plan_gemm(&small.p, WARPLOOM_SM90, 0, nullptr, nullptr), WARPLOOM_BAD_ARGUMENT,
                 "null pointer");
  expect_refused(warploom_plan_gemm_on_loom(&small.p, WARPLOOM_SM90, 0, nullptr), WARPLOOM_BAD_ARGUMENT,
                 "null pointer");
  expect_refused(warploom_run_on_loom(nullptr, plan.get(), nullptr, nullptr), WARPLOOM_BAD_ARGUMENT, "null pointer");
  expect_refused(warploom_run_on_loom(&small.p, nullptr, nullptr, nullptr), WARPLOOM_BAD_ARGUMENT,
                 "the plan is a null");
  small.p.a = nullptr;
  expect_refused(warploom_gemm_supported_on(&small.p, WARPLOOM_SM90), WARPLOOM_BAD_ARGUMENT, "A is missing");
  warploom_gemm_problem_init(nullptr);
  warploom_loom_options_init(nullptr);
  warploom_plan_release(nullptr);
  warploom_report_release(nullptr);
  EXPECT_STREQ(warploom_plan_config(nullptr), "");
  EXPECT_STREQ(warploom_plan_why(nullptr), "");
  EXPECT_STREQ(warploom_report_text(nullptr), "");
  EXPECT_STREQ(warploom_report_json(nullptr), "");
  EXPECT_EQ(warploom_plan_splits(nullptr) + warploom_plan_ctas(nullptr) + warploom_report_findings(nullptr), 0);
}

TEST(CApi, ValuesThatNoEnumHasAreRefused) {
  int32_t warploom_gemm_problem::* const fields[] = {
      &warploom_gemm_problem::a_type,  &warploom_gemm_problem::b_type,     &warploom_gemm_problem::c_type,
      &warploom_gemm_problem::d_type,  &warploom_gemm_problem::bias_type,  &warploom_gemm_problem::a_major,
      &warploom_gemm_problem::b_major, &warploom_gemm_problem::bias_along, &warploom_gemm_problem::activation,
      &warploom_gemm_problem::scaling};
  for (auto field : fields)
    for (const int32_t value : {-1, 5, 256, 1 << 30, std::numeric_limits<int32_t>::min()}) {
      Small small;
      small.p.*field = value;
      expect_refused(warploom_gemm_supported_on(&small.p, WARPLOOM_SM90), WARPLOOM_BAD_ARGUMENT, "there are 0 to");
    }
  Small small;
  expect_refused(warploom_gemm_supported_on(&small.p, 2), WARPLOOM_BAD_ARGUMENT, "chip is 2");
  warploom_plan* plan = nullptr;
  expect_refused(warploom_plan_gemm(&small.p, WARPLOOM_SM90, -1, nullptr, &plan), WARPLOOM_BAD_ARGUMENT, "sms is -1");
  expect_refused(warploom_plan_gemm(&small.p, WARPLOOM_SM90, 0, "no such key", &plan), WARPLOOM_NOT_FOUND,
                 "no such key");
  EXPECT_EQ(plan, nullptr);
}

TEST(CApi, WhatNoKernelDoesIsUnsupported) {
  Small small;
  small.p.d_type = WARPLOOM_E5M2;
  expect_refused(warploom_gemm_supported_on(&small.p, WARPLOOM_SM90), WARPLOOM_UNSUPPORTED, "D is e5m2");
}

TEST(CApi, OptionsOfTheLoom) {
  Small small;
  const Plan plan = plan_of(small.p);
  ASSERT_NE(plan, nullptr);
  const auto with = [&](auto&& change) {
    warploom_loom_options options = WARPLOOM_LOOM_OPTIONS_INIT;
    change(options);
    return warploom_run_on_loom(&small.p, plan.get(), &options, nullptr);
  };
  EXPECT_EQ(with([](auto& o) { o.schedule = "random:7f3a"; }), WARPLOOM_OK) << warploom_error();
  EXPECT_EQ(with([](auto& o) { o.exact = 1; }), WARPLOOM_OK) << warploom_error();
  expect_refused(with([](auto& o) { o.schedule = "backwards"; }), WARPLOOM_BAD_ARGUMENT, "backwards");
  expect_refused(with([](auto& o) { o.workers = -4; }), WARPLOOM_BAD_ARGUMENT, "workers is -4");
  expect_refused(with([](auto& o) { o.seconds_limit = -1; }), WARPLOOM_BAD_ARGUMENT, "seconds_limit");
  expect_refused(with([](auto& o) { o.seconds_limit = std::numeric_limits<double>::quiet_NaN(); }),
                 WARPLOOM_BAD_ARGUMENT, "seconds_limit");
  expect_refused(with([](auto& o) { o.step_limit = 0; }), WARPLOOM_BAD_ARGUMENT, "step_limit");
}

TEST(CApi, AFindingHasItsCodeItsSentenceAndItsReport) {
  Small small;
  const Plan plan = plan_of(small.p);
  ASSERT_NE(plan, nullptr);
  warploom_loom_options options = WARPLOOM_LOOM_OPTIONS_INIT;
  options.step_limit = 100;
  warploom_report* report = nullptr;
  expect_refused(warploom_run_on_loom(&small.p, plan.get(), &options, &report), WARPLOOM_FINDING, "STEP-LIMIT: ");
  ASSERT_NE(report, nullptr);
  EXPECT_EQ(warploom_report_findings(report), 1);
  EXPECT_NE(std::string(warploom_report_text(report)).find("error STEP-LIMIT"), std::string::npos);
  EXPECT_NE(std::string(warploom_report_json(report)).find("\"code\": \"STEP-LIMIT\""), std::string::npos);
  warploom_report_release(report);
}

TEST(CApi, APlanSaysWhatItIs) {
  Small small;
  warploom_plan* plan = nullptr;
  ASSERT_EQ(warploom_plan_gemm(&small.p, WARPLOOM_SM100, 148, nullptr, &plan), WARPLOOM_OK) << warploom_error();
  EXPECT_STREQ(warploom_error(), "");
  const auto same = plan_gemm({.m = 64,
                               .n = 64,
                               .k = 64,
                               .a = {small.p.a, DType::bf16, 64},
                               .b = {small.p.b, DType::bf16, 64},
                               .d = {small.p.d, DType::bf16, 64}},
                              ChipLimits::of(Chip::sm100));
  ASSERT_TRUE(same);
  EXPECT_STREQ(warploom_plan_config(plan), same->config->key);
  EXPECT_EQ(warploom_plan_why(plan), same->why);
  EXPECT_EQ(warploom_plan_splits(plan), same->splits);
  EXPECT_EQ(warploom_plan_ctas(plan), same->ctas);
  EXPECT_EQ(warploom_plan_predicted_us(plan), same->predicted_us);
  warploom_plan_release(plan);
}

TEST(CApi, ErrorsAreEachThreadsOwn) {
  expect_refused(warploom_gemm_supported_on(nullptr, 0), WARPLOOM_BAD_ARGUMENT, "null");
  std::thread([] {
    EXPECT_STREQ(warploom_error(), "");
    EXPECT_EQ(warploom_error_code(), WARPLOOM_OK);
    Small small;
    EXPECT_EQ(warploom_gemm_supported_on(&small.p, WARPLOOM_SM100), WARPLOOM_OK);
  }).join();
  EXPECT_EQ(warploom_error_code(), WARPLOOM_BAD_ARGUMENT);
}

/// The columns of one buffer, as a product of Q, K and V leaves them.
TEST(CApi, OutputsInTheColumnsOfOneBuffer) {
  Small small;
  std::vector<uint16_t> buffer(size_t{64} * 3 * 64);
  for (int slice = 0; slice < 3; ++slice) {
    warploom_gemm_problem p = small.p;
    p.d = buffer.data() + 64 * slice;
    p.c = buffer.data() + 64 * ((slice + 1) % 3);
    p.c_stride = p.d_stride = 3 * 64;
    p.beta = 1;
    const Plan plan = plan_of(p);
    ASSERT_NE(plan, nullptr) << warploom_error();
    warploom_loom_options options = WARPLOOM_LOOM_OPTIONS_INIT;
    options.check = 1;
    EXPECT_EQ(warploom_run_on_loom(&p, plan.get(), &options, nullptr), WARPLOOM_OK) << warploom_error();
  }
}

TEST(CApi, ARepeatedPlanTakesAboutAMicrosecond) {
  Small small;
  double best = 1e9;
  for (int batch = 0; batch < 40; ++batch) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 200; ++i) {
      warploom_plan* plan = nullptr;
      if (warploom_plan_gemm(&small.p, WARPLOOM_SM90, 0, nullptr, &plan) != WARPLOOM_OK) FAIL() << warploom_error();
      warploom_plan_release(plan);
    }
    best = std::min(best,
                    std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count() / 200);
  }
  std::printf("a repeated warploom_plan_gemm takes %.3f us\n", best);
  EXPECT_LT(best, most_microseconds);
}

/// Structs of any bytes: a status each time, a sentence with each that is not 0.
void any_bytes(int calls, uint64_t seed) {
  std::mt19937_64 random(seed);
  Small small;
  int refused = 0;
  for (int i = 0; i < calls; ++i) {
    warploom_gemm_problem p = small.p;
    auto* const bytes = reinterpret_cast<unsigned char*>(&p);
    const int changes = 1 + static_cast<int>(random() % 6);
    for (int c = 0; c < changes; ++c) {
      const size_t at = random() % sizeof(p);
      bytes[at] = random() % 3 == 0 ? static_cast<unsigned char>(random()) : random() % 2 == 0 ? 0xff : 0;
    }
    warploom_plan* plan = nullptr;
    const int status = warploom_plan_gemm(&p, static_cast<int32_t>(random() % 3),
                                          static_cast<int32_t>(random() % 200) - 10, nullptr, &plan);
    ASSERT_EQ(status == WARPLOOM_OK, plan != nullptr);
    ASSERT_EQ(status == WARPLOOM_OK, *warploom_error() == '\0');
    ASSERT_NE(status, WARPLOOM_INTERNAL) << warploom_error();
    refused += status != WARPLOOM_OK ? 1 : 0;
    warploom_plan_release(plan);
  }
  EXPECT_GT(refused, calls / 4);
  EXPECT_LT(refused, calls);
}

TEST(CApi, StructsOfAnyBytes) { any_bytes(4000, 1); }
TEST(CApiFull, StructsOfAnyBytes) { any_bytes(200'000, 2); }

}  // namespace
}  // namespace warploom
