#include "fuzz/interpreter.hpp"

#include <algorithm>
#include <cstring>
#include <memory>

#include "loom/units/tma.hpp"
#include "warploom/arch/atomic.hpp"
#include "warploom/arch/bulk.hpp"
#include "warploom/arch/clc.hpp"
#include "warploom/arch/cluster.hpp"
#include "warploom/arch/cluster_memory.hpp"
#include "warploom/arch/cp_async.hpp"
#include "warploom/arch/fence.hpp"
#include "warploom/arch/global.hpp"
#include "warploom/arch/matrix.hpp"
#include "warploom/arch/mbarrier_token.hpp"
#include "warploom/arch/named_barrier.hpp"
#include "warploom/arch/pdl.hpp"
#include "warploom/arch/proxy.hpp"
#include "warploom/arch/tmem.hpp"
#include "warploom/arch/umma.hpp"
#include "warploom/arch/wgmma.hpp"
#include "warploom/loom/atomics.hpp"
#include "warploom/types/convert.hpp"

namespace warploom::loom::fuzz {
namespace {

using namespace warploom::arch;

struct alignas(16) Cell {
  uint32_t words[4];
};

/// K = 16 in bf16, K-major without swizzle: 128 rows of A, 16 of B; wgmma uses the first 64 and 8.
constexpr uint32_t a_bytes = 128 * 32, b_bytes = 16 * 32;

struct Storage {
  Cell cells[cell_count];
  ClcResponse answers[slot_count];
  Mbarrier barriers[barrier_count];
  uint32_t slots[slot_count];
};
struct StorageWithOperands : Storage {
  alignas(1024) std::byte a[2][a_bytes];
  alignas(1024) std::byte b[2][b_bytes];
};

/// What the host keeps for all programs.
struct Memory {
  static constexpr uint32_t most_threads = 8192;
  alignas(128) Cell g[cell_count];
  alignas(128) Cell in[cell_count];
  alignas(128) std::byte operands[a_bytes];
  TensorMap map, map_of_g;  ///< of `in` and `g`: a row is a cell
  uint32_t out[most_threads];
};

struct Body {
  const Step* steps;
  uint32_t count;
  uint32_t lanes;  ///< that have a step
};

struct Params {
  Memory* memory;
  const Body* bodies;
  uint32_t* out;
  uint32_t warps, ctas;
  bool fill_cells, one_cta;
  uint8_t counts[barrier_count];
};

WARPLOOM_FN void mix(uint32_t& hash, uint32_t value) { hash = (hash ^ value) * 0x9e3779b1u + (hash >> 15); }

/// A thread's state between its steps.
struct Registers {
  uint32_t hash = 1, r = 0;
  uint32_t base = 0;  ///< of tensor memory
  MbarrierToken token{};
  bool has_token = false;
  Ready ready;
  uint32_t loaded_count = 0;
  uint32_t products = 0;  ///< accumulators of wgmma that have been used
};

/// Operations of tensor cores have their registers in fragments, which only threads that use them should have.
struct Fragments {
  Fragment<uint32_t, 4> loaded[2];
  Fragment<float, 4> d[2];
};

class Thread {
 public:
  Thread(const Params& p, Storage& s, Registers& registers) : p_(p), s_(s), v_(registers) {}

  [[gnu::always_inline]] inline bool execute(const Step& step, Fragments* fragments, uint32_t& at);

