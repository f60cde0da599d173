// Cluster launch control: a cluster takes over the work of one that its virtual processor has not launched yet
// (hardware.md §6.9). Which one that is depends on nothing but the clusters that ran on the processor before.
#include "loom/isa/launch_control.hpp"

#include <fmt/format.h>

#include <cstring>
#include <memory>

#include "loom/exec/async_queue.hpp"
#include "loom/exec/choices.hpp"
#include "loom/exec/cluster.hpp"
#include "loom/exec/costs.hpp"
#include "loom/exec/memory.hpp"
#include "loom/front/native.hpp"
#include "loom/isa/mbarrier.hpp"
#include "loom/observe/check/operations.hpp"

namespace warploom::loom {

namespace isa {
namespace {

constexpr uint32_t response_bytes = 16;

constexpr uint32_t refusal_odds = 8;  // seeded and adversarial schedules: one in so many requests fails for no reason

/// The hardware's own bits: word 0 is ctaid.x, word 1 holds y and z, bit 0 of word 2 says that a cluster was canceled.
/// The remaining bits, which no query looks at, are zero here, so that a stray or poisoned answer is noticed.
bool well_formed(const uint32_t (&response)[4]) { return response[2] <= 1 && response[3] == 0; }

void decide(CancelRequest& request) {
  Cluster& cluster = *request.issuer->cluster;
  check::Watch* const watch = cluster.watch();
  request.answered = true;
  if (cluster.launch_control.queue->empty()) return;
  const Schedule& schedule = cluster.options().schedule;
  const Decision decision = next_decision(cluster);
  if (watch) watch->answered(request.pc, decision);
  if (decision.choice == Choice::refuse) return;
  const bool moody = cluster.mode.shuffle || schedule.policy == Policy::adversarial;
  if (moody && cluster.random.one_in(refusal_odds)) return;
  // The first request of every other cluster, the second of the rest.
  if (schedule.has(Fault::clc) && cluster.launch_control.canceled >= cluster.index() % 2) return;
  request.canceled = true;
  request.cluster = cluster.launch_control.queue->pop();
  ++cluster.launch_control.canceled;
}

void answer_cancel(AsyncOp& op) {
  Cluster& cluster = *op.issuer->cluster;
  if (op.destination->alive == 0) {
    fail_async(op, "EXIT-REMOTE",
               fmt::format("the answer to try_cancel lands in CTA {}, which has exited", op.destination->rank));
    return;
  }
  if (!op.request->answered) {
    decide(*op.request);
    if (op.request->canceled) cluster.launch_control.granted.push_back(op.request);
  }
  uint32_t response[4] = {~0u, ~0u, 0, 0};  // of a failure, only the bit that says so is defined
  if (op.request->canceled) {
    const Dim3 &clusters = cluster.launch().clusters, &shape = cluster.launch().config->cluster;
    const uint32_t index = op.request->cluster;
    response[0] = index % clusters.x * shape.x;
    response[1] = index / clusters.x % clusters.y * shape.y | index / clusters.x / clusters.y * shape.z << 16;
    response[2] = 1;
  }
  std::memcpy(op.destination->window + op.offset, response, sizeof(response));
  deliver(op, SignalKind::complete_tx, "the answer to try_cancel completes");
}

void clc_try_cancel(Thread& thread, Pc pc, uint32_t response, uint32_t barrier, bool multicast) {
  Cluster& cluster = *thread.cluster;
  check::Watch* const watch = cluster.watch();
  cluster.step(thread, pc);
  Cta& cta = *thread.cta;
  const uint32_t offset = response & offset_mask;
  if (cluster.launch_control.queue == nullptr)
    cluster.fail(thread, pc, "LAUNCH",
                 "a kernel that cancels clusters must be launched with LaunchConfig::launch_control");
  if (cluster.owner(response) != &cta || offset % response_bytes != 0 || !inside(cta, offset, response_bytes))
    cluster.fail(
        thread, pc, "CLC-RULE",
        fmt::format("the answer to try_cancel needs 16 bytes of this CTA's shared memory at a multiple of 16, not "
                    "0x{:08x}",
                    response));
  if (cluster.owner(barrier) != &cta)
    cluster.fail(thread, pc, "BAR-ADDRESS", "try_cancel names a barrier outside its CTA; multicast reaches the others");
  if (cta.launch_refused) {
    const Location seen = cluster.location_from_fiber(cta.refusal_seen_at);
    cluster.fail(thread, pc, "CLC-AFTER-FAILURE",
                 "try_cancel by a CTA that has seen a request fail; after that none may follow",
                 {fmt::format("the failure was seen at {}:{}", seen.user.file, seen.user.line)});
  }
  if (watch) watch->cancel_asked(thread, pc);
  uint32_t barrier_offset = barrier_at(thread, pc, barrier, false).offset;
  const Mutated mutated = mutate_at("clusterlaunchcontrol.try_cancel", pc, cta, barrier_offset);
  for (uint32_t repeat = 0; repeat < mutated.times; ++repeat) {
    auto request = std::make_shared<CancelRequest>();
    request->issuer = &thread;
    request->pc = pc;
    for (uint32_t rank = 0; rank < cluster.size(); ++rank) {
      if (!multicast && rank != cta.rank) continue;
      auto op = asynchronous(thread, pc, AsyncOp::Kind::try_cancel, answer_cancel);
      op->finish = thread.time + cost::launch_control_latency;
      op->destination = cluster.ctas[rank].get();
      op->barrier_cta = op->destination;
      op->offset = offset;
      op->barrier_offset = barrier_offset;
      op->bytes = response_bytes;
      op->request = request;
      // Nobody may rely on the answer between request and landing.
      if (cluster.options().schedule.policy != Policy::eager)
        std::memset(op->destination->window + offset, 0xff, response_bytes);
      issue(std::move(op));
    }
  }
}

bool clc_is_canceled(Thread& thread, Pc pc, const uint32_t (&response)[4]) {
  Cluster& cluster = *thread.cluster;
  check::Watch* const watch = cluster.watch();
  cluster.step(thread, pc);
  if (!well_formed(response))
    cluster.fail(
        thread, pc, "CLC-RESPONSE",
        "these 16 bytes are no answer to try_cancel: it has not landed yet, or something else was written there");
  if (response[2] == 0) {
    if (watch) watch->cancel_refused(thread, pc);
    thread.cta->launch_refused = true;
    thread.cta->refusal_seen_at = pc;
  }
  return response[2] == 1;
}

Dim3 clc_first_cta(Thread& thread, Pc pc, const uint32_t (&response)[4]) {
  Cluster& cluster = *thread.cluster;
  cluster.step(thread, pc);
  if (!well_formed(response) || response[2] == 0)
    cluster.fail(thread, pc, "CLC-RESPONSE",
                 well_formed(response)
                     ? "the first CTA of a request that failed; ask clc_is_canceled first"
                     : "these 16 bytes are no answer to try_cancel: it has not landed yet, or something "
                       "else was written there");
  const Dim3 first{response[0], response[1] & 0xffff, response[1] >> 16};
  const Dim3 &clusters = cluster.launch().clusters, &shape = cluster.launch().config->cluster;
  const uint32_t index = first.x / shape.x + clusters.x * (first.y / shape.y + clusters.y * (first.z / shape.z));
  for (const auto& request : cluster.launch_control.granted)
    if (request->cluster == index) request->read = true;
  return first;
}

}  // namespace

bool lost_work(Cluster& cluster) {
  for (const auto& request : cluster.launch_control.granted) {
    if (request->read) continue;
    add_finding(cluster, request->issuer, request->pc, "CLC-LOST",
                fmt::format("cluster {} was canceled for this one, which ended without asking for its index: nobody "
                            "does its work",
                            request->cluster),
                {});
    return true;
  }
  return false;
}

}  // namespace isa

namespace native {

using namespace front;

void clc_try_cancel(uint32_t response, uint32_t barrier, bool multicast) noexcept try {
  isa::clc_try_cancel(thread(), WARPLOOM_PLACE(clc_try_cancel), response, barrier, multicast);
} catch (...) {
  break_off();
}

bool clc_is_canceled(const uint32_t (&response)[4]) noexcept try {
  return isa::clc_is_canceled(thread(), WARPLOOM_PLACE(clc_is_canceled), response);
} catch (...) {
  break_off();
}

Dim3 clc_first_cta(const uint32_t (&response)[4]) noexcept try {
  return isa::clc_first_cta(thread(), WARPLOOM_PLACE(clc_first_cta), response);
} catch (...) {
  break_off();
}

}  // namespace native
}  // namespace warploom::loom
