// The native front end of the loom: what the loom side of `arch` calls, one function per hardware operation. Each notes
// its return address, from which a report finds the line. Nothing here throws, and a call that finds an error does not
// return: its thread is parked for good.
#pragma once

#include "warploom/arch/config.hpp"
#include "warploom/loom/posted.hpp"
#include "warploom/types/descriptor.hpp"
#include "warploom/types/memory_order.hpp"
#include "warploom/types/reduction.hpp"
#include "warploom/types/tensor_map.hpp"
#include "warploom/types/tmem_copy.hpp"
#include "warploom/types/wgmma_types.hpp"

namespace warploom::loom::native {
#pragma GCC visibility push(default)  // the shared library exports what is declared here

struct Identity {
  uint32_t thread = 0, warp = 0, lane = 0;
  uint32_t cluster_rank = 0;
  Dim3 block, grid, cluster, clusters;  ///< blockIdx, gridDim, cluster index, number of clusters
};
WARPLOOM_FN const Identity& self() noexcept { return *script.identity; }

// Shared memory. The addresses that a kernel computes with are an alias, which nothing lies behind: `shared_memory`
// says where the bytes are. So a plain C++ access, which no checker would see, is a finding (PLAIN-SHARED).

/// Of at least so many bytes.
void* shared_base(size_t bytes) noexcept;
uint32_t foreign_address(const void* object) noexcept;
WARPLOOM_FN uint32_t shared_address(const void* object) noexcept {
  const Script& s = script;
  const auto offset = static_cast<size_t>(static_cast<const std::byte*>(object) - s.alias);
  if (offset >= s.window_bytes) [[unlikely]]
    return foreign_address(object);
  return s.rank_bits | static_cast<uint32_t>(offset);
}
uint32_t map_to_rank(uint32_t address, uint32_t rank) noexcept;

/// A load or store: where its bytes are. Reports one that leaves the CTA's dynamic shared memory. A scheduling point of
/// seeded schedules. `value`: what a store is about to write.
void* shared_memory(const void* address, size_t bytes, bool write, const void* value = nullptr) noexcept;
/// Of 4, 8 or 16 bytes.
void store_async(uint32_t destination, const void* value, uint32_t bytes, uint32_t barrier) noexcept;

// Global memory: reports an address outside the launch's tensors.
void check_global(const void* address, size_t bytes, bool write, const void* value = nullptr) noexcept;
void fence(MemoryScope scope) noexcept;    ///< fence.acq_rel
void fence_shared(bool release) noexcept;  ///< one of a cluster's shared memory alone

// Warp
enum class Shuffle : uint8_t { index, exclusive_or, up, down };
bool elect(uint32_t mask) noexcept;
void syncwarp(uint32_t mask) noexcept;
void post_sync() noexcept;
WARPLOOM_FN void syncwarp_before_signal() noexcept {
  Script& s = script;
  if (s.next == s.end || s.next->kind != PostedKind::sync) [[unlikely]]
    return post_sync();
  ++s.next;
}
void post_phase_wait(uint32_t barrier, uint32_t phases) noexcept;
WARPLOOM_FN void mbarrier_wait_before_wgmma(uint32_t barrier, uint32_t phases) noexcept {
  Script& s = script;
  if (s.next == s.end || s.next->kind != PostedKind::phase || s.next->a_descriptor != barrier ||
      s.next->b_descriptor != phases) [[unlikely]]
    return post_phase_wait(barrier, phases);
  ++s.next;
}
uint32_t shuffle(Shuffle mode, uint32_t mask, uint32_t value, uint32_t lane) noexcept;
/// Reports lanes that do not agree on the value.
uint32_t uniform(uint32_t value) noexcept;
void bar_sync(uint32_t id, uint32_t threads) noexcept;
void bar_arrive(uint32_t id, uint32_t threads) noexcept;
void syncthreads() noexcept;

// Cluster
void cluster_arrive(bool release) noexcept;
void cluster_wait() noexcept;

// mbarrier
void mbarrier_init(uint32_t barrier, uint32_t count) noexcept;
void mbarrier_invalidate(uint32_t barrier) noexcept;
void fence_mbarrier_init() noexcept;
/// `cluster_scope`: what the thread did is seen by other CTAs, too.
void mbarrier_arrive(uint32_t barrier, uint32_t count, bool cluster_scope) noexcept;
void mbarrier_arrive_expect_tx(uint32_t barrier, uint32_t bytes) noexcept;
void mbarrier_expect_tx(uint32_t barrier, uint32_t bytes) noexcept;
void mbarrier_complete_tx(uint32_t barrier, uint32_t bytes) noexcept;
void mbarrier_arrive_drop(uint32_t barrier, uint32_t count) noexcept;
void mbarrier_wait(uint32_t barrier, uint32_t phases) noexcept;
/// Of scope cluster: what threads of other CTAs did before they arrived with that scope is seen.
void mbarrier_wait_cluster(uint32_t barrier, uint32_t phases) noexcept;
bool mbarrier_test(uint32_t barrier, uint32_t phases, bool cluster_scope) noexcept;
/// What was polled, if anything. The answer is left out: a wait that goes by it is one whether it is needed or not.
struct Poll {
  uint32_t barrier = 0;
  uint32_t phases = 0;
  bool asked = false;
  bool cluster_scope = false;
};
Poll mbarrier_poll(uint32_t barrier, uint32_t phases, bool cluster_scope) noexcept;
void mbarrier_wait_unless(const Poll& poll, uint32_t barrier, uint32_t phases, bool cluster_scope) noexcept;

// mbarrier tokens; barriers of this CTA, arrive_drop of any
uint64_t mbarrier_arrive_token(uint32_t barrier, uint32_t count, bool no_complete) noexcept;
uint32_t mbarrier_pending_count(uint64_t token) noexcept;
bool mbarrier_test_token(uint32_t barrier, uint64_t token) noexcept;
void mbarrier_wait_token(uint32_t barrier, uint64_t token) noexcept;
void mbarrier_arrive_drop_expect_tx(uint32_t barrier, uint32_t bytes) noexcept;

// Shared memory of any CTA of the cluster
uint32_t rank_of(uint32_t address) noexcept;
/// What orders the last three is the front end's to say (loom/atomics.hpp).
enum class ClusterAccess : uint8_t { load, store, atomic, ordered_load, ordered_store };
/// Where it is; reports an address that is not aligned, not in the cluster, or of a CTA that has exited.
void* cluster_memory(uint32_t address, uint32_t bytes, bool write) noexcept;

// Fences
enum class ProxyFence : uint8_t { all, shared, global, release, acquire };
void fence_proxy_async(ProxyFence kind) noexcept;
void tcgen05_fence(bool before) noexcept;

// TMA
using Coordinates = TmaCoordinates;
/// `cta_mask` < 0: no multicast
void tma_load(int cta_group, uint32_t destination, const TensorMap& map, uint32_t barrier, const Coordinates& at,
              int cta_mask) noexcept;
void tma_store(const TensorMap& map, uint32_t source, const Coordinates& at) noexcept;
void tma_reduce(Reduction operation, const TensorMap& map, uint32_t source, const Coordinates& at) noexcept;
/// Checked, and otherwise nothing.
void tma_prefetch(const TensorMap& map, const Coordinates& at) noexcept;
void bulk_commit_group() noexcept;
void bulk_wait_group(uint32_t pending, bool read_only) noexcept;

void tensor_map_replace(uint32_t map, TensorMapField field, uint32_t which, uint64_t value) noexcept;
void publish_tensor_map(TensorMap* destination, uint32_t map) noexcept;
/// tensormap.replace on a map in global memory, and the fence that publishes what the thread has changed there.
void tensor_map_replace_global(TensorMap* map, TensorMapField field, uint32_t which, uint64_t value) noexcept;
void release_tensor_maps() noexcept;
void acquire_tensor_map(const TensorMap& map) noexcept;

// Bulk copies without tensor map
/// What cp.reduce.async.bulk does at the destination; cp.async.bulk where it is not used.
struct BulkReduction {
  bool used = false;
  Reduction operation = Reduction::add;
  ReductionType type = ReductionType::u32;
};
/// `cta_mask` < 0: no multicast
void bulk_load(uint32_t destination, const void* source, uint32_t bytes, uint32_t barrier, int cta_mask) noexcept;
void bulk_store(void* destination, uint32_t source, uint32_t bytes, uint16_t byte_mask,
                const BulkReduction& reduction) noexcept;
void bulk_send(uint32_t destination, uint32_t source, uint32_t bytes, uint32_t barrier,
               const BulkReduction& reduction) noexcept;
void bulk_prefetch(const void* source, uint32_t bytes) noexcept;

// cp.async
void cp_async(uint32_t destination, const void* source, uint32_t bytes, uint32_t source_bytes) noexcept;
void cp_async_mbarrier_arrive(uint32_t barrier, bool increment) noexcept;
void cp_async_commit_group() noexcept;
void cp_async_wait_group(uint32_t pending) noexcept;

// Cluster launch control
void clc_try_cancel(uint32_t response, uint32_t barrier, bool multicast) noexcept;
bool clc_is_canceled(const uint32_t (&response)[4]) noexcept;
Dim3 clc_first_cta(const uint32_t (&response)[4]) noexcept;

// Tensor memory
enum class TmemShape : uint8_t { m32x32b, m16x64b, m16x128b, m16x256b, m16x32bx2 };
struct TmemForm {
  TmemShape shape = TmemShape::m32x32b;
  bool packed = false;       ///< .pack::16b, .unpack::16b
  uint32_t half_offset = 0;  ///< of .16x32bx2: where the second half-warp's columns begin
  friend constexpr bool operator==(const TmemForm&, const TmemForm&) = default;
};
void tmem_alloc(int cta_group, uint32_t slot, uint32_t columns) noexcept;
void tmem_relinquish(int cta_group) noexcept;
void tmem_dealloc(int cta_group, uint32_t base, uint32_t columns) noexcept;
void tmem_load(const TmemForm& form, uint32_t count, uint32_t* registers, bool* in_flight, uint32_t address) noexcept;
void tmem_store(const TmemForm& form, uint32_t count, const uint32_t* registers, uint32_t address) noexcept;
void tmem_wait_load() noexcept;
void tmem_wait_store() noexcept;
/// A fragment was read, written or destroyed while its load was in flight.
void fragment_misuse(const char* what) noexcept;

// Tensor core
void umma(MmaKind kind, int cta_group, uint32_t d, uint64_t a, uint64_t b, uint32_t idesc, bool accumulate) noexcept;
/// Every other form of tcgen05.mma.
struct MmaInstruction {
  MmaKind kind = MmaKind::f16;
  int cta_group = 1;
  bool weight_stationary = false;  ///< .ws
  uint32_t d = 0;
  bool a_in_tmem = false;
  uint64_t a = 0;  ///< descriptor, or address in tensor memory
  uint64_t b = 0;
  uint32_t idesc = 0;
  bool accumulate = false;
  uint32_t scale_input_d = 0;
  const uint32_t* disabled_lanes = nullptr;  ///< 4 words per CTA
  ScaleVector scale_vector = ScaleVector::x1;
  uint32_t sfa = 0, sfb = 0;
};
void umma(const MmaInstruction& instruction) noexcept;
void tmem_copy(TmemCopy shape, Expand expand, int cta_group, uint32_t destination, uint64_t source) noexcept;
void tmem_shift_down(int cta_group, uint32_t address) noexcept;
/// `cta_mask` < 0: no multicast
void umma_commit(int cta_group, uint32_t barrier, int cta_mask) noexcept;

// Warpgroup tensor core (wgmma)

/// What the machine and ordinary code did with the registers of a fragment that wgmma uses.
struct alignas(4) WgmmaRegisters {
  /// `unnamed`: the wait is over, but no wait or fence has named the fragment since, so the compiler may read it early.
  enum class Flight : uint8_t { none, accumulator, operand, unnamed };
  enum class Use : uint8_t { fresh, ordinary, fenced, wgmma };
  Flight flight = Flight::none;
  Use use = Use::fresh;  ///< who touched it last
  uint8_t k = 0;         ///< of the last wgmma
  uint8_t unused = 0;    ///< all of it is compared as one word

