// Command lines: words that belong there, values at the edge of what they may be, and words that nobody means.
#include <fmt/format.h>

#include <algorithm>

#include "bench/dice.hpp"
#include "input_fuzz/input_fuzz.hpp"

namespace warploom::test::input_fuzz {
namespace {

using bench::Dice;
using Words = std::vector<std::string>;

struct Option {
  const char* name;
  Words values;  ///< that may be right; none: a flag
};

const Words small_extents = {"1", "7", "8", "16", "63", "64", "65", "100", "128", "130", "200"};
const Words configs = {"auto",
                       "bf16-kk-128x256-coop-2x1",
                       "bf16-kk-64x64-one-1x1",
                       "bf16-kk-64x8-one-1x1-swap",
                       "bf16-kk-64x128-2sm-2x2-clc",
                       "e4m3-blocks-128x64-1sm-1x2",
                       "e4m3-rows-128x128-2sm-2x1-clc",
                       "nobody"};

const std::vector<Option> problem_options = {
    {"--m", small_extents},
    {"--n", small_extents},
    {"--k", small_extents},
    {"--alpha", {"1", "0", "-2.5", "0.125", "1e-20", "1e30"}},
    {"--beta", {"0", "1", "-1", "0.5", "3e38"}},
    {"--batch", {"1", "2", "3", "0"}},
    {"--a-type", {"bf16", "f16", "e4m3", "e5m2", "f32"}},
    {"--b-type", {"bf16", "f16", "e4m3", "e5m2", "f32"}},
    {"--d-type", {"bf16", "f16", "f32", "e4m3"}},
    {"--a-major", {"k", "mn"}},
    {"--b-major", {"k", "mn"}},
    {"--b-scales", {"blocks", "rows"}},
    {"--bias", {"n", "m", "none"}},
    {"--bias-type", {"f32", "bf16", "f16"}},
    {"--activation", {"none", "relu", "gelu", "gelu_tanh", "silu"}},
    {"--sms", {"0", "1", "2", "4"}},
    {"--on", {"loom:sm90", "loom:sm100", "gpu"}},
    {"--json", {}},
};
const std::vector<Option> run_options = {
    {"--config", configs},
    {"--splits", {"0", "1", "2", "3"}},
    {"--schedule", {"eager", "random:7f3a", "lazy", "lazy:0:skew=1", "adversarial:3", "eager:hold=0.3:refuse=0.5"}},
    {"--policy", {"eager", "lazy", "random", "adversarial"}},
    {"--seed", {"0", "1", "18446744073709551615"}},
    {"--numerics", {"fast", "exact"}},
    {"--data", {"normal", "uniform", "integer", "ring"}},
    {"--data-seed", {"1", "2"}},
    {"--workers", {"0", "1", "2"}},
    {"--mutate", {"drop@0", "drop@3", "repeat@1", "drop@100000", "delay@2"}},
    {"--tensors", {"made", "none"}},
};
const std::vector<Option> of_run = {
    {"--out", {"d", "./d", "d", "/dev/stdout"}}, {"--timeline", {}}, {"--sites", {}}, {"--launches", {"1", "3"}}};
const std::vector<Option> of_check = {{"--explore", {}},
                                      {"--deviations", {"0", "1", "2"}},
                                      {"--seconds", {"0", "0.1", "1"}},
                                      {"--resume", {"state"}},
                                      {"--suppress", {"RACE-SMEM", "DEADLOCK@file.hpp", "UNINIT-SMEM@a.hpp:12"}},
                                      {"--mode", {"integer"}},
                                      {"--replay", {"eager", "random:1"}}};
const std::vector<Option> of_mutate = {{"--unchecked", {}}};
const std::vector<Option> of_bench = {{"--list", {}},
                                      {"--suite", {"dense", "blockwise", "decode", "epilogue", "nobody"}},
                                      {"--shape", {"64x64x64", "1x2", "64x64x64x64", "axbxc"}},
                                      {"--kind", {"bf16", "blockwise"}},
                                      {"--json", {"bench.json"}},
                                      {"--svg", {"bench.svg"}},
                                      {"--random", {"1", "0"}},
                                      {"--all-plans", {}},
                                      {"--exact-hashes", {"hashes"}}};
const std::vector<Option> of_explain = {{"RACE-SMEM", {}}, {"DEADLOCK", {}}, {"RACE", {}}, {"--json", {}}};

/// Values that are hardly ever right.
std::string odd_value(Dice& dice) {
  const Words odd = {"",
                     " ",
                     "-1",
                     "+5",
                     "010",
                     "0064",
                     "08",
                     "1e-60",
                     "0.0001",
                     "0x10",
                     "1e3",
                     "1.5",
                     "5 ",
                     "5k",
                     "nan",
                     "inf",
                     "-inf",
                     "1e400",
                     "2147483647",
                     "2147483648",
                     "-2147483649",
                     "4294967296",
                     "9223372036854775807",
                     "18446744073709551616",
                     "100000000000000000000000",
                     "--",
                     "-",
                     "--json",
                     "@state",
                     "none,none",
                     "\xff",
                     "\xc3\xa9",
                     "\xed\xa0\x80",
                     "\033]0;owned\a",
                     "\r\n",
                     "%s%n",
                     "/nowhere/file",
                     "/dev/null",
                     "/dev/full",
                     "/",
                     ".",
                     "no\\such",
                     "{\"m\":1}",
                     std::string(300, 'a'),
                     std::string(5000, '9'),
                     "\xd9\xa3"};
  return odd[static_cast<size_t>(dice.below(static_cast<int>(odd.size())))];
}

const std::string& one_of(Dice& dice, const Words& words) {
  return words[static_cast<size_t>(dice.below(static_cast<int>(words.size())))];
}

bool gave(const Words& words, const std::string& option) {
  return std::any_of(words.begin(), words.end(),
                     [&](const std::string& word) { return word == option || word.starts_with(option + "="); });
}

class Line {
 public:
  explicit Line(uint64_t seed) : dice_(seed) {}

