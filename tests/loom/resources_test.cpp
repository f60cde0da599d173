// No memory, no address space, no threads: an error with a sentence, and the process goes on.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <system_error>
#include <thread>

#include "warploom/kernels/gemm_data.hpp"
#include "warploom/loom/verdict.hpp"

namespace warploom {
namespace {

/// What a child process says with its exit status.
enum Answer { done = 0, refused = 1, no_sentence = 2, wrong = 3, not_the_same_again = 4 };

size_t address_space() {
  size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

void limit_address_space(size_t more) {
  rlimit limit = {};
  getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = more == 0 ? limit.rlim_max : address_space() + more;
  setrlimit(RLIMIT_AS, &limit);
}

Answer answer_of(bool good, bool was_refused, ErrorCode code, bool has_sentence) {
  if (!was_refused) return good ? done : wrong;
  if (code != ErrorCode::out_of_memory && code != ErrorCode::no_threads) return wrong;
  return has_sentence ? refused : no_sentence;
}

/// What a host does with the loom. The problem is there before memory is short.
class Work {
 public:
  Work() : data_({.m = 160, .n = 128, .k = 128, .fill = Fill::integer}), problem_(data_.problem()) {
    const auto plan = plan_gemm_on_loom(problem_);
    if (plan) plan_ = *plan;
  }

  Answer launch(bool check, bool record, unsigned workers) {
    loom::Options options;
    options.check = check;
    options.workers = workers;
    options.record_events = options.record_sites = record;
    const auto outcome = run_on_loom(problem_, plan_, options);
    if (!outcome) return answer_of(false, true, outcome.code(), !outcome.error().empty());
    if (outcome->refused)
      return answer_of(false, true, outcome->refusal,
                       !outcome->report.findings.empty() && !outcome->report.findings[0].message.empty());
    if (record && loom::render_timeline(outcome->events, {}).empty()) return no_sentence;
    return outcome->ok() ? done : wrong;
  }
  /// A barrier operation is dropped: findings, their lines, text and JSON.
  Answer failing_launch() {
    loom::Options options;
    options.mutation = {.site = site_, .kind = loom::MutationKind::drop, .only = -1};
    const auto outcome = run_on_loom(problem_, plan_, options);
    if (!outcome) return answer_of(false, true, outcome.code(), !outcome.error().empty());
    if (to_text(outcome->report).empty()) return no_sentence;
    (void)to_json(outcome->report);
    if (outcome->refused) return answer_of(false, true, outcome->refusal, !outcome->report.findings.empty());
    return outcome->ok() ? wrong : done;
  }
  Answer verdict() {
    const loom::Verdict verdict = loom::check({.what = "a gemm",
                                               .launch =
                                                   [&](const loom::Options& o) {
                                                     auto outcome = run_on_loom(problem_, plan_, o);
                                                     if (outcome) return std::move(*outcome);
                                                     loom::Outcome none;
                                                     none.refused = true;
                                                     none.refusal = outcome.code();
                                                     return none;
                                                   }},
                                              {.explore = true, .schedules = 4});
    return answer_of(verdict.good(), verdict.kind == loom::Verdict::Kind::refused, verdict.refusal_code,
                     !verdict.refusal.empty());
  }
  Answer plan() {
    GemmProblem other = problem_;
    other.alpha = 0.5f;
    const auto plan = plan_gemm(other, {131, Chip::sm90});
    return answer_of(true, !plan, plan.code(), plan || !plan.error().empty());
  }

  bool ready() const { return plan_.config != nullptr && !site_.empty(); }
  void find_site() {
    loom::Options options;
    options.record_sites = true;
    const auto outcome = run_on_loom(problem_, plan_, options);
    if (!outcome) return;
    for (const loom::Site& site : outcome->sites)
      if (site.operation == "mbarrier.arrive") site_ = site.key();
  }

 private:
  GemmData data_;
  GemmProblem problem_;
  GemmPlan plan_;
  std::string site_;
};

using Task = Answer (*)(Work&);
constexpr Task tasks[] = {
    [](Work& w) { return w.launch(false, false, 1); },
    [](Work& w) { return w.launch(false, false, 4); },
    [](Work& w) { return w.launch(true, false, 2); },
    [](Work& w) { return w.launch(true, true, 1); },
    [](Work& w) { return w.failing_launch(); },
    [](Work& w) { return w.verdict(); },
    [](Work& w) { return w.plan(); },
};

/// In a process of its own: with so much more address space, and, once that has been an answer, with all that there is.
int status_with(size_t more, Task task, Work& work) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    alarm(250);
    limit_address_space(more);
    Answer answer = task(work);
    limit_address_space(0);
    // What was refused leaves nothing behind that the next call trips over.
    if (answer == refused && task(work) != done) answer = not_the_same_again;
    _exit(answer);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

struct Count {
  int children = 0, done = 0, refused = 0;
};

#if defined(__SANITIZE_ADDRESS__)
constexpr bool can_be_limited = false;  // its shadow alone is more than any limit
#else
constexpr bool can_be_limited = true;
#endif

Count sweep(double from, double factor) {
  Work work;
  work.find_site();
  EXPECT_TRUE(work.ready());
  Count count;
  for (size_t t = 0; t < std::size(tasks); ++t) {
    for (double more = from; more < 24e9; more *= factor) {
      const int status = status_with(static_cast<size_t>(more), tasks[t], work);
      ++count.children;
      EXPECT_TRUE(WIFEXITED(status)) << "task " << t << " with " << more << " bytes: " << strsignal(WTERMSIG(status));
      const int answer = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
      EXPECT_TRUE(answer == done || answer == refused) << "task " << t << " with " << more << " bytes: " << answer;
      count.done += answer == done ? 1 : 0;
      count.refused += answer == refused ? 1 : 0;
      if (answer == done && more > 1e6) break;  // what is enough is enough
    }
  }
  std::printf("%d processes with little address space: %d did their work, %d were refused\n", count.children,
              count.done, count.refused);
  return count;
}

TEST(Resources, LittleAddressSpaceIsAnError) {
  if (!can_be_limited) GTEST_SKIP();
  const Count count = sweep(8e3, 6.0);
  EXPECT_GE(count.refused, 5);
  EXPECT_GE(count.done, static_cast<int>(std::size(tasks)));
}
TEST(ResourcesFull, LittleAddressSpaceIsAnError) {
  if (!can_be_limited) GTEST_SKIP();
  const Count count = sweep(4e3, 1.06);
  EXPECT_GE(count.refused, 100);
}

/// RLIMIT_NPROC counts the processes of a user, and root is above it.
TEST(Resources, WithoutThreadsTheCallingThreadDoesTheWork) {
  Work work;
  for (Task task : {tasks[1], tasks[2]}) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(250);
      const rlimit none = {1, 1};
      if (setrlimit(RLIMIT_NPROC, &none) != 0 || (getuid() == 0 && setuid(65534) != 0)) _exit(77);
      try {
        std::thread([] {}).join();
        _exit(77);  // there are threads
      } catch (const std::system_error&) {
      }
      _exit(task(work));
    }
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFEXITED(status)) << strsignal(WTERMSIG(status));
    if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "threads cannot be forbidden here";
    EXPECT_EQ(WEXITSTATUS(status), done);
  }
}

void asks_for_too_much(const void*) {
  std::vector<char> all(size_t{1} << 46);
  all[all.size() / 2] = 1;
}

TEST(Resources, AKernelThatAsksForTooMuchIsRefused) {
  if (!can_be_limited) GTEST_SKIP();
  const loom::Outcome outcome =
      loom::launch({.kernel = "greedy", .grid = {2}, .cluster = {1}, .threads = 32}, &asks_for_too_much, nullptr, {});
  EXPECT_TRUE(outcome.refused);
  EXPECT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.refusal, ErrorCode::out_of_memory);
  ASSERT_EQ(outcome.report.findings.size(), 1u);
  EXPECT_NE(outcome.report.findings[0].message.find("memory ran out"), std::string::npos);
}

TEST(Resources, ARefusedOutcomeIsNotOkEvenWithoutAFinding) {
  loom::Outcome outcome;
  EXPECT_TRUE(outcome.ok());
  outcome.refused = true;
  EXPECT_FALSE(outcome.ok());
}

}  // namespace
}  // namespace warploom
