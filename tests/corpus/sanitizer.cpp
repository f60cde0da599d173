// The ring that compute-sanitizer was measured with, and its eleven mutants: warp 0 loads rows by bulk copies, warp 1
// adds one to every word and stores the row. (Where the original gives a slot back to TMA without a proxy fence behind
// its reads, this one has the fence: see entry 15.)
#include "corpus/corpus.hpp"

namespace warploom::loom::corpus {
namespace {

enum class Bug : uint8_t {
  none,
  no_full_wait,
  release_before_read,
  no_empty_wait,
  no_proxy_fence,
  count_too_high,
  bytes_short,
  no_read_wait,
  wrong_parity,
  no_sync_after_init,
  bytes_long,
  exit_pending
};

constexpr uint32_t stages = 2, words = 64, bytes = words * 4, turns = 6;

struct Storage {
  alignas(128) uint32_t rows[stages][words];
  alignas(128) uint32_t result[words];
  Mbarrier full[stages], empty[stages];
};

WARPLOOM_FN void load(Storage& s, Bug bug) {
  const uint32_t armed = bug == Bug::bytes_short ? bytes - 16 : bug == Bug::bytes_long ? bytes + 16 : bytes;
  const bool overrun = bug == Bug::no_empty_wait, raced = bug == Bug::no_full_wait || bug == Bug::release_before_read;
  for (uint32_t i = 0; i < turns; ++i) {
    const uint32_t stage = i % stages, lap = i / stages;
    const SharedAddress full = address(s.full[stage]), empty = address(s.empty[stage]);
    if (!overrun) SITE_IF(bug == Bug::count_too_high || bug == Bug::no_sync_after_init, mbarrier_wait(empty, lap));
    SITE_IF(overrun || bug == Bug::no_sync_after_init, mbarrier_arrive_expect_tx(full, armed));
    SITE_IF(overrun || raced, bulk_load(address(s.rows[stage]), input + i * words, bytes, full));
  }
}

WARPLOOM_FN void add_one(Storage& s, Bug bug) {
  const bool stuck = bug == Bug::bytes_short || bug == Bug::bytes_long || bug == Bug::wrong_parity;
  const bool raced = bug == Bug::no_full_wait || bug == Bug::release_before_read || bug == Bug::no_empty_wait;
  const bool store_raced = bug == Bug::no_read_wait;
  for (uint32_t i = 0; i < turns; ++i) {
    const uint32_t stage = i % stages, lap = i / stages;
    const SharedAddress full = address(s.full[stage]), empty = address(s.empty[stage]);
    const uint32_t phases = bug == Bug::wrong_parity ? lap + 2 : lap + 1;
    if (bug != Bug::no_full_wait) SITE_IF(stuck || bug == Bug::no_sync_after_init, mbarrier_wait(full, phases));
    if (bug == Bug::release_before_read) mbarrier_arrive(empty);
    uint32_t row[words / 32];
    for (uint32_t j = 0; j < words / 32; ++j)
      SITE_IF(raced, row[j] = load_shared(&s.rows[stage][lane_index() + 32 * j]));
    fence_proxy_async_shared();
    if (bug != Bug::release_before_read) mbarrier_arrive(empty);
    if (i > 0 && bug != Bug::no_read_wait) {
      if (lane_index() == 0) bulk_wait_group_read<0>();
      syncwarp();
    }
    for (uint32_t j = 0; j < words / 32; ++j)
      SITE_IF(store_raced, store_shared(&s.result[lane_index() + 32 * j], row[j] + 1));
    if (bug != Bug::no_proxy_fence) fence_proxy_async_shared();
    syncwarp();
    if (lane_index() == 0) {
      const bool here = store_raced || bug == Bug::no_proxy_fence || bug == Bug::exit_pending;
      SITE_IF(here, bulk_store(output + i * words, address(s.result), bytes));
      bulk_commit_group();
    }
  }
  if (lane_index() == 0 && bug != Bug::exit_pending) bulk_wait_group<0>();
}

constexpr auto kernel = [](const Bug& bug) {
  auto& s = shared<Storage>();
  if (thread_index() == 0)
    for (uint32_t i = 0; i < stages; ++i) {
      SITE_IF(bug == Bug::no_sync_after_init, mbarrier_init(address(s.full[i]), 1));
      mbarrier_init(address(s.empty[i]), bug == Bug::count_too_high ? 33 : 32);
    }
  if (thread_index() == 0) fence_mbarrier_init();
  if (bug != Bug::no_sync_after_init) syncthreads();
  if (warp_index() == 0 && lane_index() == 0) load(s, bug);
  if (warp_index() == 1) add_one(s, bug);
  syncwarp();
};

Entry mutant(const char* id, Bug bug, const char* title, std::vector<std::string> codes) {
  Entry made =
      entry(id, title, std::move(codes), {.threads = 64, .shared_bytes = sizeof(Storage)}, kernel, bug, Bug::none);
  made.right = [] {
    for (uint32_t i = 0; i < turns * words; ++i)
      if (output[i] != input[i] + 1) return false;
    return true;
  };
  return made;
}

}  // namespace

Entries sanitizer_entries() {
  return {
      mutant("M1", Bug::no_full_wait, "consumer does not wait for full", {"RACE-SMEM", "UNINIT-SMEM"}),
      mutant("M2", Bug::release_before_read, "slot is given back before it is read", {"RACE-SMEM"}),
      mutant("M3", Bug::no_empty_wait, "producer does not wait for empty", {"PHASE-AMBIG", "ARRIVE-OVERFLOW"}),
      mutant("M4", Bug::no_proxy_fence, "no fence.proxy.async before a bulk store", {"PROXY"}),
      mutant("M5", Bug::count_too_high, "empty barrier counts 33 arrivals where 32 come", {"DEADLOCK"}),
      mutant("M6", Bug::bytes_short, "16 bytes fewer announced than land", {"DEADLOCK"}),
      mutant("M7", Bug::no_read_wait, "store buffer written again without wait_group.read", {"RACE-SMEM"}),
      mutant("M8", Bug::wrong_parity, "consumer waits with the other parity", {"PHASE", "DEADLOCK"}),
      mutant("M9", Bug::no_sync_after_init, "no __syncthreads after mbarrier.init", {"BAR-UNINIT"}),
      mutant("M10", Bug::bytes_long, "16 bytes more announced than land", {"DEADLOCK"}),
      mutant("M11", Bug::exit_pending, "exit with a bulk store that nobody waited for", {"EXIT-PENDING"}),
  };
}

}  // namespace warploom::loom::corpus