 private:
  SharedAddress barrier(uint32_t i) const { return shared_address(&s_.barriers[i]); }
  SharedAddress barrier(uint32_t i, uint32_t rank) const { return map_to_rank(barrier(i), rank); }
  SharedAddress cell(uint32_t i) const { return shared_address(&s_.cells[i]); }
  SharedAddress word(uint32_t i, uint32_t w, uint32_t rank) const {
    return map_to_rank(shared_address(&s_.cells[i].words[w]), rank);
  }
  void read(uint32_t value) {
    v_.r = value;
    mix(v_.hash, value);
  }
  static native::BulkReduction reduction(uint32_t code) {
    return {true, static_cast<Reduction>(code % 8), static_cast<ReductionType>(code / 8)};
  }
  /// On a word that the form's bytes are a multiple of.
  static uint32_t word_for(uint32_t word, uint32_t bytes) { return word & ~(std::max(bytes, 4u) / 4 - 1); }
  void atomic(const AtomicForm& form, uint32_t n, uint32_t address, void* global) {
    uint32_t operand[4] = {n, n + 1, n + 2, n + 3}, old[4] = {};
    if (form.type == AtomicType::f32) operand[0] = as_bits(static_cast<float>(n));
    constexpr uint32_t expected[4] = {};
    void* const answer = form.returns ? old : nullptr;
    if (global == nullptr)
      native::atomic_shared(form, address, operand, expected, answer);
    else
      native::atomic_global(form, global, operand, expected, answer);
    for (uint32_t i = 0; form.returns && i < std::max(size_of(form), 4u) / 4; ++i) read(old[i]);
  }
  static native::OrderedAccess access(uint32_t code, bool load) {
    const AtomicForm form = AtomicCode{static_cast<uint8_t>(code)}.form();
    const MemoryOrder ordered = load ? MemoryOrder::acquire : MemoryOrder::release;
    return {form.order == MemoryOrder::relaxed ? MemoryOrder::relaxed : ordered, form.scope, 4, 1};
  }
  StorageWithOperands& large() const { return static_cast<StorageWithOperands&>(s_); }
  SmemDescriptorFields fields(const std::byte* tile) const {
    return {shared_address(tile).value & 0x3ffff, 128, 256, 0, Swizzle::none};
  }

