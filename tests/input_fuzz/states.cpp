// Files of `check --resume`, damaged: a kernel that fails never holds because of what such a file says, and one that
// holds never fails. A file that is not as it was written is refused.
#include <fmt/format.h>

#include <map>

#include "bench/dice.hpp"
#include "input_fuzz/input_fuzz.hpp"
#include "support/json.hpp"

namespace warploom::test::input_fuzz {
namespace {

using bench::Dice;

struct Subject {
  std::vector<std::string> words;
  bool fails = false;
  std::string state;  ///< after three schedules or its failure
};

Subject begun(std::vector<std::string> words, bool fails, const Folder& folder) {
  Subject subject{std::move(words), fails, {}};
  const std::string file = folder.file("state");
  std::vector<std::string> begin = subject.words;
  begin.insert(begin.end(), {"--resume", file, "--schedules", "3"});
  double seconds = 0;
  const Ended ended = run_limited(begin, folder, seconds);
  subject.state = content_of(file);
  std::filesystem::remove(file);
  if (ended.code != (fails ? 1 : 0) || subject.state.empty()) subject.words.clear();
  return subject;
}

const std::vector<Subject>& subjects(const Folder& folder) {
  static const std::vector<Subject> made = [&] {
    const std::vector<std::string> gemm = {"check", "gemm", "--m", "64", "--n", "64", "--k", "200", "--sms", "1"};
    std::vector<Subject> list;
    list.push_back(begun({"check", "blockwise-fp8", "--b-scales", "rows", "--config", "e4m3-rows-128x128-2sm-2x1-clc",
                          "--m", "300", "--n", "176", "--k", "128", "--sms", "2"},
                         false, folder));
    list.push_back(begun(gemm, false, folder));
    for (const char* mutation : {"drop@4", "drop@6", "flip_parity@6", "twice@5", "drop@8", "drop@2"}) {
      std::vector<std::string> words = gemm;
      words.insert(words.end(), {"--mutate", mutation});
      Subject subject = begun(words, true, folder);
      if (!subject.words.empty()) list.push_back(std::move(subject));
    }
    return list;
  }();
  return made;
}

/// Numbers, lists and texts of the document changed where they stand.
void change_values(json& value, Dice& dice) {
  if (value.is_object() || value.is_array()) {
    if (value.empty()) {
      if (value.is_array() && dice.one_in(2)) value.push_back(dice.below(3));
      return;
    }
    auto at = value.begin();
    std::advance(at, dice.below(static_cast<int>(value.size())));
    if (dice.one_in(12))
      value.erase(at);
    else
      change_values(*at, dice);
  } else if (value.is_number()) {
    const uint64_t numbers[] = {0, 1, 2, 3, 4, 255, 4'000'000'000, 1'000'000'000'001, ~uint64_t{0}};
    value = numbers[dice.below(static_cast<int>(std::size(numbers)))];
  } else {
    const char* const texts[] = {"", "eager", "random:1", "RACE-SMEM", "none", "\xc3\xa9"};
    value = texts[dice.below(static_cast<int>(std::size(texts)))];
  }
}

std::string damaged(const std::string& state, const std::string& other, Dice& dice) {
  if (dice.one_in(6)) return state;  // as it was written
  std::string text = state;
  const auto at = [&] { return static_cast<size_t>(dice.below(static_cast<int>(text.size()))); };
  switch (dice.below(6)) {
    case 0: text[at()] = static_cast<char>(dice.below(256)); return text;
    case 1: text[at()] ^= static_cast<char>(1 << dice.below(8)); return text;
    case 2: text.resize(at()); return text;
    case 3: return text.substr(0, at()) + other.substr(std::min(other.size(), at()));
    case 4: return other;
    default: {
      json document = json::parse(text, nullptr, false);
      for (int i = dice.between(1, 4); i > 0; --i) change_values(document, dice);
      return document.dump(-1, ' ', false, json::error_handler_t::replace);
    }
  }
}

}  // namespace

Judged try_state(uint64_t seed, const Folder& folder) {
  Dice dice(seed);
  Judged judged;
  const std::vector<Subject>& all = subjects(folder);
  if (all.size() < 4 || all[0].words.empty() || all[1].words.empty()) {
    judged.broken = "there are no states to begin with";
    return judged;
  }
  const auto any = [&]() -> const Subject& {
    return all[static_cast<size_t>(dice.below(static_cast<int>(all.size())))];
  };
  const Subject& subject = any();
  const std::string file = folder.file("state"), text = damaged(subject.state, any().state, dice);
  std::ofstream(file, std::ios::binary) << text;
  std::vector<std::string> words = subject.words;
  words.insert(words.end(), {"--resume", file, "--schedules", "4"});
  if (dice.one_in(2)) words.emplace_back("--json");
  const Ended ended = run_limited(words, folder, judged.seconds);
  judged.code = ended.code;
  judged.input = fmt::format("state, seed {}: {}", seed, quoted(words));
  judged.broken = broken_by(words, ended);
  if (judged.broken.empty()) {
    const bool as_written = text == subject.state;
    if (subject.fails && ended.code == 0)
      judged.broken = "a kernel that fails is said to hold";
    else if (!subject.fails && ended.code == 1)
      judged.broken = "a kernel that holds is said to fail";
    else if (as_written && ended.code == 2)
      judged.broken = "a state as it was written is refused";
    else if (ended.code == 2 && content_of(file) != text)
      judged.broken = "a file that was refused is written over";
  }
  std::filesystem::remove(file);
  return judged;
}

}  // namespace warploom::test::input_fuzz
