// wgmma with exact numerics against the plain model: every combination of types. The long test also keeps the hashes
// that a Hopper GPU must reproduce; WARPLOOM_UPDATE_HASHES=1 writes examples/gpu/expected_exact.txt anew.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "../../examples/loom_machine.hpp"
#include "../../examples/wgmma_exact_cases.hpp"

namespace warploom::examples {
namespace {

std::string hashes_of(const std::vector<Case<LoomMachine>>& cases) {
  std::ostringstream hashes;
  hashes
      << "# What every case of examples/gpu/wgmma_exact.cu must print, as the loom computed it with exact numerics:\n"
         "# program, case, 64-bit FNV-1a of the output. Written by tests/examples with WARPLOOM_UPDATE_HASHES=1.\n";
  LoomMachine machine;
  machine.use(loom::Numerics::exact);
  for (const Case<LoomMachine>& experiment : cases) {
    const Verdict verdict = run_case(machine, experiment);
    EXPECT_TRUE(verdict.ok()) << verdict.name << ": " << verdict.trouble;
    hashes << "wgmma_exact " << verdict.name << " " << hash_text(verdict.hash) << "\n";
  }
  return hashes.str();
}

TEST(WgmmaExact, SamplesOfEveryFormFollowTheModel) { hashes_of(wgmma_exact_samples<LoomMachine>()); }

TEST(WgmmaExactFull, AMillionProductsOfEveryForm) {
  const std::string file_name = WARPLOOM_TEST_DATA "/../../examples/gpu/expected_exact.txt";
  const std::string hashes = hashes_of(wgmma_exact_cases<LoomMachine>());
  if (std::getenv("WARPLOOM_UPDATE_HASHES") != nullptr && !HasFailure()) std::ofstream(file_name) << hashes;
  std::ifstream file(file_name);
  std::ostringstream kept;
  kept << file.rdbuf();
  EXPECT_EQ(kept.str(), hashes) << "examples/gpu/expected_exact.txt is out of date: run this test with "
                                   "WARPLOOM_UPDATE_HASHES=1, then ./dev gpu check on a Hopper GPU";
}

/// Fast numerics are another matter: the model tells them apart.
TEST(WgmmaExact, FastSumsDiffer) {
  LoomMachine machine;
  int differ = 0;
  for (const Case<LoomMachine>& experiment : wgmma_exact_samples<LoomMachine>()) {
    const std::string name = experiment.name;
    if (name == "f16-f32" || name == "bf16-f32" || name == "e4m3-e4m3-f32")
      differ += !run_case(machine, experiment).ok();
  }
  EXPECT_EQ(differ, 3);
}

}  // namespace
}  // namespace warploom::examples