  const Params& p_;
  Storage& s_;
  Registers& v_;
};

bool Thread::execute(const Step& step, Fragments* fragments, uint32_t& at) {
  const auto& x = step.x;
  const uint32_t n = step.n;
  Memory& m = *p_.memory;
  switch (step.op) {
    case Op::store: store_shared(&s_.cells[x[0]].words[x[1]], n + (x[2] != 0 ? v_.r : 0)); break;
    case Op::load: read(load_shared(&s_.cells[x[0]].words[x[1]])); break;
    case Op::store_narrow:
      store_shared(reinterpret_cast<uint8_t*>(&s_.cells[x[0]]) + 5 * x[1],
                   static_cast<uint8_t>(n + (x[2] != 0 ? v_.r : 0)));
      break;
    case Op::store_wide: store_shared(&s_.cells[x[0]], Cell{{n, n + 1, n + 2, n + 3}}); break;
    case Op::load_wide: {
      const Cell all = load_shared(&s_.cells[x[0]]);
      for (const uint32_t one : all.words) read(one);
      break;
    }
    case Op::store_matrix: {
      const uint32_t registers[1] = {n + lane_index()};
      store_matrix<1>(cell((x[0] + lane_index() % 8) % cell_count), registers);
      break;
    }
    case Op::load_matrix: {
      uint32_t registers[1];
      load_matrix<1>(cell((x[0] + lane_index() % 8) % cell_count), registers);
      read(registers[0]);
      break;
    }
    case Op::store_remote: store_cluster(word(x[0], x[1], x[2]), n); break;
    case Op::load_remote: read(load_cluster<uint32_t>(word(x[0], x[1], x[2]))); break;
    case Op::store_async: {
      const uint32_t words[4] = {n, n + 1, n + 2, n + 3};
      store_async(word(x[0], 0, x[2]), words, barrier(x[1], x[2]));
      break;
    }
    case Op::send: bulk_send(word(x[0], 0, x[3]), cell(x[1]), n, barrier(x[2], x[3])); break;
    case Op::send_reduce:
      native::bulk_send(word(x[0], 0, x[3]).value, cell(x[1]).value, 16, barrier(x[2], x[3]).value, reduction(n));
      break;
    case Op::bulk_load: bulk_load(cell(x[0]), x[3] != 0 ? &m.g[x[2]] : &m.in[x[2]], n, barrier(x[1])); break;
    case Op::bulk_load_multicast:
      bulk_load_multicast(cell(x[0]), &m.in[x[2]], 16, barrier(x[1]), static_cast<uint16_t>(n));
      break;
    case Op::tma_load: {
      TmaCoordinates row{};
      row.rank = 2;
      row.c[1] = 1;
      native::tma_load(1 + x[3], cell(8 * x[0]).value, m.map, barrier(x[1], x[2]).value, row, -1);
      break;
    }
    case Op::tma_store:
    case Op::tma_reduce: {
      TmaCoordinates row{};
      row.rank = 2;
      row.c[1] = static_cast<int32_t>(x[1]);
      if (step.op == Op::tma_store)
        native::tma_store(m.map_of_g, cell(8 * x[0]).value, row);
      else
        native::tma_reduce(static_cast<Reduction>(n % 8), m.map_of_g, cell(8 * x[0]).value, row);
      break;
    }
    case Op::bulk_store: bulk_store(&m.g[x[0]], cell(x[1]), n); break;
    case Op::bulk_store_masked: bulk_store_masked(&m.g[x[0]], cell(x[1]), 16, static_cast<uint16_t>(n)); break;
    case Op::bulk_reduce: native::bulk_store(&m.g[x[0]], cell(x[1]).value, 16, 0xffff, reduction(n)); break;
    case Op::bulk_commit: bulk_commit_group(); break;
    case Op::bulk_wait: native::bulk_wait_group(n, false); break;
    case Op::bulk_wait_read: native::bulk_wait_group(n, true); break;
    case Op::store_global: store_global(&m.g[x[0]].words[x[1]], n + (x[2] != 0 ? v_.r : 0)); break;
    case Op::load_global: read(load_global(x[2] != 0 ? &m.g[x[0]].words[x[1]] : &m.in[x[0]].words[x[1]])); break;
    case Op::cp_async:
      native::cp_async(cell(x[0]).value, x[2] != 0 ? &m.g[x[1]] : &m.in[x[1]], 4u << x[3], 4u << x[3]);
      break;
    case Op::cp_arrive: native::cp_async_mbarrier_arrive(barrier(x[0]).value, x[1] != 0); break;
    case Op::cp_commit: cp_async_commit_group(); break;
    case Op::cp_wait: native::cp_async_wait_group(n); break;
    case Op::fence:
      switch (x[0]) {
        case 0: fence_cluster(); break;
        case 1: fence_proxy_async(); break;
        case 2: fence_shared_release(); break;
        case 3: fence_shared_acquire(); break;
        case 4: fence_proxy_async_release(); break;
        case 5: fence_proxy_async_acquire(); break;
        case 6: fence_proxy_async_shared(); break;
        case 7: fence_proxy_async_global(); break;
        case 8: fence_gpu(); break;
        case 10: native::fence(MemoryScope::cta); break;
        default: fence_mbarrier_init(); break;
      }
      break;
    case Op::fetch: {
      const bool bits = x[3] >= static_cast<uint32_t>(Atomic::bit_and);
      atomic({static_cast<Atomic>(x[3]), bits ? AtomicType::b32 : AtomicType::u32, 1, MemoryOrder::acq_rel,
              MemoryScope::cluster},
             n, word(x[0], x[1], x[2]).value, nullptr);
      break;
    }
    case Op::compare_exchange: read(compare_exchange_cluster(word(x[0], x[1], x[2]), x[3], n)); break;
    case Op::fetch_global:
      atomic({Atomic::add, AtomicType::u32, 1, static_cast<MemoryOrder>(x[2]), static_cast<MemoryScope>(x[3])}, n, 0,
             &m.g[x[0]].words[x[1]]);
      break;
    case Op::atomic: {
      const AtomicForm form = AtomicCode{x[3]}.form();
      atomic(form, n, word(x[0], word_for(x[1], size_of(form)), x[2]).value, nullptr);
      break;
    }
    case Op::atomic_global: {
      const AtomicForm form = AtomicCode{x[3]}.form();
      atomic(form, n, 0, &m.g[x[0]].words[word_for(x[1], size_of(form))]);
      break;
    }
    case Op::load_ordered: {
      uint32_t value = 0;
      native::load_ordered_shared(access(x[3], true), word(x[0], x[1], x[2]).value, &value);
      read(value);
      break;
    }
    case Op::store_ordered: native::store_ordered_shared(access(x[3], false), word(x[0], x[1], x[2]).value, &n); break;
    case Op::load_ordered_global: {
      uint32_t value = 0;
      native::load_ordered_global(access(x[3], true), &m.g[x[0]].words[x[1]], &value);
      read(value);
      break;
    }
    case Op::store_ordered_global: native::store_ordered_global(access(x[3], false), &m.g[x[0]].words[x[1]], &n); break;
    case Op::reduce_async: {
      struct Kind {
        Atomic operation;
        AtomicType type;
      };
      static constexpr Kind kinds[] = {{Atomic::add, AtomicType::u32}, {Atomic::max, AtomicType::s32},
                                       {Atomic::inc, AtomicType::u32}, {Atomic::bit_and, AtomicType::b32},
                                       {Atomic::min, AtomicType::u32}, {Atomic::add, AtomicType::u64}};
      const uint64_t value = n;
      native::reduce_async(kinds[x[3] % 6].operation, kinds[x[3] % 6].type, word(x[0], 0, x[2]).value, &value,
                           barrier(x[1], x[2]).value);
      break;
    }
    case Op::init: mbarrier_init(barrier(x[0]), n); break;
    case Op::invalidate: mbarrier_invalidate(barrier(x[0])); break;
    case Op::arrive: native::mbarrier_arrive(barrier(x[0], x[1]).value, n, x[2] != 0); break;
    case Op::arrive_expect: mbarrier_arrive_expect_tx(barrier(x[0], x[1]), n); break;
    case Op::expect: mbarrier_expect_tx(barrier(x[0], x[1]), n); break;
    case Op::complete: mbarrier_complete_tx(barrier(x[0], x[1]), n); break;
    case Op::drop: mbarrier_arrive_drop(barrier(x[0], x[1]), n); break;
    case Op::drop_expect: mbarrier_arrive_drop_expect_tx(barrier(x[0], x[1]), n); break;
    case Op::wait:
      if (x[2] != 0)
        mbarrier_wait<Scope::cluster>(barrier(x[0]), n);
      else
        mbarrier_wait(barrier(x[0]), n);
      break;
    case Op::test: {
      bool passed = false;
      for (uint32_t tries = 0; tries <= x[1] && !passed; ++tries)
        passed = native::mbarrier_test(barrier(x[0]).value, n, x[2] != 0);
      read(passed ? 1 : 0);
      break;
    }
    case Op::poll:
      v_.ready = x[2] != 0 ? mbarrier_poll<Scope::cluster>(barrier(x[0]), n) : mbarrier_poll(barrier(x[0]), n);
      break;
    case Op::wait_unless:
      if (x[2] != 0)
        mbarrier_wait_unless<Scope::cluster>(v_.ready, barrier(x[0]), n);
      else
        mbarrier_wait_unless(v_.ready, barrier(x[0]), n);
      v_.ready = {};
      break;
    case Op::arrive_token:
      v_.token = mbarrier_arrive_token(barrier(x[0]), n);
      v_.has_token = true;
      break;
    case Op::arrive_no_complete:
      v_.token = mbarrier_arrive_no_complete(barrier(x[0]), n);
      v_.has_token = true;
      break;
    case Op::pending_count:
      if (v_.has_token) read(mbarrier_pending_count(v_.token));
      break;
    case Op::test_token:
      if (v_.has_token) read(mbarrier_test_token(barrier(x[0]), v_.token) ? 1 : 0);
      break;
    case Op::wait_token:
      if (v_.has_token) mbarrier_wait_token(barrier(x[0]), v_.token);
      break;
    case Op::syncwarp: syncwarp(n); break;
    case Op::sync_before_signal: syncwarp_before_signal(); break;
    case Op::elect: read(elect_one(n) ? 1 : 0); break;
    case Op::shuffle: read(native::shuffle(static_cast<native::Shuffle>(x[0]), n, v_.r, x[1])); break;
    case Op::bar_sync: bar_sync(x[0], 32 * x[1]); break;
    case Op::bar_arrive: bar_arrive(x[0], 32 * x[1]); break;
    case Op::syncthreads: syncthreads(); break;
    case Op::cluster_arrive:
      if (x[0] != 0)
        cluster_arrive_relaxed();
      else
        cluster_arrive();
      break;
    case Op::cluster_wait: cluster_wait(); break;
    case Op::tmem_alloc: tmem_alloc<1>(shared_address(&s_.slots[x[0]]), n); break;
    case Op::tmem_relinquish: tmem_relinquish<1>(); break;
    case Op::tmem_dealloc: tmem_dealloc<1>({v_.base}, n); break;
    case Op::tmem_base:
      v_.base = load_shared(&s_.slots[x[0]]);
      read(v_.base);
      break;
    case Op::tmem_load:
      if (v_.loaded_count == 2) break;
      tmem_load_32x32b<4>(fragments->loaded[v_.loaded_count++],
                          TmemAddress{v_.base}.lane(32 * (warp_index() % 4)).column(4 * x[0]));
      break;
    case Op::tmem_store: {
      const uint32_t values[4] = {n, n + lane_index(), n + 2, n + v_.r};
      tmem_store_32x32b<4>(TmemAddress{v_.base}.lane(32 * (warp_index() % 4)).column(4 * x[0]), values);
      break;
    }
    case Op::tmem_wait_load:
      tmem_wait_load();
      for (uint32_t i = 0; i < v_.loaded_count; ++i)
        for (int j = 0; j < 4; ++j) read(fragments->loaded[i][j]);
      v_.loaded_count = 0;
      break;
    case Op::tmem_wait_store: tmem_wait_store(); break;
    case Op::tmem_fence:
      if (x[0] != 0)
        tcgen05_fence_after();
      else
        tcgen05_fence_before();
      break;
    case Op::mma: {
      static constexpr uint32_t odd_lanes[4] = {0xaaaaaaaa, 0xaaaaaaaa, 0xaaaaaaaa, 0xaaaaaaaa};
      InstructionFields instruction;
      instruction.a_type = instruction.b_type = 1;  // bf16
      instruction.m = 128;
      instruction.n = 16;
      native::MmaInstruction in;
      in.d = v_.base + 4 * x[0];
      in.a_in_tmem = (n & 2) != 0;
      in.a = in.a_in_tmem ? v_.base + 16 + 8 * x[1] : encode_smem_descriptor(fields(large().a[x[1]])).bits;
      in.b = encode_smem_descriptor(fields(large().b[x[2]])).bits;
      in.idesc = encode_instruction(instruction).bits;
      in.accumulate = x[3] != 0;
      if ((n & 1) != 0) in.disabled_lanes = odd_lanes;
      native::umma(in);
      break;
    }
    case Op::tmem_copy:
      native::tmem_copy(TmemCopy::m128x256b, Expand::none, 1, v_.base + 4 * x[0],
                        encode_smem_descriptor(fields(large().a[x[1]])).bits);
      break;
    case Op::tmem_shift: native::tmem_shift_down(1, v_.base + 4 * x[0]); break;
    case Op::commit: native::umma_commit(1, barrier(x[0]).value, n == 0 ? -1 : static_cast<int>(n)); break;
    case Op::load_operand: {
      std::byte* const tile = x[1] != 0 ? large().b[x[0]] : large().a[x[0]];
      bulk_load(shared_address(tile), m.operands, x[1] != 0 ? b_bytes : a_bytes, barrier(x[2]));
      break;
    }
    case Op::store_operand:
      store_shared(reinterpret_cast<Cell*>(x[1] != 0 ? large().b[x[0]] : large().a[x[0]]),
                   Cell{{0x3f803f80u + (n << 16), n, 0, 0}});
      break;
    case Op::wgmma_fence: wgmma_fence(fragments->d[0], fragments->d[1]); break;
    case Op::wgmma:
      v_.products |= 1u << x[2];
      wgmma<8, bf16, bf16>(fragments->d[x[2]], encode_wgmma_descriptor(fields(large().a[x[0]])),
                           encode_wgmma_descriptor(fields(large().b[x[1]])), x[3] != 0);
      break;
    case Op::wgmma_commit: wgmma_commit_group(); break;
    case Op::wgmma_wait:
      if (n == 0)
        wgmma_wait_group<0>(fragments->d[0], fragments->d[1]);
      else
        native::wgmma_wait_group(n);
      break;
    case Op::wgmma_wait_before_signal: native::wgmma_wait_group_before_signal(n); break;
    case Op::wait_before_wgmma: mbarrier_wait<Scope::cta, true>(barrier(x[0]), n); break;
    case Op::wgmma_read:
      if ((v_.products >> x[0] & 1) == 0) break;  // nothing is there
      for (int i = 0; i < 4; ++i) read(as_bits(fragments->d[x[0]][i]));
      break;
    case Op::set_registers: native::set_max_registers(n, x[0] != 0); break;
    case Op::try_cancel:
      if (x[2] != 0)
        clc_try_cancel_multicast(shared_address(&s_.answers[x[0]]), barrier(x[1]));
      else
        clc_try_cancel(shared_address(&s_.answers[x[0]]), barrier(x[1]));
      break;
    case Op::read_answer: {
      const ClcResponse answer = load_shared(&s_.answers[x[0]]);
      read(clc_is_canceled(answer) ? 1 + clc_first_cta(answer).x : 0);
      break;
    }
    case Op::grid_wait: grid_dependency_wait(); break;
    case Op::grid_launch: grid_launch_dependents(); break;
    case Op::skip: {
      const bool yes = x[0] == 0 ? v_.r == n : x[0] == 1 ? v_.r != n : x[0] == 2 ? v_.r < n : v_.r >= n;
      if (yes) at += x[1];
      break;
    }
    case Op::leave: return false;
  }
  return true;
}

WARPLOOM_FN void prologue(const Params& p, Storage& s) {
  const uint32_t thread = thread_index();
  if (thread < cell_count && p.fill_cells) {
    const uint32_t value = 1000 * thread + cluster_rank();
    store_shared(&s.cells[thread], Cell{{value, value + 1, value + 2, value + 3}});
    fence_proxy_async();
  }
  if (thread == 0) {
    for (uint32_t b = 0; b < barrier_count; ++b)
      if (p.counts[b] != 0) mbarrier_init(shared_address(&s.barriers[b]), p.counts[b]);
    fence_mbarrier_init();
  }
  if (p.one_cta)
    syncthreads();
  else
    cluster_sync();
}

WARPLOOM_FN uint32_t cluster_number() {
  const Dim3 index = cluster_index(), count = cluster_count();
  return index.x + count.x * (index.y + count.y * index.z);
}

WARPLOOM_FN void interpret(const Params& p, Storage& s, Fragments* fragments) {
  prologue(p, s);
  const uint32_t lane = lane_index(), cluster = cluster_number();
  const uint32_t warp = cluster_rank() * p.warps + warp_index();
  const Body& body = p.bodies[warp];
  if ((body.lanes >> lane & 1) == 0) return;
  Registers registers;
  Thread thread(p, s, registers);
  for (uint32_t at = 0; at < body.count; ++at) {
    const Step& step = body.steps[at];
    if ((step.lanes >> lane & 1) == 0 || (step.cluster >= 0 && static_cast<uint32_t>(step.cluster) != cluster))
      continue;
    if (!thread.execute(step, fragments, at)) break;
  }
  const uint32_t place = (cluster * p.ctas * p.warps + warp) * 32 + lane;
  store_global(p.out + place, registers.hash);
}

void plain_entry(const void* params) {
  const Params& p = *static_cast<const Params*>(params);
  interpret(p, shared<Storage>(), nullptr);
  asm volatile("" ::: "memory");
}
void tensor_entry(const void* params) {
  const Params& p = *static_cast<const Params*>(params);
  Fragments fragments;
  for (auto& d : fragments.d) std::fill_n(d.registers(), 4, 0.0f);  // what nobody wrote is the same in every run
  interpret(p, shared<StorageWithOperands>(), &fragments);
  asm volatile("" ::: "memory");
}

Memory& memory() {
  static const auto kept = [] {
    auto made = std::make_unique<Memory>();
    for (uint32_t i = 0; i < cell_count; ++i)
      for (uint32_t w = 0; w < 4; ++w) made->in[i].words[w] = 100 * i + w + 7;
    for (uint32_t i = 0; i < a_bytes / 2; ++i) {
      const bf16 value = to_bf16(static_cast<float>(static_cast<int>(i * 7 % 5) - 2));
      std::memcpy(made->operands + 2 * i, &value, 2);
    }
    TensorMapArgs args;
    args.type = TmaType::u32;
    args.rank = 2;
    args.address = made->in;
    args.dims = {4, cell_count, 1, 1, 1};
    args.strides[0] = sizeof(Cell);
    args.box = {4, 1, 1, 1, 1};
    made->map = *encode_tensor_map(args, Chip::sm100);
    args.address = made->g;
    made->map_of_g = *encode_tensor_map(args, Chip::sm100);
    return made;
  }();
  return *kept;
}

uint64_t hash_of(const void* bytes, size_t count, uint64_t hash) {
  const auto* words = static_cast<const uint32_t*>(bytes);
  for (size_t i = 0; i < count / 4; ++i) hash = (hash ^ words[i]) * 0x9e3779b97f4a7c15u + (hash >> 29);
  return hash;
}

}  // namespace

Ran run(const Program& program, const Schedule& schedule, bool check, const std::vector<std::string>& without) {
  Memory& m = memory();
  for (uint32_t i = 0; i < cell_count; ++i)
    for (uint32_t w = 0; w < 4; ++w) m.g[i].words[w] = 0;
  const uint32_t warps = program.ctas * program.warps;
  const uint32_t threads = program.clusters * warps * 32;
  const size_t outs = threads * program.grids.size();
  std::memset(m.out, 0, outs * 4);

  const bool tensors_used = program.uses_tensors();
  const bool plain_launch = program.grids.size() == 1;
  std::vector<Body> bodies;
  bodies.reserve(warps * program.grids.size());
  std::vector<Params> params;
  params.reserve(program.grids.size());
  std::vector<std::array<TensorRef, 4>> tensors(program.grids.size());
  std::vector<GridLaunch> grids;
  for (size_t g = 0; g < program.grids.size(); ++g) {
    const Body* const first = bodies.data() + bodies.size();
    bool writes = plain_launch;
    for (const auto& body : program.grids[g]) {
      uint32_t lanes = 0;
      for (const Step& step : body) {
        lanes |= step.lanes;
        writes = writes || step.op == Op::store_global || step.op == Op::bulk_store || step.op == Op::bulk_reduce ||
                 step.op == Op::fetch_global || step.op == Op::atomic_global || step.op == Op::store_ordered_global ||
                 step.op == Op::bulk_store_masked || step.op == Op::tma_store || step.op == Op::tma_reduce;
      }
      bodies.push_back({body.data(), static_cast<uint32_t>(body.size()), lanes});
    }
    Params& p = params.emplace_back();
    p = {&m, first, m.out + g * threads, program.warps, program.ctas, program.fill_cells, program.ctas == 1, {}};
    std::copy(program.counts.begin(), program.counts.end(), p.counts);
    tensors[g] = {{{m.g, sizeof(m.g), writes ? Access::write : Access::read, "g"},
                   {m.in, sizeof(m.in), Access::read, "in"},
                   {m.operands, sizeof(m.operands), Access::read, "operands"},
                   {m.out + g * threads, threads * 4, Access::write, "out"}}};
    LaunchConfig config;
    config.kernel = "fuzz";
    config.grid = {static_cast<uint32_t>(program.ctas * program.clusters)};
    config.cluster = {program.ctas};
    config.threads = 32u * program.warps;
    config.shared_bytes = tensors_used ? sizeof(StorageWithOperands) : sizeof(Storage);
    config.launch_control = program.uses(Op::try_cancel);
    config.talks_across_clusters =
        program.uses_any({Op::fetch_global, Op::bulk_reduce, Op::tma_reduce, Op::atomic_global, Op::load_ordered_global,
                          Op::store_ordered_global});
    config.registers = program.registers;
    grids.push_back({config, tensors_used ? &tensor_entry : &plain_entry, &p, tensors[g]});
  }

  Options options;
  options.schedule = schedule;
  options.workers = 1;
  options.seconds_limit = 0;
  options.processors = program.processors;
  options.step_limit = 1'000'000;
  options.check = check;
  for (const std::string& code : without) options.suppressed.push_back({.code = code});
  Ran ran;
  const auto take = [&](Outcome&& outcome) {
    ran.points.insert(ran.points.end(), outcome.points.begin(), outcome.points.end());
    if (ran.report.clean() && !outcome.ok()) ran.report = std::move(outcome.report);
  };
  if (plain_launch) {
    take(launch(grids[0].config, grids[0].entry, grids[0].params, grids[0].tensors, options));
  } else {
    for (Outcome& outcome : launch_dependent(grids, options)) take(std::move(outcome));
  }
  ran.read = hash_of(m.out, outs * 4, 1);
  ran.left = hash_of(m.g, sizeof(m.g), 1);
  return ran;
}

}  // namespace warploom::loom::fuzz
