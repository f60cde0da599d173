// warploom-hints as its users meet it.
#include "support/program.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "sass/code.hpp"
#include "sass/cubins.hpp"
#include "sass/promotion.hpp"

namespace warploom::sass {
namespace {

using Bytes = std::vector<std::byte>;

test::Output program(const std::string& arguments) {
  return test::run_program(std::string(WARPLOOM_HINTS_PROGRAM) + " " + arguments);
}

Bytes kernel_file() {
  return cubin({{".text.promotes", joined({{instruction(opcode_qgmma), instruction(Instruction::warpgroup)},
                                           promotion(64),
                                           {instruction(opcode_branch)}})},
                {".text.other", promotion(64)}});
}

class HintsProgram : public testing::Test {
 protected:
  void SetUp() override { write(kernel_file()); }
  void TearDown() override { std::remove(path_.c_str()); }
  void write(const Bytes& bytes) const {
    std::ofstream(path_, std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  Bytes content() const {
    std::ifstream in(path_, std::ios::binary);
    const std::string text(std::istreambuf_iterator<char>(in), {});
    const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
    return {bytes, bytes + text.size()};
  }
  std::string path_ =
      testing::TempDir() + "warploom_hints_" + testing::UnitTest::GetInstance()->current_test_info()->name() + ".cubin";
};

TEST_F(HintsProgram, ShowsWithoutChanging) {
  const test::Output output = program(path_);
  EXPECT_EQ(output.code, 0);
  EXPECT_NE(output.text.find("of   64 instructions to change: promotes"), std::string::npos) << output.text;
  EXPECT_EQ(output.text.find("other"), std::string::npos) << output.text;
  EXPECT_EQ(content(), kernel_file());
}

TEST_F(HintsProgram, ChangesNothingButHints) {
  EXPECT_EQ(program("--write --at-least 1 " + path_).code, 0);
  const Bytes before = kernel_file(), after = content();
  ASSERT_EQ(after.size(), before.size());
  const KernelCode kernel = find_kernels(before).at(0);
  Code expected = read_code(before, kernel);
  retime_promotion(expected);
  EXPECT_EQ(read_code(after, kernel), expected);
  for (size_t i = 0; i < after.size(); ++i) {
    const bool code = i >= kernel.offset && i < kernel.offset + kernel.count * sizeof(Instruction);
    ASSERT_TRUE(code || after[i] == before[i]) << i;
  }
  EXPECT_NE(program(path_).text.find("   0 of   64"), std::string::npos);
}

TEST_F(HintsProgram, Json) {
  const auto found = nlohmann::json::parse(program("--json " + path_).text);
  EXPECT_EQ(found["written"], false);
  ASSERT_EQ(found["kernels"].size(), 1u);
  EXPECT_EQ(found["kernels"][0]["kernel"], "promotes");
  EXPECT_EQ(found["kernels"][0]["what"], "promotion");
  EXPECT_EQ(found["kernels"][0]["instructions"], 64);
}

TEST_F(HintsProgram, FewerKernelsThanExpected) {
  const test::Output output = program("--at-least 2 " + path_);
  EXPECT_EQ(output.code, 1);
  EXPECT_NE(output.text.find("1 kernels to hint at, expected 2"), std::string::npos) << output.text;
}

TEST_F(HintsProgram, NothingToFind) {
  write(Bytes(100));
  const test::Output output = program(path_);
  EXPECT_EQ(output.code, 0);
  EXPECT_NE(output.text.find("nothing to hint at"), std::string::npos) << output.text;
}

TEST_F(HintsProgram, BadInput) {
  EXPECT_EQ(program("").code, 2);
  const test::Output output = program("--write /no/such/file");
  EXPECT_EQ(output.code, 2);
  EXPECT_NE(output.text.find("warploom-hints: cannot read /no/such/file"), std::string::npos) << output.text;
  EXPECT_EQ(program("--help").code, 0);
}

}  // namespace
}  // namespace warploom::sass