  Words make() {
    const char* const command = dice_.of({"run", "run", "run", "run", "run", "run", "check", "check", "plan", "plan",
                                          "mutate", "bench", "kernels", "machine", "explain", "frob"});
    const std::string name = command;
    if (!dice_.one_in(100)) words_.push_back(name);
    const bool of_gemm = name == "run" || name == "check" || name == "plan" || name == "mutate";
    if (of_gemm && !dice_.one_in(25))
      words_.push_back(dice_.one_in(15) ? odd_value(dice_) : dice_.of({"gemm", "gemm", "gemm", "blockwise-fp8"}));
    if (of_gemm) some(problem_options, 7);
    if (of_gemm && name != "plan") some(run_options, 9);
    if (name == "run") some(of_run, 5);
    if (name == "check") some(of_check, 5);
    if (name == "mutate") some(of_mutate, 2);
    if (name == "bench") some(of_bench, 5);
    if (name == "explain") some(of_explain, 3);
    if (name == "kernels" || name == "machine") some({{"--json", {}}}, 2);
    if (of_gemm && name != "plan") keep_it_short(name);
    while (dice_.one_in(12)) disturb();
    return words_;
  }

 private:
  void add(const Option& option) {
    words_.emplace_back(option.name);
    if (option.values.empty()) return;
    const std::string value = dice_.one_in(9) ? odd_value(dice_) : one_of(dice_, option.values);
    if (dice_.one_in(6))
      words_.back() += "=" + value;
    else
      words_.push_back(value);
  }
  void some(const std::vector<Option>& options, int one_in) {
    for (const Option& option : options)
      if (dice_.one_in(one_in)) add(option);
  }
  /// A run that takes its time is no hang.
  void keep_it_short(const std::string& name) {
    const bool tiny = name != "run" || gave(words_, "--numerics") || sanitized;
    const auto unless_given = [&](const char* option, const std::string& value) {
      if (gave(words_, option)) return;
      words_.emplace_back(option);
      words_.push_back(value);
    };
    for (const char* extent : {"--m", "--n", "--k"})
      if (tiny || !dice_.one_in(3)) unless_given(extent, one_of(dice_, small_extents));
    if (name == "check") unless_given("--schedules", "2");
    if (name == "mutate") unless_given("--sms", "1");
    if (name == "mutate" && !gave(words_, "--unchecked")) words_.emplace_back("--unchecked");
  }
  void disturb() {
    const auto somewhere = [&] { return words_.begin() + dice_.below(static_cast<int>(words_.size()) + 1); };
    switch (dice_.below(6)) {
      case 0: words_.insert(somewhere(), odd_value(dice_)); return;
      case 1:
        words_.insert(somewhere(), dice_.of({"--frob", "-x", "--help", "--version", "-h", "run", "--mm"}));
        return;
      case 2:
        if (!words_.empty()) words_.insert(somewhere(), one_of(dice_, Words(words_)));
        return;
      case 3:
        if (words_.size() > 1) words_.erase(words_.begin() + dice_.below(static_cast<int>(words_.size())));
        return;
      case 4:
        if (words_.size() > 1) {
          std::string& word = words_[static_cast<size_t>(dice_.below(static_cast<int>(words_.size())))];
          if (!word.empty())
            word[static_cast<size_t>(dice_.below(static_cast<int>(word.size())))] ^= 1 << dice_.below(7);
          std::erase(word, '\0');
        }
        return;
      default:
        if (words_.size() > 2) std::swap(words_[words_.size() - 1], words_[words_.size() - 2]);
    }
  }

