// mbarrier.test_wait and polls: questions to a barrier whose answer the schedule may change.
#include "loom/isa/mbarrier.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "loom/exec/choices.hpp"
#include "loom/exec/cluster.hpp"
#include "loom/front/native.hpp"
#include "loom/observe/check/operations.hpp"

namespace warploom::loom {

namespace isa {
namespace {

void answer_no(Thread& thread, Pc pc, const Question& question) {
  Cluster& cluster = *thread.cluster;
  ++cluster.polls.failed;
  // A thread that polls would never let others run: it comes back when the barrier moves, or when nothing else can.
  thread.wait = {.kind = WaitKind::mbarrier,
                 .pc = pc,
                 .barrier = question.barrier,
                 .phases = question.phases,
                 .parity = question.parity};
  question.barrier->waiters.push_back(&thread);
  cluster.polls.waiting.push_back(&thread);
  cluster.park(thread);
}

void answer_yes(Thread& thread, Pc pc, const Barrier& barrier, uint32_t phases) {
  Cluster& cluster = *thread.cluster;
  if (barrier.state.phase != phases)
    cluster.fail(thread, pc, "PHASE",
                 fmt::format("a test for {} of {} passed on its parity, but {} phases are complete", phase_text(phases),
                             barrier.name(), barrier.state.phase));
  thread.time = std::max(thread.time, barrier.state.phase == 0 ? 0 : barrier.completed_at);
}

}  // namespace

std::optional<Question> question_of(Thread& thread, Pc pc, uint32_t address, Barrier& barrier, uint32_t phases) {
  Cluster& cluster = *thread.cluster;
  const Mutated mutated = mutate(cluster, "mbarrier.test_wait", pc, &barrier);
  if (mutated.times == 0) {
    cluster.let_others_run(thread);
    return std::nullopt;
  }
  const auto flipped = static_cast<uint32_t>(mutated.flip_parity);
  const Question question{&barrier, address, phases + flipped, parity_of(phases) ^ flipped};
  if (!mutated.wrong_stage) return question;
  const uint32_t next = (address & ~offset_mask) | next_stage(barrier);
  return Question{&barrier_at(thread, pc, next, true), next, question.phases, question.parity};
}

bool answer(Thread& thread, Pc pc, const Question& question, uint32_t phases, bool cluster_scope, bool by_token) {
  Cluster& cluster = *thread.cluster;
  check::Watch* const watch = cluster.watch();
  Barrier& barrier = *question.barrier;
  const auto passed = [&] { return barrier.state.parity_passed(question.parity); };
  const Decision decision = next_decision(cluster);
  if (decision.choice == Choice::hold && !passed()) hold(thread, pc, &barrier, "mbarrier.test_wait");
  const bool denied = denies(thread, barrier, question, decision);
  const bool yes = passed() && decision.choice != Choice::refuse && !denied;
  if (watch) watch->tested(thread, pc, barrier, {question.phases, by_token}, yes, decision);
  if (denied) {
    ++cluster.polls.failed;
    return false;  // at once: all tries of a loop come before anybody else does anything
  }
  if (!yes) {
    if (passed())
      cluster.let_others_run(thread);
    else
      answer_no(thread, pc, question);
    return false;
  }
  answer_yes(thread, pc, barrier, phases);
  if (watch) watch->passed(thread, pc, barrier, phases, cluster_scope);
  return true;
}

namespace {

std::optional<Question> ask(Thread& thread, Pc pc, uint32_t address, uint32_t phases) {
  Cluster& cluster = *thread.cluster;
  cluster.step(thread, pc);
  return question_of(thread, pc, address, barrier_at(thread, pc, address, true), phases);
}

}  // namespace

bool mbarrier_test(Thread& thread, Pc pc, uint32_t address, uint32_t phases, bool cluster_scope, bool by_token) {
  const std::optional<Question> question = ask(thread, pc, address, phases);
  return question && answer(thread, pc, *question, phases, cluster_scope, by_token);
}

namespace {

native::Poll mbarrier_poll(Thread& thread, Pc pc, uint32_t address, uint32_t phases, bool cluster_scope) {
  Cluster& cluster = *thread.cluster;
  check::Watch* const watch = cluster.watch();
  const std::optional<Question> question = ask(thread, pc, address, phases);
  if (!question) return {};
  const Barrier& barrier = *question->barrier;
  if (watch) watch->polled(thread, pc, barrier, question->phases);
  // It may end without an answer although there is one.
  const bool timed_out = cluster.options().schedule.has(Fault::timeout) && cluster.polls.answered++ % 2 == 0;
  if (!barrier.state.parity_passed(question->parity))
    answer_no(thread, pc, *question);
  else if (timed_out)
    cluster.let_others_run(thread);
  else if (barrier.state.phase == phases)  // of another phase that has its parity, the wait will tell
    thread.time = std::max(thread.time, phases == 0 ? 0 : barrier.completed_at);
  return {.barrier = question->address, .phases = question->phases, .asked = true, .cluster_scope = cluster_scope};
}

// Whatever the poll said, under another schedule it says the other thing: what is checked is the wait, always.
void mbarrier_wait_unless(Thread& thread, Pc pc, const native::Poll& poll, uint32_t address, uint32_t phases,
                          bool cluster_scope) {
  Cluster& cluster = *thread.cluster;
  const char* advice = "pass on what try_wait_producer() or try_wait_consumer() returned for the same slot";
  if (poll.asked && (poll.barrier != address || poll.phases != phases)) {
    const Barrier* polled = find_barrier(*thread.cta, poll.barrier & offset_mask);
    cluster.fail(thread, pc, "PHASE",
                 fmt::format("a wait for {} of {} goes by a poll of {} of {}", phase_text(phases),
                             barrier_at(thread, pc, address, true).name(), phase_text(poll.phases),
                             polled != nullptr ? polled->name() : "a barrier that is no more"),
                 {advice});
  }
  if (poll.asked && cluster_scope && !poll.cluster_scope)
    cluster.fail(thread, pc, "PHASE",
                 fmt::format("a wait of cluster scope for {} of {} goes by a poll that acquires for the CTA only",
                             phase_text(phases), barrier_at(thread, pc, address, true).name()),
                 {"mbarrier_poll<Scope::cluster>"});
  mbarrier_wait(thread, pc, address, phases, cluster_scope);
}

}  // namespace

}  // namespace isa

namespace native {

using namespace front;

bool mbarrier_test(uint32_t barrier, uint32_t phases, bool cluster_scope) noexcept try {
  return isa::mbarrier_test(thread(), WARPLOOM_PLACE(mbarrier_test), barrier, phases, cluster_scope);
} catch (...) {
  break_off();
}

Poll mbarrier_poll(uint32_t barrier, uint32_t phases, bool cluster_scope) noexcept try {
  return isa::mbarrier_poll(thread(), WARPLOOM_PLACE(mbarrier_poll), barrier, phases, cluster_scope);
} catch (...) {
  break_off();
}

void mbarrier_wait_unless(const Poll& poll, uint32_t barrier, uint32_t phases, bool cluster_scope) noexcept try {
  isa::mbarrier_wait_unless(thread(), WARPLOOM_PLACE(mbarrier_wait_unless), poll, barrier, phases, cluster_scope);
} catch (...) {
  break_off();
}

}  // namespace native
}  // namespace warploom::loom
