// The recorded sweep, and small ones made up.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tune/sweep.hpp"

namespace warploom::tune {

inline std::string recorded_file() { return WARPLOOM_TEST_DATA "/h200_plans.json"; }

inline const Sweep& recorded() {
  static const Result<Sweep> sweep = read_sweep(recorded_file());
  static const Sweep none;
  EXPECT_TRUE(sweep) << sweep.error();
  return sweep ? *sweep : none;
}

/// Writes a file that goes away with the test.
struct File {
  explicit File(const std::string& text)
      : path(testing::TempDir() + "warploom_tune_" + testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::ofstream(path) << text;
  }
  ~File() { std::remove(path.c_str()); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  std::string path;
};

}  // namespace warploom::tune
