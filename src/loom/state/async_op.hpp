// Asynchronous work between issue and completion: a copy, a tensor-core instruction, an arrival that waits for them. An
// instruction makes one and hands it to the queue (exec/async_queue.hpp), which completes it when the schedule says so.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "loom/state/cta.hpp"
#include "loom/units/tensor_copy.hpp"
#include "loom/units/tensor_core.hpp"
#include "loom/units/tma.hpp"

namespace warploom::loom {

/// One clusterlaunchcontrol.try_cancel: its answer goes to one CTA or to all of the cluster.
struct CancelRequest {
  bool answered = false;
  bool canceled = false;
  uint32_t cluster = 0;  ///< the one canceled
  bool read = false;     ///< somebody asked for its first CTA
  Thread* issuer = nullptr;
  Pc pc = nullptr;
};

struct AsyncOp {
  enum class Kind : uint8_t {
    tma_load,
    tma_store,
    mma,
    commit,
    cp_async,
    cp_async_arrive,
    store_async,
    try_cancel,
    wgmma,
    tmem_copy,
    tmem_shift,
    bulk_send
  };

  Kind kind = Kind::mma;
  void (*land)(AsyncOp& op) = nullptr;  ///< does what the instruction does, when it is its turn
  Thread* issuer = nullptr;
  Pc pc = nullptr;
  uint64_t issued = 0;
  uint64_t finish = 0;
  // tma_load: box to `destination` at `offset`, completing on the barrier at `barrier_offset` of `barrier_cta`
  // tma_store: box from `destination` (the issuer's CTA)
  TensorMapArgs map;
  TmaCoordinates at = {};
  std::optional<Reduction> reduction = {};
  // without tensor map: plain bytes from or to `global`; bulk_send: from `source_offset` of the issuer's CTA
  std::byte* global = nullptr;
  uint16_t byte_mask = 0xffff;  ///< of 16 bytes each, those that are written
  ReductionType reduction_type = ReductionType::u32;
  uint32_t source_offset = 0;
  Cta* destination = nullptr;
  uint32_t offset = 0;
  Cta* barrier_cta = nullptr;
  uint32_t barrier_offset = 0;
  uint32_t bytes = 0;
  std::shared_ptr<BulkGroup> group;
  std::vector<std::byte> staging;
  bool read_done = false;
  bool reluctant = false;  ///< random policy: completes only when nothing else can run
  uint32_t behind = 0;     ///< pending work that the instruction set orders before it
  // cp_async: `source_bytes` from `source` and zeros up to `bytes`, to `destination` at `offset`
  const void* source = nullptr;
  uint32_t source_bytes = 0;
  std::shared_ptr<CopyGroup> copies;
  bool raised = false;  ///< cp_async_arrive: the barrier's pending count was raised for it
  // store_async: `bytes` of `words` to `destination` at `offset`, or a reduction with them
  uint32_t words[4] = {};
  // try_cancel: the answer to `destination` at `offset`
  std::shared_ptr<CancelRequest> request;
  // mma
  MmaOperation mma;
  int cta_group = 1;
  // tmem_copy; tmem_shift at TMEM address `offset`
  TmemCopyOperation copy;
  // wgmma
  WgmmaInstruction* wgmma = nullptr;
  check::WorkRef work;
};

}  // namespace warploom::loom
