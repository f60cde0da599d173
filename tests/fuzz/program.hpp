// A small kernel as data: for every warp a list of steps, each for some of its lanes. One kernel entry interprets any
// of them (interpreter.cpp), so that a fuzzer can make, change and shrink kernels without a compiler.
//
// Memory of a program: cells of 16 bytes in the shared memory of every CTA and in global memory, mbarriers, two
// operands each of a product. Every thread keeps the last value it read, `r`, and a hash of all of them; the hash is
// its result.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "warploom/types/atomic.hpp"

namespace warploom::loom::fuzz {

enum class Domain : uint8_t {
  lanes,
  clusters,
  tensor_memory,
  wgmma,
  global,
  atomics,
  tests,
  registers,
  launch_control,
  dependents
};
inline constexpr uint32_t domain_count = 10;
const char* to_string(Domain domain);
/// domain_count if there is none of that name
uint32_t parse_domain(std::string_view name);

// One line per operation: name, what its operands are, pseudo-code.
//
// Operands are four small numbers and a large one. A letter says what each is: B mbarrier, C shared cell, G global
// cell, W word of a cell, R rank in the cluster, S scope (0 cta, 1 cluster), m and a digit: one of so many forms, I
// named barrier, T warps of a named barrier, K steps to skip, O operand, D columns of tensor memory, A what an atomic
// or an ordered access does (AtomicCode), '-' unused; of the large one: P phases, N arrivals, Y bytes, V a value, M
// lanes, Q pending groups, X number of columns or registers. A capital L in front: all lanes of the warp execute it
// together.
#define WARPLOOM_FUZZ_OPERATIONS(X)                                                                       \
  X(store, "CWm2-V", "st.shared cell{0}.{1} = {4}{2:s}")                                                  \
  X(load, "CW--.", "r = ld.shared cell{0}.{1}")                                                           \
  X(store_narrow, "CWm2-V", "st.shared.u8 cell{0}.{1} = {4}{2:s}")                                        \
  X(store_wide, "C---V", "st.shared.v4 cell{0} = {4}")                                                    \
  X(load_wide, "C---.", "r = ld.shared.v4 cell{0}")                                                       \
  X(store_matrix, "LC---V", "stmatrix from cell{0}")                                                      \
  X(load_matrix, "LC---.", "r = ldmatrix from cell{0}")                                                   \
  X(store_remote, "CWR-V", "st.shared::cluster cell{0}.{1}@{2} = {4}")                                    \
  X(load_remote, "CWR-.", "r = ld.shared::cluster cell{0}.{1}@{2}")                                       \
  X(store_async, "CBR-V", "st.async cell{0}@{2} = {4} -> bar{1}@{2}")                                     \
  X(send, "CCBRY", "bulk_send cell{0}@{3} = cell{1}, {4} bytes -> bar{2}@{3}")                            \
  X(send_reduce, "CCBRr", "bulk_send_reduce {4:r} cell{0}@{3}, cell{1} -> bar{2}@{3}")                    \
  X(bulk_load, "CBGm2Y", "bulk_load cell{0} = {3:g}{2}, {4} bytes -> bar{1}")                             \
  X(bulk_load_multicast, "CBG-m", "bulk_load_multicast cell{0} = in{2}, 16 bytes -> bar{1}, CTAs {4:#x}") \
  X(tma_load, "m2BRm2.", "cp.async.bulk.tensor cell{0:8} = a row of in -> bar{1}@{2}{3:P}")               \
  X(tma_store, "m2G--.", "cp.async.bulk.tensor g{1} = cell{0:8}")                                         \
  X(tma_reduce, "m2G--m8", "cp.reduce.async.bulk.tensor {4:r} g{1}, cell{0:8}")                           \
  X(bulk_store, "GC--Y", "bulk_store g{0} = cell{1}, {4} bytes")                                          \
  X(bulk_store_masked, "GC--M", "bulk_store_masked g{0} = cell{1}, bytes {4:#x}")                         \
  X(bulk_reduce, "GC--r", "bulk_reduce {4:r} g{0}, cell{1}")                                              \
  X(bulk_commit, "----.", "bulk_commit_group")                                                            \
  X(bulk_wait, "----Q", "bulk_wait_group<{4}>")                                                           \
  X(bulk_wait_read, "----Q", "bulk_wait_group_read<{4}>")                                                 \
  X(store_global, "GWm2-V", "st.global g{0}.{1} = {4}{2:s}")                                              \
  X(load_global, "GWm2-.", "r = ld.global {2:g}{0}.{1}")                                                  \
  X(cp_async, "CGm2m3.", "cp.async cell{0} = {2:g}{1} ({3:c} bytes)")                                     \
  X(cp_arrive, "Bm2--.", "cp.async.mbarrier.arrive{1:i} bar{0}")                                          \
  X(cp_commit, "----.", "cp.async.commit_group")                                                          \
  X(cp_wait, "----Q", "cp.async.wait_group {4}")                                                          \
  X(fence, "mb---.", "{0:f}")                                                                             \
  X(fetch, "CWRm9V", "r = atom.shared::cluster.{3:o} cell{0}.{1}@{2}, {4}")                               \
  X(compare_exchange, "CWRm3V", "r = atom.shared::cluster.cas cell{0}.{1}@{2}, {3}, {4}")                 \
  X(fetch_global, "GWm4m3V", "r = atom.global.add.{2:a}.{3:b} g{0}.{1}, {4}")                             \
  X(atomic, "CWRAV", "{3:F}, shared cell{0}.{1}@{2}, {4}")                                                \
  X(atomic_global, "GW-AV", "{3:F}, global g{0}.{1}, {4}")                                                \
  X(load_ordered, "CWRA.", "r = ld.{3:L} cell{0}.{1}@{2}")                                                \
  X(store_ordered, "CWRAV", "st.{3:L} cell{0}.{1}@{2} = {4}")                                             \
  X(load_ordered_global, "GW-A.", "r = ld.{3:L} g{0}.{1}")                                                \
  X(store_ordered_global, "GW-AV", "st.{3:L} g{0}.{1} = {4}")                                             \
  X(reduce_async, "CBRm6V", "red.async.{3:R} cell{0}@{2}, {4} -> bar{1}@{2}")                             \
  X(init, "B---N", "mbarrier.init bar{0}, {4}")                                                           \
  X(invalidate, "B---.", "mbarrier.inval bar{0}")                                                         \
  X(arrive, "BRS-N", "arrive bar{0}@{1} x{4}{2:S}")                                                       \
  X(arrive_expect, "BR--Y", "arrive.expect_tx bar{0}@{1}, {4}")                                           \
  X(expect, "BR--Y", "expect_tx bar{0}@{1}, {4}")                                                         \
  X(complete, "BR--Y", "complete_tx bar{0}@{1}, {4}")                                                     \
  X(drop, "BR--N", "arrive_drop bar{0}@{1} x{4}")                                                         \
  X(drop_expect, "BR--Y", "arrive_drop.expect_tx bar{0}@{1}, {4}")                                        \
  X(wait, "B-S-P", "wait bar{0}, {4} phases{2:S}")                                                        \
  X(test, "Bm7S-P", "r = test bar{0}, {4} phases{2:S}, up to {1} more tries")                             \
  X(poll, "B-S-P", "ready = poll bar{0}, {4} phases{2:S}")                                                \
  X(wait_unless, "B-S-P", "wait_unless ready bar{0}, {4} phases{2:S}")                                    \
  X(arrive_token, "B---N", "token = arrive bar{0} x{4}")                                                  \
  X(arrive_no_complete, "B---N", "token = arrive.noComplete bar{0} x{4}")                                 \
  X(pending_count, "----.", "r = pending_count token")                                                    \
  X(test_token, "B---.", "r = test bar{0}, token")                                                        \
  X(wait_token, "B---.", "wait bar{0}, token")                                                            \
  X(syncwarp, "----M", "syncwarp {4:#x}")                                                                 \
  X(sync_before_signal, "L----.", "syncwarp_before_signal")                                               \
  X(elect, "----M", "r = elect {4:#x}")                                                                   \
  X(shuffle, "m4m5--M", "r = shuffle.{0:h} r, {1}, lanes {4:#x}")                                         \
  X(bar_sync, "LIT--.", "bar.sync {0}, {1:w}")                                                            \
  X(bar_arrive, "LIT--.", "bar.arrive {0}, {1:w}")                                                        \
  X(syncthreads, "L----.", "syncthreads")                                                                 \
  X(cluster_arrive, "Lm2---.", "cluster_arrive{0:x}")                                                     \
  X(cluster_wait, "L----.", "cluster_wait")                                                               \
  X(tmem_alloc, "Lm4---X", "tcgen05.alloc slot{0}, {4} columns")                                          \
  X(tmem_relinquish, "L----.", "tcgen05.relinquish_alloc_permit")                                         \
  X(tmem_dealloc, "L----X", "tcgen05.dealloc base, {4} columns")                                          \
  X(tmem_base, "m4---.", "base = ld.shared slot{0}")                                                      \
  X(tmem_load, "LD---.", "tcgen05.ld base+{0:d}, 4 columns")                                              \
  X(tmem_store, "LD---V", "tcgen05.st base+{0:d}, 4 columns = {4}")                                       \
  X(tmem_wait_load, "L----.", "tcgen05.wait::ld; r = what was loaded")                                    \
  X(tmem_wait_store, "L----.", "tcgen05.wait::st")                                                        \
  X(tmem_fence, "m2---.", "tcgen05.fence::{0:t}")                                                         \
  X(mma, "DOOm2m", "tcgen05.mma base+{0:d}, {4:A}{1}, B{2}, accumulate {3}{4:z}")                         \
  X(tmem_copy, "DO--.", "tcgen05.cp base+{0:d} = A{1}")                                                   \
  X(tmem_shift, "D---.", "tcgen05.shift.down base+{0:d}")                                                 \
  X(commit, "B---m", "tcgen05.commit bar{0}, CTAs {4:#x}")                                                \
  X(load_operand, "Om2B-.", "bulk_load {1:u}{0} -> bar{2}")                                               \
  X(store_operand, "Om2--V", "st.shared {1:u}{0}, 16 bytes = {4}")                                        \
  X(wgmma_fence, "L----.", "wgmma.fence")                                                                 \
  X(wgmma, "LOOm2m2.", "wgmma d{2} {3:p} A{0} * B{1}")                                                    \
  X(wgmma_commit, "L----.", "wgmma.commit_group")                                                         \
  X(wgmma_wait, "L----Q", "wgmma.wait_group {4}")                                                         \
  X(wgmma_wait_before_signal, "L----Q", "wgmma.wait_group {4} (before a signal)")                         \
  X(wait_before_wgmma, "LB---P", "wait bar{0}, {4} phases (before wgmma)")                                \
  X(wgmma_read, "m2---.", "r = d{0}")                                                                     \
  X(set_registers, "Lm2---X", "setmaxnreg.{0:v} {4}")                                                     \
  X(try_cancel, "m4Bm2--.", "try_cancel{2:y} answer{0} -> bar{1}")                                        \
  X(read_answer, "m4---.", "r = query answer{0}")                                                         \
  X(grid_wait, "----.", "griddepcontrol.wait")                                                            \
  X(grid_launch, "----.", "griddepcontrol.launch_dependents")                                             \
  X(skip, "m4K--V", "if (r {0:q} {4}) skip {1}")                                                          \
  X(leave, "----.", "exit")

/// Of an atomic: what, whether it answers, its order and its scope. A load or store with an order has the last two.
struct AtomicCode {
  uint8_t bits = 0;
  AtomicForm form() const;
  uint32_t bytes() const { return size_of(form()); }
};

enum class Op : uint8_t {
#define X(name, operands, text) name,
  WARPLOOM_FUZZ_OPERATIONS(X)
#undef X
};
#define X(name, operands, text) +1
inline constexpr uint32_t op_count = 0 WARPLOOM_FUZZ_OPERATIONS(X);
#undef X
const char* to_string(Op op);
/// Letters as above, one for each of the five operands; `forms` where it is 'm'.
struct Operands {
  bool whole_warp = false;
  std::array<char, 5> kind{};
  std::array<uint8_t, 5> forms{};
};
const Operands& operands_of(Op op);

inline constexpr uint32_t all_lanes = 0xffffffffu;
inline constexpr uint32_t barrier_count = 12, cell_count = 12, slot_count = 4;

struct Step {
  Op op = Op::syncwarp;
  std::array<uint8_t, 4> x{};
  int8_t cluster = -1;  ///< only there; -1: in every cluster
  uint32_t n = 0;
  uint32_t lanes = all_lanes;

  friend bool operator==(const Step&, const Step&) = default;
};

/// One grid: its warps' steps, CTA after CTA.
using Bodies = std::vector<std::vector<Step>>;

struct Program {
  Domain domain = Domain::lanes;
  uint64_t seed = 0;
  uint8_t ctas = 1, clusters = 1, warps = 1;
  uint8_t processors = 1;
  uint32_t registers = 0;
  bool fill_cells = true;                       ///< the cells are written before anything else
  std::array<uint8_t, barrier_count> counts{};  ///< arrivals; 0: there is no such barrier
  std::vector<Bodies> grids;

  size_t steps() const;
  bool uses(Op op) const;
  bool uses_any(std::initializer_list<Op> ops) const;
  /// Tensor memory or tensor cores: threads have fragments, and operands of products room in shared memory.
  bool uses_tensors() const;
};

std::string to_text(const Step& step);
std::string to_text(const Program& program);

/// A program of the domain, the same for the same seed.
Program generate(Domain domain, uint64_t seed);

}  // namespace warploom::loom::fuzz
