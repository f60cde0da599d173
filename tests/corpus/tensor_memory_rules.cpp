// Rules of tcgen05.alloc, and of which warp reaches which lanes (catalogue 34 and 35).
#include "corpus/corpus.hpp"
#include "warploom/arch/tmem.hpp"

namespace warploom::loom::corpus {
namespace {

struct Storage {
  uint32_t first, second;
};

constexpr auto alloc_after_relinquish = [](const bool& buggy) {
  auto& s = shared<Storage>();
  tmem_alloc<1>(address(s.first), 64);
  if (!buggy) tmem_alloc<1>(address(s.second), 32);
  tmem_relinquish<1>();
  if (buggy) SITE(tmem_alloc<1>(address(s.second), 32));
  tmem_dealloc<1>({load_shared(&s.second)}, 32);
  tmem_dealloc<1>({load_shared(&s.first)}, 64);
  syncwarp();
};

constexpr auto growing = [](const bool& buggy) {
  auto& s = shared<Storage>();
  tmem_alloc<1>(address(s.first), buggy ? 32 : 64);
  SITE(tmem_alloc<1>(address(s.second), buggy ? 64 : 32));
  syncwarp();
  tmem_dealloc<1>({load_shared(&s.second)}, buggy ? 64 : 32);
  tmem_dealloc<1>({load_shared(&s.first)}, buggy ? 32 : 64);
  syncwarp();
};

constexpr auto odd_columns = [](const bool& buggy) {
  auto& s = shared<Storage>();
  SITE(tmem_alloc<1>(address(s.first), buggy ? 96 : 128));
  syncwarp();
  tmem_dealloc<1>({load_shared(&s.first)}, buggy ? 96 : 128);
  syncwarp();
};

constexpr auto mixed_groups = [](const bool& buggy) {
  auto& s = shared<Storage>();
  tmem_alloc<1>(address(s.first), 32);
  if (buggy)
    SITE(tmem_relinquish<2>());
  else
    tmem_relinquish<1>();
  tmem_dealloc<1>({load_shared(&s.first)}, 32);
  cluster_sync();
};

constexpr auto foreign_lanes = [](const bool& buggy) {
  auto& s = shared<Storage>();
  if (warp_index() == 0) tmem_alloc<1>(address(s.first), 32);
  syncthreads();
  const TmemAddress base{load_shared(&s.first)};
  const uint32_t zeros[4] = {};
  tmem_store_32x32b<4>(base.lane(32 * warp_index()), zeros);
  tmem_wait_store();
  Fragment<uint32_t, 4> row;
  SITE(tmem_load_32x32b(row, base.lane(buggy ? 0 : 32 * warp_index())));
  tmem_wait_load();
  syncthreads();
  if (warp_index() == 0) tmem_dealloc<1>(base, 32);
  syncwarp();
};

}  // namespace

Entries tensor_memory_rule_entries() {
  const Launch warp{.threads = 32, .shared_bytes = sizeof(Storage)};
  return {
      entry("34", "tcgen05.alloc after relinquish_alloc_permit", {"TMEM-RULE"}, warp, alloc_after_relinquish),
      entry("34b", "a larger allocation after a smaller one", {"TMEM-RULE"}, warp, growing),
      entry("34c", "number of columns is no power of two", {"TMEM-RULE"}, warp, odd_columns),
      entry("34d", "cta_group::1 and ::2 in one kernel", {"TMEM-RULE"},
            {.grid = {2}, .cluster = {2}, .threads = 32, .shared_bytes = sizeof(Storage)}, mixed_groups),
      entry("35", "warp reads lanes outside its quarter", {"TMEM-LANE"},
            {.threads = 128, .shared_bytes = sizeof(Storage)}, foreign_lanes),
  };
}

}  // namespace warploom::loom::corpus
