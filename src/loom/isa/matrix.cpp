// stmatrix and ldmatrix: 8 x 8 tiles between the registers of a warp and shared memory.
#include <fmt/format.h>

#include <cstring>

#include "loom/exec/cluster.hpp"
#include "loom/exec/memory.hpp"
#include "loom/front/native.hpp"
#include "loom/observe/check/operations.hpp"

namespace warploom::loom {

namespace native {

using namespace front;

namespace {

/// What stmatrix and ldmatrix share: move(place in shared memory, lane's register, which half of it) for every element,
/// or, where pairs of them stay together, move_pair(place, register).
template <class Move, class MovePair>
void matrix_operation(Pc pc, const char* operation, bool writes, const LaneArguments& arguments, uint32_t tiles,
                      bool transposed, Move&& move, MovePair&& move_pair) {
  warp_operation(pc, operation, arguments, [&](const Collective& lanes) {
    Thread& self = *Cluster::current();
    Cta& cta = *self.cta;
    uint32_t rows[32];
    for (uint32_t tile = 0; tile < tiles; ++tile) {
      for (uint32_t r = 0; r < 8; ++r) {
        const auto address = static_cast<uint32_t>(lanes.lanes[8 * tile + r].a);
        const uint32_t offset = address & offset_mask;
        if (self.cluster->owner(address) != &cta || offset % 16 != 0 || !inside(cta, offset, 16))
          self.cluster->fail(self, pc, "OOB-SHARED",
                             fmt::format("row {} of {} tile {} is at 0x{:08x}; a 16-byte aligned address of this "
                                         "CTA's shared memory is needed",
                                         r, operation, tile, address));
        std::byte* row = cta.window + offset;
        rows[8 * tile + r] = offset;
        // Lane t holds elements (t / 4, 2 * (t % 4)) and the next, of the tile or of its transpose.
        if (!transposed) {
          for (uint32_t pair = 0; pair < 4; ++pair)
            move_pair(row + 4 * pair, static_cast<uint32_t*>(lanes.lanes[4 * r + pair].p)[tile]);
          continue;
        }
        for (uint32_t column = 0; column < 8; ++column)
          move(row + 2 * column, static_cast<uint32_t*>(lanes.lanes[4 * column + r / 2].p)[tile], r % 2);
      }
    }
    if (check::Watch* watch = self.cluster->watch())
      watch->access(*self.warp, pc, {rows, size_t{8} * tiles}, 16, writes, operation);
  });
}

}  // namespace

void store_matrix(uint32_t row, const uint32_t* registers, uint32_t tiles, bool transposed) noexcept try {
  matrix_operation(
      WARPLOOM_PLACE(store_matrix), "stmatrix", true, {.a = row, .p = const_cast<uint32_t*>(registers)}, tiles,
      transposed,
      [](std::byte* place, const uint32_t& word, uint32_t which) {
        const auto half = static_cast<uint16_t>(word >> 16 * which);
        std::memcpy(place, &half, sizeof(half));
      },
      [](std::byte* place, const uint32_t& word) { std::memcpy(place, &word, sizeof(word)); });
} catch (...) {
  break_off();
}

void load_matrix(uint32_t row, uint32_t* registers, uint32_t tiles, bool transposed) noexcept try {
  matrix_operation(
      WARPLOOM_PLACE(load_matrix), "ldmatrix", false, {.a = row, .p = registers}, tiles, transposed,
      [](const std::byte* place, uint32_t& word, uint32_t which) {
        std::memcpy(reinterpret_cast<uint16_t*>(&word) + which, place, sizeof(uint16_t));
      },
      [](const std::byte* place, uint32_t& word) { std::memcpy(&word, place, sizeof(word)); });
} catch (...) {
  break_off();
}

}  // namespace native
}  // namespace warploom::loom
