// Tokens of arrivals: what an arrival found, and waits that go by it (hardware.md §1.2).
#include <fmt/format.h>

#include "loom/exec/cluster.hpp"
#include "loom/front/native.hpp"
#include "loom/isa/mbarrier.hpp"
#include "loom/observe/check/operations.hpp"

namespace warploom::loom {

namespace isa {

uint64_t token_of_last_arrival(Thread& thread) {
  if (thread.pending_counts.empty()) thread.pending_counts.resize(kept_tokens);
  const uint64_t number = thread.tokens++ & ((1u << token_number_bits) - 1);
  thread.pending_counts[number % kept_tokens] = thread.arrival.pending;
  const uint64_t who = uint64_t{thread.cta->rank} * thread.cta->threads.size() + thread.id.thread;
  return thread.arrival.phase << (token_thread_bits + token_number_bits) | who << token_number_bits | number;
}

namespace {

uint64_t mbarrier_arrive_token(Thread& thread, Pc pc, uint32_t address, uint32_t count, bool no_complete) {
  Cluster& cluster = *thread.cluster;
  if (cluster.owner(address) != thread.cta)
    cluster.fail(thread, pc, "BAR-ADDRESS",
                 "an arrival on another CTA's mbarrier returns no token; use mbarrier_arrive there");
  mbarrier_signal(thread, pc, address, SignalKind::arrive, count, 0, false, no_complete);
  if (no_complete && thread.arrival.pending == count)
    cluster.fail(
        thread, pc, "ARRIVE-OVERFLOW",
        fmt::format(
            "mbarrier.arrive.noComplete brings the last {} arrival(s) of its phase; it must leave some to others",
            count));
  return token_of_last_arrival(thread);
}

uint32_t mbarrier_pending_count(Thread& thread, Pc pc, uint64_t token) {
  Cluster& cluster = *thread.cluster;
  check::Watch* const watch = cluster.watch();
  if (watch) watch->depends(pc, "mbarrier.pending_count");
  const auto who = static_cast<size_t>(token >> token_number_bits & ((1u << token_thread_bits) - 1));
  const auto number = static_cast<uint32_t>(token & ((1u << token_number_bits) - 1));
  const Thread* const of = who < cluster.threads.size() ? cluster.threads[who].get() : nullptr;
  if (of == nullptr || of->pending_counts.empty() ||
      ((of->tokens - number) & ((1u << token_number_bits) - 1)) > kept_tokens)
    cluster.fail(
        thread, pc, "PHASE",
        fmt::format("mbarrier.pending_count of a token that no arrival gave, or of one that is {} arrivals old",
                    kept_tokens));
  return of->pending_counts[number % kept_tokens];
}

uint32_t token_phases(Thread& thread, Pc pc, uint32_t address, uint64_t token) {
  Cluster& cluster = *thread.cluster;
  const Barrier& barrier = barrier_at(thread, pc, address, true);
  const uint64_t phase = token_phase(token);
  if (barrier.state.phase != phase && barrier.state.phase != phase + 1)
    cluster.fail(
        thread, pc, "PHASE",
        fmt::format("a token of phase {} of {}, of which {} phases are complete; only the current phase and the one "
                    "before can be asked for",
                    phase, barrier.name(), barrier.state.phase));
  return static_cast<uint32_t>(phase + 1);
}

}  // namespace

}  // namespace isa

namespace native {

using namespace front;

uint64_t mbarrier_arrive_token(uint32_t barrier, uint32_t count, bool no_complete) noexcept {
  return isa::mbarrier_arrive_token(thread(), WARPLOOM_PLACE(mbarrier_arrive_token), barrier, count, no_complete);
}

uint32_t mbarrier_pending_count(uint64_t token) noexcept {
  return isa::mbarrier_pending_count(thread(), WARPLOOM_PLACE(mbarrier_pending_count), token);
}

bool mbarrier_test_token(uint32_t barrier, uint64_t token) noexcept {
  Thread& self = thread();
  const Pc pc = WARPLOOM_PLACE(mbarrier_test_token);
  return isa::mbarrier_test(self, pc, barrier, isa::token_phases(self, pc, barrier, token), false, true);
}

void mbarrier_wait_token(uint32_t barrier, uint64_t token) noexcept {
  Thread& self = thread();
  const Pc pc = WARPLOOM_PLACE(mbarrier_wait_token);
  isa::mbarrier_wait(self, pc, barrier, isa::token_phases(self, pc, barrier, token));
}

}  // namespace native
}  // namespace warploom::loom
