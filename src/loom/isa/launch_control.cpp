// Cluster launch control: a cluster takes over the work of one that its virtual processor has not launched yet
// (hardware.md §6.9). Which one that is depends on nothing but the clusters that ran on the processor before.
#include <fmt/format.h>

#include "loom/exec/costs.hpp"
#include "loom/exec/cluster.hpp"

namespace warploom::loom {
namespace {

constexpr uint32_t response_bytes = 16;
constexpr uint32_t refusal_odds = 8;  // seeded and adversarial schedules: one in so many requests fails for no reason

/// The hardware's own bits: word 0 is ctaid.x, word 1 holds y and z, bit 0 of word 2 says that a cluster was canceled.
/// The remaining bits, which no query looks at, are zero here, so that a stray or poisoned answer is noticed.
bool well_formed(const uint32_t (&response)[4]) { return response[2] <= 1 && response[3] == 0; }

}  // namespace

void Cluster::clc_try_cancel(Thread& thread, Pc pc, uint32_t response, uint32_t barrier, bool multicast) {
  step(thread, pc);
  Cta& cta = *thread.cta;
  const uint32_t offset = response & offset_mask;
  if (queue_ == nullptr)
    fail(thread, pc, "LAUNCH", "a kernel that cancels clusters must be launched with LaunchConfig::launch_control");
  if (owner(response) != &cta || offset % response_bytes != 0 || !inside(cta, offset, response_bytes))
    fail(thread, pc, "CLC-RULE",
         fmt::format("the answer to try_cancel needs 16 bytes of this CTA's shared memory at a multiple of 16, not "
                     "0x{:08x}",
                     response));
  if (owner(barrier) != &cta)
    fail(thread, pc, "BAR-ADDRESS", "try_cancel names a barrier outside its CTA; multicast reaches the others");
  if (cta.launch_refused) {
    const Location seen = location_from_fiber(cta.refusal_seen_at);
    fail(thread, pc, "CLC-AFTER-FAILURE",
         "try_cancel by a CTA that has seen a request fail; after that none may follow",
         {fmt::format("the failure was seen at {}:{}", seen.user.file, seen.user.line)});
  }
  if (watch_) watch_->cancel_asked(thread, pc);
  uint32_t barrier_offset = barrier_at(thread, pc, barrier, false).offset;
  const Mutated mutated = mutate("clusterlaunchcontrol.try_cancel", pc, find_barrier(cta, barrier_offset));
  if (mutated.wrong_stage) barrier_offset = next_stage(*find_barrier(cta, barrier_offset));
  for (uint32_t repeat = 0; repeat < mutated.times; ++repeat) {
    auto request = std::make_shared<CancelRequest>();
    request->issuer = &thread;
    request->pc = pc;
    for (uint32_t rank = 0; rank < size(); ++rank) {
      if (!multicast && rank != cta.rank) continue;
      auto op = std::make_unique<AsyncOp>();
      op->kind = AsyncOp::Kind::try_cancel;
      op->issuer = &thread;
      op->pc = pc;
      op->issued = thread.time;
      op->finish = thread.time + cost::launch_control_latency;
      op->destination = ctas_[rank].get();
      op->barrier_cta = op->destination;
      op->offset = offset;
      op->barrier_offset = barrier_offset;
      op->bytes = response_bytes;
      op->request = request;
      // Nobody may rely on the answer between request and landing.
      if (launch_.options->schedule.policy != Policy::eager)
        std::memset(op->destination->window + offset, 0xff, response_bytes);
      issue(std::move(op));
    }
  }
}

void Cluster::decide(CancelRequest& request) {
  request.answered = true;
  if (queue_->empty()) return;
  const Schedule& schedule = launch_.options->schedule;
  const Decision decision = next_decision();
  if (watch_) watch_->answered(request.pc, decision);
  if (decision.choice == Choice::refuse) return;
  const bool moody = shuffle_ || schedule.policy == Policy::adversarial;
  if (moody && random_.one_in(refusal_odds)) return;
  // The first request of every other cluster, the second of the rest.
  if (schedule.has(Fault::clc) && canceled >= index_ % 2) return;
  request.canceled = true;
  request.cluster = queue_->pop();
  ++canceled;
}

void Cluster::answer_cancel(const AsyncOp& op) {
  if (op.destination->alive == 0) {
    fail_async(op, "EXIT-REMOTE",
               fmt::format("the answer to try_cancel lands in CTA {}, which has exited", op.destination->rank));
    return;
  }
  if (!op.request->answered) {
    decide(*op.request);
    if (op.request->canceled) granted_.push_back(op.request);
  }
  uint32_t response[4] = {~0u, ~0u, 0, 0};  // of a failure, only the bit that says so is defined
  if (op.request->canceled) {
    const Dim3 &clusters = launch_.clusters, &shape = launch_.config->cluster;
    const uint32_t index = op.request->cluster;
    response[0] = index % clusters.x * shape.x;
    response[1] = index / clusters.x % clusters.y * shape.y | index / clusters.x / clusters.y * shape.z << 16;
    response[2] = 1;
  }
  std::memcpy(op.destination->window + op.offset, response, sizeof(response));
  deliver(op, SignalKind::complete_tx, "the answer to try_cancel completes");
}

bool Cluster::clc_is_canceled(Thread& thread, Pc pc, const uint32_t (&response)[4]) {
  step(thread, pc);
  if (!well_formed(response))
    fail(thread, pc, "CLC-RESPONSE",
         "these 16 bytes are no answer to try_cancel: it has not landed yet, or something else was written there");
  if (response[2] == 0) {
    if (watch_) watch_->cancel_refused(thread, pc);
    thread.cta->launch_refused = true;
    thread.cta->refusal_seen_at = pc;
  }
  return response[2] == 1;
}

Dim3 Cluster::clc_first_cta(Thread& thread, Pc pc, const uint32_t (&response)[4]) {
  step(thread, pc);
  if (!well_formed(response) || response[2] == 0)
    fail(thread, pc, "CLC-RESPONSE",
         well_formed(response) ? "the first CTA of a request that failed; ask clc_is_canceled first"
                               : "these 16 bytes are no answer to try_cancel: it has not landed yet, or something "
                                 "else was written there");
  const Dim3 first{response[0], response[1] & 0xffff, response[1] >> 16};
  const Dim3 &clusters = launch_.clusters, &shape = launch_.config->cluster;
  const uint32_t index = first.x / shape.x + clusters.x * (first.y / shape.y + clusters.y * (first.z / shape.z));
  for (const auto& request : granted_)
    if (request->cluster == index) request->read = true;
  return first;
}

bool Cluster::lost_work() {
  for (const auto& request : granted_) {
    if (request->read) continue;
    add_finding(request->issuer, request->pc, "CLC-LOST",
                fmt::format("cluster {} was canceled for this one, which ended without asking for its index: nobody "
                            "does its work",
                            request->cluster),
                {});
    return true;
  }
  return false;
}

}  // namespace warploom::loom
