// Every bug of the corpus is reported under every schedule, with its code and at its place; every correct twin is
// clean. With WARPLOOM_CORPUS_JSON set to a path, what was found is written there (tools/detection.py).
#include "corpus/corpus.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "docs/text.hpp"

namespace warploom::loom::corpus {
namespace {

const Entries& all_entries() {
  static const Entries entries = [] {
    Entries all;
    for (const auto& part : {ring_entries(), proxy_entries(), life_cycle_entries(), tensor_memory_entries(),
                             cluster_entries(), lane_mask_entries(), tensor_memory_rule_entries(), tma_entries(),
                             launch_control_entries(), collective_entries(), wgmma_entries(), sanitizer_entries(),
                             thread_entries(), grid_entries(), global_memory_entries(), counterexample_entries()})
      all.insert(all.end(), part.begin(), part.end());
    return all;
  }();
  return entries;
}

std::vector<Schedule> schedules_of(const Entry& entry) {
  std::vector<Schedule> list{
      {Policy::eager}, {Policy::lazy}, {Policy::adversarial}, {Policy::random, 1}, {Policy::random, 2}};
  for (int skew = 0; entry.ctas > 1 && skew < static_cast<int>(entry.ctas); ++skew) {
    list.push_back({Policy::eager, 0, skew});
    list.push_back({Policy::random, 3, skew});
  }
  return list;
}

bool marked(const Location& at) {
  return std::any_of(marks.begin(), marks.end(), [&](const Mark& mark) {
    return mark.line == at.user.line && file_name(mark.file) == file_name(at.user.file);
  });
}

bool at_its_place(const Report& report) {
  const Finding& finding = report.findings.front();
  if (marked(finding.at)) return true;
  for (const FindingSide& side : finding.sides)
    if (marked(side.at)) return true;
  if (finding.code != "DEADLOCK") return false;
  const auto brought = [](const std::vector<Contribution>& list) {
    return std::any_of(list.begin(), list.end(), [](const Contribution& c) { return marked(c.at); });
  };
  for (const Waiter& waiter : report.waiting)
    if (marked(waiter.at) || brought(waiter.contributions) || brought(waiter.previous)) return true;
  return false;
}

Outcome run_once(const Entry& entry, bool buggy, const Schedule& schedule) {
  Options options = with(schedule);
  options.check = true;
  options.workers = 1;
  options.step_limit = 2'000'000;
  marks.clear();
  std::fill(std::begin(output), std::end(output), 0u);
  std::fill(std::begin(input), std::end(input), 0x38383838u);
  if (entry.id == "37b")
    for (uint32_t i = 0; i < global_words; ++i) input[i] = i;
  return entry.run(buggy, options);
}

/// What the buggy form answers under all schedules: codes, and what is not as it should be.
struct Verdict {
  std::set<std::string> codes;
  std::vector<std::string> complaints;
};

Verdict judge(const Entry& entry) {
  Verdict verdict;
  if (entry.caught == Caught::on_the_host) {
    if (entry.refusal().empty()) verdict.complaints.push_back("not refused");
    return verdict;
  }
  for (const Schedule& schedule : schedules_of(entry)) {
    const auto complain = [&](const std::string& what, const Outcome& outcome) {
      verdict.complaints.push_back(schedule.text() + ": " + what + "\n" + to_text(outcome.report));
    };
    const Outcome bad = run_once(entry, true, schedule);
    std::string code = bad.ok() ? "nothing" : bad.report.findings.front().code;
    if (bad.ok() && entry.right && !entry.right()) code = "VALUE";
    verdict.codes.insert(code);
    if (std::find(entry.codes.begin(), entry.codes.end(), code) == entry.codes.end())
      complain("the bug is answered with " + code, bad);
    else if (!bad.ok() && !at_its_place(bad.report))
      complain("the report names no marked place", bad);
    const Outcome good = run_once(entry, false, schedule);
    if (!good.ok())
      complain("the twin is reported", good);
    else if (entry.right && !entry.right())
      complain("the twin's result is wrong", good);
  }
  return verdict;
}

class Corpus : public testing::TestWithParam<size_t> {};

TEST_P(Corpus, IsFoundAndItsTwinIsClean) {
  const Entry& entry = all_entries()[GetParam()];
  if (!entry.same_as.empty()) {
    const bool there = std::any_of(all_entries().begin(), all_entries().end(), [&](const Entry& other) {
      return other.id == entry.same_as && other.same_as.empty();
    });
    EXPECT_TRUE(there) << "there is no " << entry.same_as;
    return;
  }
  const Verdict verdict = judge(entry);
  for (const std::string& complaint : verdict.complaints)
    ADD_FAILURE() << entry.id << ", " << entry.title << ": " << complaint;
}

INSTANTIATE_TEST_SUITE_P(All, Corpus, testing::Range(size_t{0}, all_entries().size()),
                         [](const auto& param) { return "Bug" + all_entries()[param.param].id; });

TEST(CorpusTable, IdsAreNotUsedTwice) {
  std::set<std::string> ids;
  for (const Entry& entry : all_entries()) EXPECT_TRUE(ids.insert(entry.id).second) << entry.id;
  for (int i = 1; i <= 44; ++i) EXPECT_TRUE(ids.contains(std::to_string(i))) << "catalogue " << i;
  for (int i = 1; i <= 11; ++i) EXPECT_TRUE(ids.contains("M" + std::to_string(i))) << "M" << i;
  for (int i = 1; i <= 16; ++i) EXPECT_TRUE(ids.contains("B" + std::to_string(i))) << "B" << i;
  for (int i = 1; i <= 3; ++i) EXPECT_TRUE(ids.contains("X" + std::to_string(i))) << "X" << i;
}

/// Those that docs/reports.md marks with a star.
TEST(CorpusTable, EveryCodeOfTheCheckerHasABug) {
  std::set<std::string> codes;
  for (const Entry& entry : all_entries()) codes.insert(entry.codes.begin(), entry.codes.end());
  int stars = 0;
  for (const std::string& line : test::lines_of(test::source_folder() / "docs/reports.md")) {
    const size_t end = line.find("` *");
    if (!line.starts_with("| `") || end == std::string::npos) continue;
    ++stars;
    EXPECT_TRUE(codes.contains(line.substr(3, end - 3))) << line;
  }
  EXPECT_GE(stars, 8);
}

TEST(CorpusTable, NotesOnTheStructureLayerHaveTheirTests) {
  for (const StructureNote& note : structure_notes()) {
    EXPECT_TRUE(std::filesystem::exists(test::source_folder() / note.proof)) << note.proof;
    EXPECT_TRUE(std::any_of(all_entries().begin(), all_entries().end(), [&](const Entry& entry) {
      return entry.id == note.id;
    })) << note.id;
  }
}

/// What docs/detection.md is made of.
TEST(CorpusTable, IsWritten) {
  const char* asked = std::getenv("WARPLOOM_CORPUS_JSON");
  const std::string path = asked != nullptr ? asked : testing::TempDir() + "warploom_corpus.json";
  nlohmann::ordered_json table = nlohmann::ordered_json::array();
  for (const Entry& entry : all_entries()) {
    nlohmann::ordered_json row{{"id", entry.id}, {"title", entry.title}};
    if (!entry.same_as.empty()) {
      row["same_as"] = entry.same_as;
    } else {
      const Verdict verdict = judge(entry);
      row["caught"] = entry.caught == Caught::on_the_loom ? "loom" : "host";
      row["found"] = verdict.complaints.empty();
      row["codes"] = entry.codes;
    }
    for (const StructureNote& note : structure_notes())
      if (entry.id == note.id) row["structure"] = {{"what", note.what}, {"proof", note.proof}};
    table.push_back(std::move(row));
  }
  std::ofstream(path) << table.dump(1) << "\n";
  EXPECT_EQ(nlohmann::ordered_json::parse(test::text_of(path)), table) << path;
}

}  // namespace
}  // namespace warploom::loom::corpus
