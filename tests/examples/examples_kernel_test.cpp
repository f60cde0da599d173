// The examples: their kernels on the loom under every kind of schedule, and the hashes that a GPU must reproduce
// (Hopper; those named *_sm100: Blackwell). WARPLOOM_UPDATE_HASHES=1 writes examples/gpu/expected_hashes.txt anew.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "../../examples/arch_check_cases.hpp"
#include "../../examples/blackwell_gemm_cases.hpp"
#include "../../examples/hopper_gemm_cases.hpp"
#include "../../examples/loom_machine.hpp"
#include "../../examples/mma_epilogue_cases.hpp"
#include "../../examples/per_k_epilogue_cases.hpp"
#include "../../examples/residual_add_cases.hpp"
#include "../../examples/tcgen05_check_cases.hpp"
#include "../../examples/two_readers_cases.hpp"
#include "../../examples/two_stage_copy_cases.hpp"
#include "../../examples/wgmma_check_cases.hpp"

namespace warploom::examples {
namespace {

struct Program {
  const char* name;
  std::vector<Case<LoomMachine>> cases;
  loom::Chip chip = loom::Chip::sm90;
};

std::vector<Program> programs() {
  return {{"arch_check", arch_check_cases<LoomMachine>()},
          {"blackwell_gemm_sm100", blackwell_gemm_cases<LoomMachine>(), loom::Chip::sm100},
          {"mma_epilogue_sm100", mma_epilogue_cases<LoomMachine>(), loom::Chip::sm100},
          {"per_k_epilogue_sm100", per_k_epilogue_cases<LoomMachine>(), loom::Chip::sm100},
          {"residual_add", residual_add_cases<LoomMachine>()},
          {"two_readers", two_readers_cases<LoomMachine>()},
          {"two_stage_copy", two_stage_copy_cases<LoomMachine>()},
          {"wgmma_check", wgmma_check_cases<LoomMachine>()},
          {"hopper_gemm", hopper_gemm_cases<LoomMachine>()},
          {"tcgen05_check_sm100", tcgen05_check_cases<LoomMachine>(), loom::Chip::sm100}};
}

std::string hashes_file() { return WARPLOOM_TEST_DATA "/../../examples/gpu/expected_hashes.txt"; }

class Examples : public testing::TestWithParam<const char*> {};

TEST_P(Examples, GiveTheSameWordsUnderThisSchedule) {
  const Result<loom::Schedule> schedule = loom::Schedule::parse(GetParam());
  ASSERT_TRUE(schedule);
  std::ostringstream hashes;
  hashes
      << "# What every case of examples/gpu must print, as the loom computed it: program, case, 64-bit FNV-1a of the\n"
         "# output. Written by tests/examples with WARPLOOM_UPDATE_HASHES=1.\n";
  for (const Program& program : programs())
    for (const Case<LoomMachine>& experiment : program.cases) {
      LoomMachine machine(*schedule, program.chip);
      const Verdict verdict = run_case(machine, experiment);
      EXPECT_TRUE(verdict.ok()) << program.name << " " << verdict.name << ": " << verdict.trouble;
      hashes << program.name << " " << verdict.name << " " << hash_text(verdict.hash) << "\n";
    }
  if (std::getenv("WARPLOOM_UPDATE_HASHES") != nullptr && !HasFailure()) std::ofstream(hashes_file()) << hashes.str();
  std::ifstream file(hashes_file());
  std::ostringstream kept;
  kept << file.rdbuf();
  EXPECT_EQ(kept.str(), hashes.str()) << "examples/gpu/expected_hashes.txt is out of date: run this test with "
                                         "WARPLOOM_UPDATE_HASHES=1, then ./dev gpu conformance on a Hopper GPU";
}

void expect_clean_under_the_checker(const char* schedule) {
  for (const Program& program : programs())
    for (const Case<LoomMachine>& experiment : program.cases) {
      LoomMachine machine(*loom::Schedule::parse(schedule), program.chip);
      machine.check();
      run_case(machine, experiment);
      EXPECT_EQ(machine.trouble(), "") << program.name << ", " << experiment.name << ", " << schedule;
    }
}

TEST(CheckedExamples, AreClean) { expect_clean_under_the_checker("eager"); }
TEST(CheckedExamplesFull, AreClean) {
  for (const char* schedule : {"lazy", "adversarial", "random:3", "random:4"}) expect_clean_under_the_checker(schedule);
}

INSTANTIATE_TEST_SUITE_P(Schedules, Examples,
                         testing::Values("eager", "lazy", "adversarial", "random:1", "random:2", "random:3:skew=0",
                                         "random:4:skew=1", "lazy:5", "adversarial:6"),
                         [](const auto& test) {
                           std::string name = test.param;
                           for (char& c : name)
                             if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
                           return name;
                         });

}  // namespace
}  // namespace warploom::examples
