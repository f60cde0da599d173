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
  return cubin({{".text._Z8promotesv", joined({{instruction(opcode_qgmma), instruction(Instruction::warpgroup)},
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
  EXPECT_NE(output.text.find("of   64 instructions to change: promotes()"), std::string::npos) << output.text;
  EXPECT_EQ(output.text.find("other"), std::string::npos) << output.text;
  EXPECT_EQ(content(), kernel_file());
}

TEST_F(HintsProgram, ChangesNothingButHints) {
  EXPECT_EQ(program("--write --promotions 1 " + path_).code, 0);
  const Bytes before = kernel_file(), after = content();
  ASSERT_EQ(after.size(), before.size());
  const auto kernels = find_kernels(before);
  Code promotes = read_code(before, kernels.at(0));
  retime_promotion(promotes);
  EXPECT_EQ(read_code(after, kernels[0]), promotes);
  const size_t code_end = kernels[0].offset + promotes.size() * sizeof(Instruction);
  for (size_t i = 0; i < after.size(); ++i) {
    const bool code = i >= kernels[0].offset && i < code_end;
    ASSERT_TRUE(code || after[i] == before[i]) << i;
  }
  const test::Output again = program(path_);
  EXPECT_NE(again.text.find("promotion:    0 of   64"), std::string::npos) << again.text;
}

TEST_F(HintsProgram, SeveralFiles) {
  const std::string second = path_ + ".second";
  std::ofstream(second, std::ios::binary) << std::ifstream(path_, std::ios::binary).rdbuf();
  EXPECT_EQ(program("--write --promotions 2 " + path_ + " " + second).code, 0);
  EXPECT_NE(content(), kernel_file());
  EXPECT_NE(program(second).text.find("promotion:    0 of   64"), std::string::npos);
  std::remove(second.c_str());
}

/// What came before a file that cannot be read is done, and said.
TEST_F(HintsProgram, ABadFileAfterAGoodOne) {
  const test::Output output = program("--write " + path_ + " /no/such/file");
  EXPECT_EQ(output.code, 2);
  EXPECT_NE(output.text.find("instructions changed: promotes()"), std::string::npos) << output.text;
  EXPECT_NE(output.text.find("cannot read /no/such/file"), std::string::npos) << output.text;
}

TEST_F(HintsProgram, Json) {
  const auto found = nlohmann::json::parse(program("--json " + path_).text);
  EXPECT_EQ(found["written"], false);
  ASSERT_EQ(found["kernels"].size(), 1u);
  EXPECT_GT(found["kernels"][0]["changed"], 30);
  EXPECT_EQ(found["kernels"][0]["conflicts"], 0);
  EXPECT_EQ(found["kernels"][0]["kernel"], "promotes()");
  EXPECT_EQ(found["kernels"][0]["what"], "promotion");
  EXPECT_EQ(found["kernels"][0]["instructions"], 64);
}

TEST_F(HintsProgram, FewerKernelsThanExpected) {
  const test::Output output = program("--promotions 2 " + path_);
  EXPECT_EQ(output.code, 1);
  EXPECT_NE(output.text.find("1 kernels with promotion, expected 2"), std::string::npos) << output.text;
  EXPECT_EQ(program("--promotions 1 " + path_).code, 0);
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
  EXPECT_EQ(program("--promotions -1 " + path_).code, 2);
  EXPECT_NE(program(testing::TempDir()).text.find("cannot read"), std::string::npos) << "a folder";
}

}  // namespace
}  // namespace warploom::sass