  Dice dice_;
  Words words_;
};

/// Takes the time that its user asks for, which is no hang: every configuration, or a mutation of each operation of a
/// problem that is not small.
bool asks_for_much(const Words& words) {
  if (gave(words, "--all") || gave(words, "demo") || gave(words, "--every-schedule")) return true;
  const bool mutates = gave(words, "mutate");
  for (const char* extent : {"--m", "--n", "--k"})
    if (mutates && !gave(words, extent)) return true;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string value = words[i].substr(words[i].find('=') + 1);
    const bool number = !value.empty() && value.find_first_not_of("0123456789") == std::string::npos;
    if (number && value.size() < 12 && value.size() > (sanitized ? 3 : 4) && !value.starts_with("0")) return true;
  }
  return false;
}

std::string judge(const Words& words, const Folder& folder, Judged& judged) {
  const std::string out = folder.file("d"), old = "as it was";
  const bool had_file = words.size() % 2 == 0;
  if (had_file) std::ofstream(out) << old;
  const Ended ended = run_limited(words, folder, judged.seconds);
  judged.code = ended.code;
  const std::string there = content_of(out);
  for (const auto& entry : std::filesystem::directory_iterator(folder.path)) {
    if (entry.path().filename().string().starts_with(".warploom-unfinished-")) judged.broken = "a file is left over";
    std::filesystem::remove_all(entry.path());
  }
  if (!judged.broken.empty()) return judged.broken;
  if (std::string broken = broken_by(words, ended); !broken.empty()) return broken;
  if (ended.code != 0 && had_file && there != old) return "it failed, and the old file is gone";
  if (words.empty()) return {};
  const bool mutates = gave(words, "--mutate");
  if (ended.code == 1 && !mutates && (words.front() == "run" || words.front() == "check"))
    return "a kernel as it is shipped is said to be wrong";
  const bool helps = gave(words, "--help") || gave(words, "-h") || gave(words, "--version");
  if (ended.code == 0 && words.front() == "run" && !gave(words, "--sites") && !helps) return unlike_asked(words, ended);
  return {};
}

}  // namespace

Judged try_command(uint64_t seed, const Folder& folder) {
  Words words = Line(seed).make();
  for (uint64_t again = 1; asks_for_much(words); ++again) words = Line(seed + again * 0x100000000).make();
  Judged judged;
  judged.broken = judge(words, folder, judged);
  // What is not needed for it is left out.
  for (size_t i = 0; !judged.broken.empty() && i < words.size();) {
    Words fewer = words;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    Judged smaller;
    if (asks_for_much(fewer) || judge(fewer, folder, smaller) != judged.broken) {
      ++i;
      continue;
    }
    words = fewer;
  }
  judged.input = quoted(words);
  return judged;
}

}  // namespace warploom::test::input_fuzz
