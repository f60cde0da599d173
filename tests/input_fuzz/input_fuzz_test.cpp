// Some hundred random inputs of each domain, many thousand in the suites in `Full`; main.cpp tries as many as one
// likes.
#include <gtest/gtest.h>

#include "input_fuzz/many.hpp"

namespace warploom::test::input_fuzz {
namespace {

/// None is answered wrongly; and there are enough that are right, and enough that are refused.
void expect_none_broken(Domain domain, uint64_t first_seed, uint64_t count) {
  const Tally tally = try_many(domain, first_seed, count, 1,
                               [](const Judged& judged) { ADD_FAILURE() << judged.broken << "\n  " << judged.input; });
  EXPECT_EQ(tally.broken, 0u);
  EXPECT_EQ(tally.inputs, count);
  EXPECT_GT(tally.codes[0], count / 50) << "hardly any input is right";
  EXPECT_LT(tally.codes[0], count - count / 10) << "hardly any input is refused";
}

TEST(InputFuzz, CommandLines) { expect_none_broken(Domain::commands, 1, 120); }
TEST(InputFuzz, TensorFiles) { expect_none_broken(Domain::tensors, 1, 120); }
TEST(InputFuzz, StatesOfExplorations) { expect_none_broken(Domain::states, 1, 60); }
TEST(InputFuzz, CallsOfC) { expect_none_broken(Domain::c_calls, 1, 300); }

constexpr uint64_t many = sanitized ? 500 : 3000;
TEST(InputFuzzFull, CommandLines) { expect_none_broken(Domain::commands, 1'000'000, many); }
TEST(InputFuzzFull, TensorFiles) { expect_none_broken(Domain::tensors, 1'000'000, many); }
TEST(InputFuzzFull, StatesOfExplorations) { expect_none_broken(Domain::states, 1'000'000, many); }
TEST(InputFuzzFull, CallsOfC) { expect_none_broken(Domain::c_calls, 1'000'000, many * 4); }

// ---- a program that answers wrongly would be noticed

Ended ending(int code, std::string out, std::string error = "") {
  Ended ended;
  ended.code = code;
  ended.out = std::move(out);
  ended.error = std::move(error);
  return ended;
}

TEST(InputFuzzNotices, EndsWithoutAnAnswer) {
  const std::vector<std::string> words = {"run", "gemm"};
  Ended ended = ending(0, "");
  ended.signal = SIGSEGV;
  EXPECT_EQ(broken_by(words, ended), "signal 11 ended it");
  ended = ending(0, "");
  ended.hung = true;
  EXPECT_NE(broken_by(words, ended).find("had not ended"), std::string::npos);
  EXPECT_EQ(broken_by(words, ending(134, "")), "exit code 134");
  EXPECT_EQ(broken_by(words, ending(2, "", "")), "no sentence says why");
  EXPECT_EQ(broken_by(words, ending(2, "", "warploom: --m is empty\n")), "");
  EXPECT_EQ(broken_by(words, ending(0, "\033[1mright")), "it prints what a terminal would obey");
}

TEST(InputFuzzNotices, DocumentsThatAreNone) {
  const std::vector<std::string> words = {"run", "gemm", "--json"};
  EXPECT_NE(broken_by(words, ending(0, "")), "");
  EXPECT_NE(broken_by(words, ending(0, "{\"schema\": 1} right")), "");
  EXPECT_NE(broken_by(words, ending(0, "{\"schema\": 2}")), "");
  EXPECT_NE(broken_by(words, ending(0, "{\"schema\": 1, \"kernel\": \"\xc3\xa9\"}")), "");
  EXPECT_NE(broken_by(words, ending(2, "{\"schema\": 1, \"exit\": 2}")), "");
  EXPECT_NE(broken_by(words, ending(2, "{\"schema\": 1, \"error\": \"no\", \"exit\": 3}")), "");
  EXPECT_EQ(broken_by(words, ending(2, "{\"schema\": 1, \"error\": \"no\", \"exit\": 2}")), "");
}

TEST(InputFuzzNotices, RunsOfAnotherProblem) {
  const auto document = [](int m, double beta) {
    return "{\"schema\": 1, \"correct\": true, \"m\": " + std::to_string(m) +
           ", \"n\": 8, \"k\": 1024, \"batch\": 1, " + "\"alpha\": 1.0, \"beta\": " + std::to_string(beta) +
           ", \"config\": \"x\", \"target\": \"loom:sm90\", \"numerics\": \"fast\", \"elements_compared\": " +
           std::to_string(m * 8) + "}";
  };
  const std::vector<std::string> words = {"run", "gemm", "--m=5", "--n", "8", "--beta", "0.5", "--json"};
  EXPECT_EQ(unlike_asked(words, ending(0, document(5, 0.5))), "");
  EXPECT_NE(unlike_asked(words, ending(0, document(512, 0.5))), "");
  EXPECT_NE(unlike_asked(words, ending(0, document(5, 0))), "");
  EXPECT_NE(unlike_asked({"run", "gemm", "--m", "", "--n", "8", "--json"}, ending(0, document(5, 0))), "");
  EXPECT_NE(unlike_asked({"run", "gemm", "--m", "5", "--m", "6", "--n", "8", "--json"}, ending(0, document(5, 0))), "");
  EXPECT_NE(unlike_asked({"run", "gemm", "--m", "6", "--n", "8"}, ending(0, "gemm 5 x 8 x 1024 on loom:sm90")), "");
}

}  // namespace
}  // namespace warploom::test::input_fuzz
