// What threads do in the shared memory of other CTAs without the async proxy: loads, stores and atomics (hardware.md
// §6.2), and mbarrier tokens, which are of one CTA (§1.2).
#include <fmt/format.h>

#include <utility>

#include "loom/observe/check/operations.hpp"
#include "loom/exec/cluster.hpp"
#include "loom/units/reduction.hpp"

namespace warploom::loom {

std::byte* Cluster::cluster_memory(Thread& thread, Pc pc, uint32_t address, uint32_t bytes,
                                   native::ClusterAccess access) {
  const char* what = access == native::ClusterAccess::load    ? "a load"
                     : access == native::ClusterAccess::store ? "a store"
                                                              : "an atomic";
  step(thread, pc);
  Cta* const cta = owner(address);
  const uint32_t offset = address & offset_mask;
  if (cta == nullptr || offset % bytes != 0 || !inside(*cta, offset, bytes))
    fail(thread, pc, "OOB-SHARED",
         fmt::format("{} of {} bytes at 0x{:08x}; aligned shared memory of a CTA of the cluster is needed", what, bytes,
                     address));
  if (cta->alive == 0)
    fail(thread, pc, "EXIT-REMOTE", fmt::format("{} in the shared memory of CTA {}, which has exited", what, cta->rank),
         {"a cluster barrier at the end keeps every CTA there until the last access"});
  if (watch_ && access != native::ClusterAccess::atomic)
    watch_->access(thread, pc, *cta, offset, bytes, access == native::ClusterAccess::store,
                   access == native::ClusterAccess::store ? "st.shared::cluster" : "ld.shared::cluster");
  return cta->window + offset;
}

uint64_t Cluster::mbarrier_arrive_token(Thread& thread, Pc pc, uint32_t address, uint32_t count, bool no_complete) {
  if (owner(address) != thread.cta)
    fail(thread, pc, "BAR-ADDRESS", "an arrival on another CTA's mbarrier returns no token; use mbarrier_arrive there");
  mbarrier_signal(thread, pc, address, SignalKind::arrive, count, 0, false, no_complete);
  if (no_complete && thread.arrival.pending == count)
    fail(thread, pc, "ARRIVE-OVERFLOW",
         fmt::format(
             "mbarrier.arrive.noComplete brings the last {} arrival(s) of its phase; it must leave some to others",
             count));
  if (thread.pending_counts.empty()) thread.pending_counts.resize(kept_tokens);
  const uint64_t number = thread.tokens++ & ((1u << token_number_bits) - 1);
  thread.pending_counts[number % kept_tokens] = thread.arrival.pending;
  const uint64_t who = uint64_t{thread.cta->rank} * thread.cta->threads.size() + thread.id.thread;
  return thread.arrival.phase << (token_thread_bits + token_number_bits) | who << token_number_bits | number;
}

uint32_t Cluster::mbarrier_pending_count(Thread& thread, Pc pc, uint64_t token) {
  if (watch_) watch_->depends(pc, "mbarrier.pending_count");
  const auto who = static_cast<size_t>(token >> token_number_bits & ((1u << token_thread_bits) - 1));
  const auto number = static_cast<uint32_t>(token & ((1u << token_number_bits) - 1));
  const Thread* const of = who < threads_.size() ? threads_[who].get() : nullptr;
  if (of == nullptr || of->pending_counts.empty() ||
      ((of->tokens - number) & ((1u << token_number_bits) - 1)) > kept_tokens)
    fail(thread, pc, "PHASE",
         fmt::format("mbarrier.pending_count of a token that no arrival gave, or of one that is {} arrivals old",
                     kept_tokens));
  return of->pending_counts[number % kept_tokens];
}

uint32_t Cluster::token_phases(Thread& thread, Pc pc, uint32_t address, uint64_t token) {
  const Barrier& barrier = barrier_at(thread, pc, address, true);
  const uint64_t phase = token_phase(token);
  if (barrier.state.phase != phase && barrier.state.phase != phase + 1)
    fail(thread, pc, "PHASE",
         fmt::format("a token of phase {} of {}, of which {} phases are complete; only the current phase and the one "
                     "before can be asked for",
                     phase, barrier.name(), barrier.state.phase));
  return static_cast<uint32_t>(phase + 1);
}

namespace native {
namespace {

Thread& thread() { return Cluster::calling(); }

uint32_t answered(Pc pc, const uint32_t& word, uint32_t old) {
  thread().cluster->answered(thread(), pc, &word, "atom.shared::cluster", old, word != old);
  return old;
}

uint32_t& word_at(Pc pc, uint32_t address) {
  std::byte* const place =
      thread().cluster->cluster_memory(thread(), pc, address, sizeof(uint32_t), ClusterAccess::atomic);
  thread().cluster->visit(thread(), pc, place, "atom.shared::cluster", false);
  if (check::Watch* watch = thread().cluster->watch())
    watch->shared_atomic(thread(), pc, *thread().cluster->owner(address), address & offset_mask, sizeof(uint32_t));
  return *reinterpret_cast<uint32_t*>(place);
}

}  // namespace

uint32_t rank_of(uint32_t address) noexcept {
  Thread& self = thread();
  if (self.cluster->owner(address) == nullptr)
    self.cluster->fail(self, WARPLOOM_PLACE(rank_of), "OOB-SHARED",
                       fmt::format("getctarank of 0x{:08x}, which names no CTA of the cluster", address));
  return address >> rank_shift;
}
void* cluster_memory(uint32_t address, uint32_t bytes, bool write) noexcept {
  return thread().cluster->cluster_memory(thread(), WARPLOOM_PLACE(cluster_memory), address, bytes,
                                          write ? ClusterAccess::store : ClusterAccess::load);
}
uint32_t fetch_cluster(Reduction operation, uint32_t address, uint32_t value) noexcept {
  const Pc pc = WARPLOOM_PLACE(fetch_cluster);
  uint32_t& word = word_at(pc, address);
  const uint32_t old = word;
  reduce(operation, ReductionType::u32, reinterpret_cast<std::byte*>(&word), reinterpret_cast<const std::byte*>(&value),
         sizeof(word));
  return answered(pc, word, old);
}
uint32_t exchange_cluster(uint32_t address, uint32_t value) noexcept {
  const Pc pc = WARPLOOM_PLACE(exchange_cluster);
  uint32_t& word = word_at(pc, address);
  return answered(pc, word, std::exchange(word, value));
}
uint32_t compare_exchange_cluster(uint32_t address, uint32_t expected, uint32_t desired) noexcept {
  const Pc pc = WARPLOOM_PLACE(compare_exchange_cluster);
  uint32_t& word = word_at(pc, address);
  const uint32_t old = word;
  if (old == expected) word = desired;
  return answered(pc, word, old);
}

uint64_t mbarrier_arrive_token(uint32_t barrier, uint32_t count, bool no_complete) noexcept {
  return thread().cluster->mbarrier_arrive_token(thread(), WARPLOOM_PLACE(mbarrier_arrive_token), barrier, count,
                                                 no_complete);
}
uint32_t mbarrier_pending_count(uint64_t token) noexcept {
  return thread().cluster->mbarrier_pending_count(thread(), WARPLOOM_PLACE(mbarrier_pending_count), token);
}
bool mbarrier_test_token(uint32_t barrier, uint64_t token) noexcept {
  Thread& self = thread();
  const Pc pc = WARPLOOM_PLACE(mbarrier_test_token);
  return self.cluster->mbarrier_test(self, pc, barrier, self.cluster->token_phases(self, pc, barrier, token), false,
                                     true);
}
void mbarrier_wait_token(uint32_t barrier, uint64_t token) noexcept {
  Thread& self = thread();
  const Pc pc = WARPLOOM_PLACE(mbarrier_wait_token);
  self.cluster->mbarrier_wait(self, pc, barrier, self.cluster->token_phases(self, pc, barrier, token));
}
void mbarrier_arrive_drop_expect_tx(uint32_t barrier, uint32_t bytes) noexcept {
  thread().cluster->mbarrier_signal(thread(), WARPLOOM_PLACE(mbarrier_arrive_drop_expect_tx), barrier,
                                    SignalKind::arrive_drop, 1, bytes);
}

}  // namespace native
}  // namespace warploom::loom
