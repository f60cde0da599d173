// Cluster launch control: slots for answers, who arms them, who reads them (catalogue 38 and 39, B10).
#include "corpus/corpus.hpp"
#include "warploom/arch/clc.hpp"

namespace warploom::loom::corpus {
namespace {

struct Storage {
  ClcResponse response;
  Mbarrier full[1], empty[1];
};

struct Answer {
  static constexpr const char* name = "answer";
};
struct Read {
  static constexpr const char* name = "read";
};

enum class Bug : uint8_t { none, freed_before_read, grant_taken_for_refusal };

/// Lane 0 of warp 0 asks, lane 0 of warp 1 works on what was granted.
constexpr auto queue = [](const Bug& bug) {
  auto& s = shared<Storage>();
  make_barriers<Answer>(s.full, 1, RingSide::once);
  make_barriers<Read>(s.empty, 1, RingSide::once);
  syncthreads();
  const bool early = bug == Bug::freed_before_read;
  if (warp_index() == 0 && lane_index() == 0)
    for (uint32_t i = 0;; ++i) {
      mbarrier_wait(address(s.empty[0]), i);
      mbarrier_arrive_expect_tx(address(s.full[0]), sizeof(ClcResponse));
      SITE(clc_try_cancel(address(s.response), address(s.full[0])));
      mbarrier_wait(address(s.full[0]), i + 1);
      const ClcResponse answer = load_shared(&s.response);
      fence_proxy_async_shared();
      if (!clc_is_canceled(answer)) break;
      if (bug == Bug::grant_taken_for_refusal) break;
    }
  if (warp_index() == 1 && lane_index() == 0)
    for (uint32_t i = 0;; ++i) {
      mbarrier_wait(address(s.full[0]), i + 1);
      if (early) mbarrier_arrive(address(s.empty[0]));
      ClcResponse answer;
      SITE(answer = load_shared(&s.response));
      fence_proxy_async_shared();
      if (!early) mbarrier_arrive(address(s.empty[0]));
      if (bug == Bug::grant_taken_for_refusal) break;
      if (!clc_is_canceled(answer)) break;
      keep(clc_first_cta(answer).x);
    }
  syncwarp();
};

/// 39: one request for a cluster of two; each CTA's barrier expects the answer.
constexpr auto multicast = [](const bool& buggy) {
  auto& s = shared<Storage>();
  make_barriers(s.full, 1);
  cluster_sync();
  if (thread_index() == 0) {
    if (cluster_rank() == 0 || !buggy) mbarrier_arrive_expect_tx(address(s.full[0]), sizeof(ClcResponse));
    if (cluster_rank() == 0) clc_try_cancel_multicast(address(s.response), address(s.full[0]));
    SITE(mbarrier_wait(address(s.full[0]), 1));
    const ClcResponse answer = load_shared(&s.response);
    if (clc_is_canceled(answer)) keep(clc_first_cta(answer).x);
  }
  syncwarp();
  cluster_sync();
};

}  // namespace

Entries launch_control_entries() {
  const Launch grid{.grid = {6}, .threads = 64, .shared_bytes = sizeof(Storage), .launch_control = true};
  Launch pairs{.grid = {8}, .cluster = {2}, .threads = 32, .shared_bytes = sizeof(Storage), .launch_control = true};
  return {
      entry("38", "slot of an answer given back before it is read", {"RACE-SMEM", "PROXY"}, grid, queue,
            Bug::freed_before_read, Bug::none),
      entry("39", "answer of a multicast request expected by one CTA only", {"DEADLOCK"}, pairs, multicast),
      entry("B10", "grant taken for a refusal: a canceled cluster's work is lost (marin#8870)", {"CLC-LOST"}, grid,
            queue, Bug::grant_taken_for_refusal, Bug::none),
  };
}

}  // namespace warploom::loom::corpus
