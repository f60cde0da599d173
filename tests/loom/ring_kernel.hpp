// A two-stage ring for tests: warp 0 loads rows of a tensor by TMA, warp 1 adds them up. Its sum is right under every
// schedule; altered in one place it must not stay unnoticed.
#pragma once

#include "loom/probe_kernel.hpp"

namespace warploom::loom::probe {

struct RingStorage {
  alignas(128) uint32_t box[2][32];
  Mbarrier full[2];
  Mbarrier empty[2];
};

struct RingParams {
  TensorMap map;
  uint32_t* sums;  ///< one per CTA
};

inline constexpr uint32_t ring_turns = 7;

/// Lines of the ring's operations, filled when it runs.
struct RingLines {
  Line empty_wait, arm, load, full_wait, release;
};
inline RingLines ring_lines;

inline constexpr auto ring_kernel = [](const RingParams& p) {
  auto& s = shared<RingStorage>();
  init_barriers(s.full, 1, RingSide::full);
  init_barriers(s.empty, 1, RingSide::empty);
  if (lane_index() == 0 && warp_index() == 0) {
    name_role<Producer>();
    for (uint32_t k = 0; k < ring_turns; ++k) {
      const uint32_t stage = k % 2;
      AT_LINE(ring_lines.empty_wait, mbarrier_wait(shared_address(&s.empty[stage]), k / 2));
      AT_LINE(ring_lines.arm, mbarrier_arrive_expect_tx(shared_address(&s.full[stage]), 128));
      const Coord2 at{0, static_cast<int32_t>(k)};
      AT_LINE(ring_lines.load, tma_load<1>(shared_address(s.box[stage]), p.map, shared_address(&s.full[stage]), at));
    }
  } else if (lane_index() == 0) {
    name_role<Consumer>();
    uint32_t sum = 0;
    for (uint32_t k = 0; k < ring_turns; ++k) {
      const uint32_t stage = k % 2;
      AT_LINE(ring_lines.full_wait, mbarrier_wait(shared_address(&s.full[stage]), k / 2 + 1));
      for (uint32_t i = 0; i < 32; ++i) sum = sum * 31 + load_shared(&s.box[stage][i]);
      AT_LINE(ring_lines.release, mbarrier_arrive(shared_address(&s.empty[stage])));
    }
    store_global(p.sums + block_index().x, sum);
  }
  cluster_sync();
};

/// The memory of a ring launch and the sum that every CTA must find.
struct RingMemory {
  alignas(128) std::array<uint32_t, ring_turns * 32> in;
  std::vector<uint32_t> sums;
  uint32_t expected = 0;

  explicit RingMemory(uint32_t ctas = 1) : sums(ctas) {
    for (uint32_t i = 0; i < in.size(); ++i) {
      in[i] = 7 * i + 3;
      expected = expected * 31 + in[i];
    }
  }
  Launch launch(uint32_t cluster = 1) {
    return {.grid = {static_cast<uint32_t>(sums.size())},
            .cluster = {cluster},
            .threads = 64,
            .shared_bytes = sizeof(RingStorage),
            .tensors = {{in.data(), sizeof(in), Access::read, "in"},
                        {sums.data(), sums.size() * sizeof(uint32_t), Access::write, "sums"}},
            .file = __FILE__};
  }
  RingParams params() {
    TensorMapArgs args;
    args.type = TmaType::u32;
    args.address = in.data();
    args.dims = {32, ring_turns, 1, 1, 1};
    args.strides = {128, 16, 16, 16};
    args.box = {32, 1, 1, 1, 1};
    return {make_map(args), sums.data()};
  }
  bool correct() const {
    for (const uint32_t sum : sums)
      if (sum != expected) return false;
    return true;
  }
};

}  // namespace warploom::loom::probe
