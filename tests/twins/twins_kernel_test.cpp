// The hand-written twins of bench/twins give the right words under every kind of schedule, so that a comparison with
// them is one with a kernel that works.
#include <gtest/gtest.h>

#include "../../bench/twins/hopper_gemm_pair.hpp"
#include "../../bench/twins/per_k_epilogue_twin.hpp"
#include "../../bench/twins/two_stage_copy_twin.hpp"
#include "../../examples/hopper_gemm_cases.hpp"
#include "../../examples/loom_machine.hpp"
#include "../../examples/per_k_epilogue_cases.hpp"
#include "../../examples/two_stage_copy_cases.hpp"

namespace warploom::twins {
namespace {

using examples::Case;
using examples::Comparison;
using examples::LoomMachine;

using CopyTwin = TwoStageCopyTwin<examples::TwoStageCopyParams>;
template <int group>
using PerKTwin = PerKEpilogueTwin<examples::PerKEpilogueParams, group>;
using Hopper = examples::HopperGemmCheck<LoomMachine>;

struct Twin {
  Case<LoomMachine> experiment;
  loom::Chip chip;
};

const Twin all[] = {
    {{"copy", [](LoomMachine& m, Comparison& w) { examples::check_two_stage_copy<CopyTwin>(m, w, 201, 260, 12, 2); }},
     loom::Chip::sm90},
    {{"hopper-1x1",
      [](LoomMachine& m, Comparison& w) { Hopper::run<HopperGemmTwinSide<1>>(m, w, {264, 520, 328, 2}); }},
     loom::Chip::sm90},
    {{"hopper-2x1",
      [](LoomMachine& m, Comparison& w) { Hopper::run<HopperGemmTwinSide<2>>(m, w, {264, 520, 328, 1}); }},
     loom::Chip::sm90},
    // The library's side of this pair is not an example as it stands.
    {{"hopper-library",
      [](LoomMachine& m, Comparison& w) { Hopper::run<HopperGemmSide<2>>(m, w, {264, 520, 328, 1}); }},
     loom::Chip::sm90},
    {{"per-k-1sm",
      [](LoomMachine& m, Comparison& w) { examples::check_per_k_epilogue<PerKTwin<1>>(m, w, 201, 260, 656, 1); }},
     loom::Chip::sm100},
    {{"per-k-2sm",
      [](LoomMachine& m, Comparison& w) { examples::check_per_k_epilogue<PerKTwin<2>>(m, w, 264, 201, 656, 1); }},
     loom::Chip::sm100},
};

class Twins : public testing::TestWithParam<const char*> {};

TEST_P(Twins, GiveTheRightWordsUnderThisSchedule) {
  const Result<loom::Schedule> schedule = loom::Schedule::parse(GetParam());
  ASSERT_TRUE(schedule);
  for (const Twin& twin : all) {
    LoomMachine machine(*schedule, twin.chip);
    const examples::Verdict verdict = run_case(machine, twin.experiment);
    EXPECT_TRUE(verdict.ok()) << verdict.name << ": " << verdict.trouble;
  }
}

INSTANTIATE_TEST_SUITE_P(Schedules, Twins,
                         testing::Values("eager", "lazy", "adversarial", "random:1", "random:2:skew=1"),
                         [](const auto& test) {
                           std::string name = test.param;
                           for (char& c : name)
                             if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
                           return name;
                         });

}  // namespace
}  // namespace warploom::twins