  WARPLOOM_FN bool busy() const noexcept { return flight != Flight::none; }
  WARPLOOM_FN void name() noexcept {
    if (flight == Flight::unnamed) flight = Flight::none;
  }
  WARPLOOM_FN void fence() noexcept {
    // As one word: a processor that reads a word right after it has written a byte of it waits.
    uint32_t word = __builtin_bit_cast(uint32_t, *this);
    if ((word & 0xff) == static_cast<uint32_t>(Flight::unnamed)) word &= ~0xffu;
    if ((word & 0xff00) != 0) word = (word & ~0xff00u) | static_cast<uint32_t>(Use::fenced) << 8;
    *this = __builtin_bit_cast(WgmmaRegisters, word);
  }
};
static_assert(WgmmaRegisters::Flight::none == WgmmaRegisters::Flight{} &&
              WgmmaRegisters::Use::fresh == WgmmaRegisters::Use{});
struct WgmmaForm {
  uint32_t n = 8;
  WgmmaType a_type = WgmmaType::bf16, b_type = WgmmaType::bf16;
  Major a_major = Major::k, b_major = Major::k;
  WgmmaResult d_type = WgmmaResult::f32;
  WgmmaNegate negate = WgmmaNegate::none;
  WgmmaOverflow overflow = WgmmaOverflow::wrap;
  friend constexpr bool operator==(const WgmmaForm&, const WgmmaForm&) = default;
};
/// One thread's operands. A is in registers where `a` is not null. D is n / 2 registers of f32 or s32, n / 4 of f16
/// pairs.
struct WgmmaLane {
  void* d = nullptr;
  WgmmaRegisters* d_state = nullptr;
  const uint32_t* a = nullptr;
  WgmmaRegisters* a_state = nullptr;
  uint64_t a_descriptor = 0;
  uint64_t b_descriptor = 0;
  bool accumulate = false;
};
void post_wgmma(const WgmmaForm& form, const WgmmaLane& lane) noexcept;
bool post_wgmma_fence() noexcept;
void post_wgmma_commit() noexcept;

/// Ticks it off if it is what was posted: this is most of what most lanes do.
WARPLOOM_FN bool wgmma_as_posted(const WgmmaForm& form, const WgmmaLane& lane) noexcept {
  static_assert(sizeof(WgmmaLane) == 56, "what lanes must agree on is compared here, and in wgmma.cpp");
  using State = WgmmaRegisters;
  Script& s = script;
  const Posted* posted = s.next;
  if (posted == s.end || lane.a != nullptr) return false;
  State& state = *lane.d_state;
  const uint32_t k = wgmma_k(form.a_type);
  uint32_t head;  // kind, accumulate, k, pending
  __builtin_memcpy(&head, posted, sizeof(head));
  head ^= static_cast<uint32_t>(PostedKind::wgmma) | k << 16;
  head ^= static_cast<uint32_t>(lane.accumulate) << 8;
  if (((reinterpret_cast<uintptr_t>(posted->form) ^ reinterpret_cast<uintptr_t>(&form)) |
       (posted->a_descriptor ^ lane.a_descriptor) | (posted->b_descriptor ^ lane.b_descriptor) | head) != 0)
    return false;
  const State flying{State::Flight::accumulator, State::Use::wgmma, static_cast<uint8_t>(k), 0};
  const bool flies = __builtin_bit_cast(uint32_t, state) == __builtin_bit_cast(uint32_t, flying);
  if (!flies && state.use != State::Use::fenced && (state.use != State::Use::wgmma || state.k != k)) return false;
  // Of one form, the state of a fragment is always as far from its registers: no need to compare both.
  PostedRegisters& registers = *posted->registers;
  if (registers.d_state[s.lane] != &state) [[unlikely]] {
    if (posted->same_registers) return false;
    registers.d[s.lane] = lane.d;
    registers.d_state[s.lane] = &state;
  }
  if (!flies) state = flying;
  ++s.next;
  return true;
}
WARPLOOM_FN void wgmma(const WgmmaForm& form, const WgmmaLane& lane) noexcept {
  if (!wgmma_as_posted(form, lane)) [[unlikely]]
    post_wgmma(form, WgmmaLane(lane));
}
/// False: the mutation hook dropped it.
WARPLOOM_FN bool wgmma_fence() noexcept {
  Script& s = script;
  if (s.next == s.end || s.next->kind != PostedKind::fence) [[unlikely]]
    return post_wgmma_fence();
  ++s.next;
  return true;
}
WARPLOOM_FN void wgmma_commit_group() noexcept {
  Script& s = script;
  if (s.next == s.end || s.next->kind != PostedKind::commit) [[unlikely]]
    return post_wgmma_commit();
  ++s.next;
}
void wgmma_wait_group(uint32_t pending) noexcept;
void post_wgmma_wait(uint32_t pending) noexcept;
WARPLOOM_FN void wgmma_wait_group_before_signal(uint32_t pending) noexcept {
  Script& s = script;
  if (s.next == s.end || s.next->kind != PostedKind::wait || s.next->pending != pending) [[unlikely]]
    return post_wgmma_wait(pending);
  ++s.next;
}
/// A fragment was read, written or destroyed while a wgmma used it.
void wgmma_misuse(const char* what, const WgmmaRegisters* registers) noexcept;

// setmaxnreg
void set_max_registers(uint32_t count, bool increase) noexcept;

// stmatrix, ldmatrix
void store_matrix(uint32_t row, const uint32_t* registers, uint32_t tiles, bool transposed) noexcept;
void load_matrix(uint32_t row, uint32_t* registers, uint32_t tiles, bool transposed) noexcept;

// Programmatic dependent launch
void grid_dependency_wait() noexcept;
void grid_launch_dependents() noexcept;

// Claims of the structure layer (arch/claims.hpp)
[[noreturn]] void stage_misuse(const char* ring, uint8_t what) noexcept;
[[noreturn]] void wrong_argument(const char* ring, const char* what, uint32_t given, uint32_t derived) noexcept;
void claim_published(uint32_t named_barrier) noexcept;
void claim_accumulators(const char* ring, uint32_t base, uint32_t stages, uint32_t columns) noexcept;
void hold_accumulator(uint32_t address, uint8_t side, bool hold) noexcept;

// Names
void name_barriers(uint32_t first, uint32_t count, const char* ring, uint8_t side, const char* signalled_by) noexcept;
void name_role(const char* role) noexcept;
void name_named_barrier(uint32_t id, const char* name) noexcept;

// Trace points: events of the run, if it records any. No step, no cost: a kernel runs the same with and without them.
enum class TracePoint : uint8_t { begin, end, instant };
void trace_point(TracePoint point, const char* label) noexcept;

#pragma GCC visibility pop
}  // namespace warploom::loom::native
