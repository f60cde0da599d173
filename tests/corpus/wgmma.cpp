// Hopper's tensor core: registers and slots in its hands (catalogue 44, 27, B9).
#include "warploom/arch/wgmma.hpp"

#include "corpus/corpus.hpp"

namespace warploom::loom::corpus {
namespace {

constexpr int n = 16;
constexpr uint32_t a_bytes = 64 * 32, b_bytes = n * 32, stages = 2, turns = 6, load_warp = 4;
using Sum = Fragment<float, n / 2>;

enum class Bug : uint8_t { none, wait_too_weak, no_fence, read_before_wait, operand_overwritten };

struct Storage {
  alignas(1024) std::byte a[stages][a_bytes];
  alignas(1024) std::byte b[stages][b_bytes];
  Mbarrier full[stages], empty[stages];
};

WARPLOOM_FN SmemDescriptor operand(const std::byte* tile) {
  return encode_wgmma_descriptor({shared_address(tile).value & 0x3ffff, 128, 256, 0, Swizzle::none});
}
WARPLOOM_FN void use(float value) { asm volatile("" ::"m"(value)); }

WARPLOOM_FN void load(Storage& s, Bug bug) {
  for (uint32_t i = 0; i < turns; ++i) {
    const uint32_t stage = i % stages;
    const SharedAddress full = address(s.full[stage]);
    mbarrier_wait(address(s.empty[stage]), i / stages);
    mbarrier_arrive_expect_tx(full, a_bytes + b_bytes);
    SITE_IF(bug == Bug::wait_too_weak, bulk_load(address(s.a[stage]), input, a_bytes, full));
    SITE_IF(bug == Bug::wait_too_weak, bulk_load(address(s.b[stage]), input, b_bytes, full));
  }
}

/// One slot a turn; a slot goes back when its product is done.
constexpr auto kernel = [](const Bug& bug) {
  auto& s = shared<Storage>();
  make_barriers(s.full, 1);
  make_barriers(s.empty, 4, RingSide::empty);
  syncthreads();
  if (warp_index() == load_warp) {
    if (lane_index() == 0) load(s, bug);
    syncwarp();
    return;
  }
  Sum sum;
  for (int i = 0; i < n / 2; ++i) sum[i] = 0;
  if (bug != Bug::no_fence) wgmma_fence(sum);
  for (uint32_t i = 0; i < turns; ++i) {
    const uint32_t stage = i % stages;
    const bool here = bug == Bug::wait_too_weak || bug == Bug::no_fence;
    mbarrier_wait(address(s.full[stage]), i / stages + 1);
    SITE_IF(here, wgmma<n, bf16, bf16>(sum, operand(s.a[stage]), operand(s.b[stage]), true));
    wgmma_commit_group();
    if (bug == Bug::read_before_wait) SITE(use(std::as_const(sum)[0]));
    if (bug == Bug::wait_too_weak)
      wgmma_wait_group<1>();
    else
      wgmma_wait_group<0>(sum);
    syncwarp();
    if (lane_index() == 0) mbarrier_arrive(address(s.empty[stage]));
  }
  wgmma_wait_group<0>(sum);
  use(sum[0]);
};

/// B9: the registers of A are filled for the next product while this one reads them.
constexpr auto operand_in_registers = [](const bool& buggy) {
  auto& s = shared<Storage>();
  make_barriers(s.full, 1);
  syncthreads();
  if (thread_index() == 0) {
    mbarrier_arrive_expect_tx(address(s.full[0]), b_bytes);
    bulk_load(address(s.b[0]), input, b_bytes, address(s.full[0]));
  }
  syncwarp();
  mbarrier_wait(address(s.full[0]), 1);
  Sum sum;
  Fragment<uint32_t, 4> a;
  for (int i = 0; i < 4; ++i) a[i] = 0;
  wgmma_fence(sum, a);
  wgmma_from_registers<n, bf16, bf16>(sum, a, operand(s.b[0]), false);
  wgmma_commit_group();
  if (!buggy) wgmma_wait_group<0>(sum, a);
  SITE(a[0] = 1);
  wgmma_wait_group<0>(sum, a);
  use(sum[0]);
};

Entry mutant(const char* id, Bug bug, const char* title, std::vector<std::string> codes) {
  return entry(id, title, std::move(codes), {.threads = 160, .shared_bytes = sizeof(Storage)}, kernel, bug, Bug::none);
}

}  // namespace

Entries wgmma_entries() {
  return {
      mutant("27b", Bug::read_before_wait, "registers of a wgmma used before the wait", {"FRAGMENT"}),
      mutant("44", Bug::no_fence, "wgmma.fence is missing", {"WGMMA-FENCE"}),
      mutant("44b", Bug::wait_too_weak, "wgmma.wait_group leaves the group pending whose slot is given back",
             {"RACE-SMEM"}),
      entry("B9", "A's registers overwritten under a wgmma in flight (DeepGEMM#449)", {"FRAGMENT"},
            {.threads = 128, .shared_bytes = sizeof(Storage)}, operand_in_registers),
  };
}

}  // namespace warploom::loom::corpus
