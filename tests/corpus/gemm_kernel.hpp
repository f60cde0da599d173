// A small Blackwell GEMM as a block diagram: warp 4 loads A and B by bulk copies, warp 5 multiplies, warps 0 to 3 read
// the accumulators. Two slots, two accumulators, three tiles of four steps along K; and thirty ways to get it wrong.
#pragma once

#include "corpus/corpus.hpp"

namespace warploom::loom::corpus::gemm {

enum class Bug : uint8_t {
  none,
  // the input ring
  no_full_wait,
  no_empty_wait,
  release_by_arrive,
  full_wait_a_phase_early,
  empty_wait_a_phase_late,
  empty_count_high,
  commit_twice,
  bytes_short,
  bytes_long,
  arrive_before_expect,
  wrong_full_barrier,
  descriptor_one_stage_on,
  descriptor_past_the_end,
  copy_larger_than_the_slot,
  // the accumulators
  no_commit,
  commit_by_another_thread,
  release_before_wait_load,
  registers_before_wait_load,
  wrong_accumulator,
  first_step_accumulates,
  later_step_overwrites,
  no_fence_after,
  no_fence_before,
  full_overwrite_of_packed_columns,
  // tensor memory
  dealloc_early,
  no_dealloc,
  address_read_early,
  no_steps,
};

inline constexpr uint32_t stages = 2, steps = 4, tiles = 3, accumulators = 2;
inline constexpr uint32_t n = 32, a_bytes = 128 * 32, b_bytes = n * 32, columns = 64;
inline constexpr uint32_t threads = 192, load_warp = 4, mma_warp = 5, epilogue_warps = 4;

struct Storage {
  alignas(1024) std::byte a[stages][a_bytes];
  alignas(1024) std::byte b[stages][b_bytes];
  Mbarrier full[stages], empty[stages];
  Mbarrier acc_full[accumulators], acc_empty[accumulators];
  uint32_t tmem;
};

struct Input {
  static constexpr const char* name = "input";
};
struct Accumulator {
  static constexpr const char* name = "accumulator";
};
struct Load {
  static constexpr const char* name = "load";
};
struct Mma {
  static constexpr const char* name = "mma";
};
struct Epilogue {
  static constexpr const char* name = "epilogue";
};

WARPLOOM_FN SmemDescriptor operand(const std::byte* tile) {
  return encode_smem_descriptor({shared_address(tile).value & 0x3ffff, 128, 256, 0, Swizzle::none});
}
WARPLOOM_FN InstructionDescriptor instruction(uint32_t columns_of_b = n) {
  InstructionFields fields;  // e4m3
  fields.m = 128;
  fields.n = columns_of_b;
  return encode_instruction(fields);
}

WARPLOOM_FN void load(Storage& s, Bug bug) {
  name_role<Load>();
  const uint32_t armed =
      a_bytes + b_bytes + (bug == Bug::bytes_long ? 16 : 0) - (bug == Bug::bytes_short ? b_bytes : 0);
  const uint32_t a_copied = bug == Bug::copy_larger_than_the_slot ? a_bytes + 128 : a_bytes;
  const bool overrun = bug == Bug::no_empty_wait, split = bug == Bug::arrive_before_expect;
  const bool loads = overrun || bug == Bug::no_full_wait || bug == Bug::release_by_arrive || split ||
                     bug == Bug::full_wait_a_phase_early || bug == Bug::bytes_short || bug == Bug::wrong_full_barrier ||
                     bug == Bug::descriptor_one_stage_on || bug == Bug::copy_larger_than_the_slot;
  const bool stuck = bug == Bug::empty_count_high || bug == Bug::empty_wait_a_phase_late;
  for (uint32_t i = 0; i < tiles * steps; ++i) {
    const uint32_t stage = i % stages, lap = i / stages + (bug == Bug::empty_wait_a_phase_late ? 1 : 0);
    const uint32_t other = bug == Bug::wrong_full_barrier ? 1 - stage : stage;
    const SharedAddress full = address(s.full[stage]), target = address(s.full[other]);
    if (!overrun) SITE_IF(stuck, mbarrier_wait(address(s.empty[stage]), lap));
    if (split) {
      SITE_IF(true, mbarrier_arrive(full));
      SITE_IF(true, mbarrier_expect_tx(full, a_bytes + b_bytes));
    } else {
      SITE_IF(overrun, mbarrier_arrive_expect_tx(full, armed + (a_copied - a_bytes)));
    }
    SITE_IF(loads, bulk_load(address(s.a[stage]), input, a_copied, target));
    SITE_IF(loads, bulk_load(address(s.b[stage]), input + a_bytes / 4, b_bytes, target));
  }
  // The last commits arrive before the CTA is gone.
  for (uint32_t stage = 0; stage < stages; ++stage) mbarrier_wait(address(s.empty[stage]), tiles * steps / stages);
}

WARPLOOM_FN void multiply(Storage& s, TmemAddress base, Bug bug) {
  name_role<Mma>();
  const bool reads = bug == Bug::no_full_wait || bug == Bug::no_empty_wait || bug == Bug::release_by_arrive ||
                     bug == Bug::full_wait_a_phase_early || bug == Bug::bytes_short ||
                     bug == Bug::arrive_before_expect || bug == Bug::wrong_full_barrier ||
                     bug == Bug::descriptor_one_stage_on || bug == Bug::descriptor_past_the_end ||
                     bug == Bug::copy_larger_than_the_slot;
  const bool writes = bug == Bug::release_before_wait_load || bug == Bug::wrong_accumulator ||
                      bug == Bug::first_step_accumulates || bug == Bug::commit_by_another_thread ||
                      bug == Bug::no_fence_after || bug == Bug::no_fence_before ||
                      bug == Bug::full_overwrite_of_packed_columns || bug == Bug::dealloc_early;
  const bool stuck = bug == Bug::bytes_short || bug == Bug::bytes_long || bug == Bug::wrong_full_barrier ||
                     bug == Bug::arrive_before_expect || bug == Bug::full_wait_a_phase_early;
  uint32_t i = 0;
  for (uint32_t tile = 0; tile < tiles; ++tile) {
    const uint32_t acc = tile % accumulators;
    mbarrier_wait(address(s.acc_empty[acc]), tile / accumulators);
    if (bug != Bug::no_fence_after) tcgen05_fence_after();
    for (uint32_t step = 0; step < steps; ++step, ++i) {
      const uint32_t stage = i % stages, lap = i / stages;
      const uint32_t phases = bug == Bug::full_wait_a_phase_early ? lap : lap + 1;
      const bool skipped = bug == Bug::no_full_wait && lap > 0;
      if (!skipped) SITE_IF(stuck, mbarrier_wait(address(s.full[stage]), phases));
      const uint32_t read = bug == Bug::descriptor_one_stage_on ? 1 - stage : stage;
      const uint32_t beyond = bug == Bug::descriptor_past_the_end ? sizeof(Storage) : 0;
      const bool fresh = (step == 0) != (bug == Bug::first_step_accumulates && step == 0);
      const bool accumulate = bug == Bug::later_step_overwrites ? false : !fresh;
      const bool wide = bug == Bug::full_overwrite_of_packed_columns && acc == 0;
      const SmemDescriptor a = operand(s.a[read]).advance(beyond), b = operand(wide ? s.a[read] : s.b[read]);
      const TmemAddress d = base.column(acc * n);
      const InstructionDescriptor idesc = instruction(wide ? 2 * n : n);
      if (bug != Bug::no_steps) SITE_IF(reads || writes, umma<MmaKind::f8f6f4, 1>(d, a, b, idesc, accumulate));
      const SharedAddress empty = address(s.empty[stage]);
      if (bug == Bug::release_by_arrive)
        mbarrier_arrive(empty);
      else
        SITE_IF(bug == Bug::commit_twice || bug == Bug::no_full_wait, umma_commit<1>(empty));
      if (bug == Bug::commit_twice) SITE(umma_commit<1>(empty));
    }
    if (bug != Bug::no_commit && bug != Bug::commit_by_another_thread) umma_commit<1>(address(s.acc_full[acc]));
  }
}

WARPLOOM_FN void epilogue(Storage& s, TmemAddress base, Bug bug) {
  name_role<Epilogue>();
  const bool raced = bug == Bug::release_before_wait_load || bug == Bug::wrong_accumulator || bug == Bug::no_steps ||
                     bug == Bug::commit_by_another_thread || bug == Bug::no_fence_after ||
                     bug == Bug::no_fence_before || bug == Bug::full_overwrite_of_packed_columns ||
                     bug == Bug::dealloc_early;
  for (uint32_t tile = 0; tile < tiles; ++tile) {
    const uint32_t acc = tile % accumulators, read = bug == Bug::wrong_accumulator ? 1 - acc : acc;
    SITE_IF(bug == Bug::no_commit, mbarrier_wait(address(s.acc_full[acc]), tile / accumulators + 1));
    tcgen05_fence_after();
    Fragment<uint32_t, n> registers;
    SITE_IF(raced, tmem_load_32x32b(registers, base.column(read * n).lane(32 * warp_index())));
    if (bug == Bug::release_before_wait_load) mbarrier_arrive(address(s.acc_empty[acc]));
    if (bug == Bug::registers_before_wait_load) SITE(keep(registers[0]));
    tmem_wait_load();
    if (bug != Bug::no_fence_before) tcgen05_fence_before();
    if (bug != Bug::release_before_wait_load) mbarrier_arrive(address(s.acc_empty[acc]));
    for (uint32_t i = 0; i < n; i += n - 1)
      store_global(output + (tile * 128 + thread_index()) * 2 + i / (n - 1), registers[static_cast<int>(i)]);
  }
}

inline constexpr auto kernel = [](const Bug& bug) {
  auto& s = shared<Storage>();
  if (warp_index() == 0)
    SITE_IF(bug == Bug::address_read_early || bug == Bug::no_dealloc, tmem_alloc<1>(address(s.tmem), columns));
  make_barriers<Input>(s.full, 1);
  make_barriers<Input>(s.empty, bug == Bug::empty_count_high ? 2 : 1, RingSide::empty);
  make_barriers<Accumulator>(s.acc_full, 1);
  make_barriers<Accumulator>(s.acc_empty, 32 * epilogue_warps, RingSide::empty);
  uint32_t early = 0;
  if (bug == Bug::address_read_early) SITE(early = load_shared(&s.tmem));
  keep(early);
  syncthreads();
  const TmemAddress base{load_shared(&s.tmem)};
  if (warp_index() == load_warp && lane_index() == 0) load(s, bug);
  if (warp_index() == mma_warp && lane_index() == 0) multiply(s, base, bug);
  if (warp_index() == mma_warp && lane_index() == 1 && bug == Bug::commit_by_another_thread)
    for (uint32_t tile = 0; tile < tiles; ++tile) {
      mbarrier_wait(address(s.acc_empty[tile % accumulators]), tile / accumulators);
      umma_commit<1>(address(s.acc_full[tile % accumulators]));
    }
  if (warp_index() < epilogue_warps) epilogue(s, base, bug);
  syncwarp();
  tcgen05_fence_before();
  if (bug == Bug::dealloc_early && warp_index() == load_warp) SITE(tmem_dealloc<1>(base, columns));
  syncthreads();
  const bool freed = bug == Bug::dealloc_early || bug == Bug::no_dealloc;
  if (warp_index() == 0 && !freed) tmem_dealloc<1>(base, columns);
  syncwarp();
};

/// A and B are ones: every element of a tile is the length of K.
inline bool right() {
  for (uint32_t i = 0; i < tiles * 128 * 2; ++i)
    if (output[i] != std::bit_cast<uint32_t>(static_cast<float>(steps * 32))) return false;
  return true;
}

inline Entry mutant(const char* id, Bug bug, const char* title, std::vector<std::string> codes) {
  Entry made =
      entry(id, title, std::move(codes), {.threads = threads, .shared_bytes = sizeof(Storage)}, kernel, bug, Bug::none);
  made.right = right;
  return made;
}

}  // namespace warploom::loom::corpus::gemm
