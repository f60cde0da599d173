// Packing, multiplying and copying rows: every instruction set to the same bits. Chains of wgmmas that share a packed
// B: the sums of one instruction after the other.
#include "loom/units/panels.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <optional>
#include <random>
#include <vector>

#include "loom/units/swizzled_rows.hpp"
#include "loom/units/wgmma_sum.hpp"

namespace warploom::loom {
namespace {

constexpr Isa isas[] = {Isa::portable, Isa::avx2, Isa::avx512};

/// Memory that is aligned to a cache line.
template <class T>
class Aligned {
 public:
  explicit Aligned(size_t count) : count_(count), values_(count + 64 / sizeof(T)) {}
  T* data() {
    const auto address = reinterpret_cast<uintptr_t>(values_.data());
    return values_.data() + (64 - address % 64) % 64 / sizeof(T);
  }
  void fill(T value) { values_.assign(values_.size(), value); }
  std::vector<T> copy() { return {data(), data() + count_}; }

 private:
  size_t count_;
  std::vector<T> values_;
};

/// Wide exponents make the order of a sum visible; a few specials make NaN and infinity.
float draw(std::mt19937& random) {
  const uint32_t pick = random() % 4096;
  if (pick == 0) return INFINITY;
  if (pick == 1) return std::bit_cast<float>(0xffc12345u);
  return std::ldexp(static_cast<float>(random() % 65536) - 32768.0f, static_cast<int>(random() % 40) - 36);
}

TEST(Panels, EveryInstructionSetMultipliesToTheSameBits) {
  constexpr size_t stride = 16 * 64 + 16, pitch = 272;
  std::mt19937 random(7);
  Aligned<float> a(8 * stride), b(16 * stride);
  for (size_t i = 0; i < 8 * stride; ++i) a.data()[i] = draw(random);
  for (size_t i = 0; i < 16 * stride; ++i) b.data()[i] = draw(random);
  std::vector<uint32_t> start(128 * pitch);
  for (uint32_t& word : start) word = std::bit_cast<uint32_t>(draw(random));
  int kernels = 0;
  for (uint32_t n = 8; n <= 256; n += 8)
    for (const uint32_t rows : {64u, 72u})
      for (const uint32_t k : {16u, 64u})
        for (const bool accumulate : {false, true}) {
          std::optional<std::vector<uint32_t>> expected;
          for (const Isa isa : isas) {
            const PanelKernels kernel = panel_kernels(isa);
            if (kernel.multiply == nullptr) continue;
            ++kernels;
            std::vector<uint32_t> d = start;
            kernel.multiply({.a = a.data(),
                             .a_stride = stride,
                             .b = b.data(),
                             .b_stride = stride,
                             .d = d.data(),
                             .d_pitch = pitch,
                             .rows = rows,
                             .n = n,
                             .k_extent = k,
                             .accumulate = accumulate});
            if (!expected) expected = d;
            ASSERT_TRUE(d == *expected) << "isa " << static_cast<int>(isa) << " n " << n << " k " << k;
          }
        }
  EXPECT_GE(kernels, 256);
}

TEST(Panels, EveryInstructionSetPacksToTheSameBits) {
  constexpr size_t stride = 16 * 64 + 16;
  std::mt19937 random(8);
  std::vector<std::byte> shared(256 * 1024);
  for (std::byte& byte : shared) byte = static_cast<std::byte>(random());
  int packed = 0;
  for (const DType type : {DType::bf16, DType::f16, DType::e4m3, DType::e5m2})
    for (const Swizzle swizzle : {Swizzle::none, Swizzle::b32, Swizzle::b64, Swizzle::b128})
      for (const Major major : {Major::k, Major::mn}) {
        if (major == Major::mn && size_of(type) == 1) continue;
        const uint32_t span = swizzle_span(swizzle);
        // Groups of eight rows one after the other; or 16 bytes further on, which no swizzle's pattern is.
        for (const auto& [rows, gap] : {std::pair{8u, 0u}, {64u, 0u}, {200u, 0u}, {72u, 16u}}) {
          const SmemDescriptorFields descriptor{.start = 2048,
                                                .leading_byte_offset = span == 0 ? 128u : 32u * span,
                                                .stride_byte_offset = (span == 0 ? 256u : 8 * span) + gap,
                                                .base_offset = 0,
                                                .swizzle = swizzle};
          const Operand operand{descriptor, type, major, rows, mma_k_bytes / size_of(type)};
          ASSERT_TRUE(packs(operand));
          std::optional<std::vector<float>> expected;
          for (const Isa isa : isas) {
            const PanelKernels kernel = panel_kernels(isa);
            if (kernel.pack == nullptr) continue;
            Aligned<float> panels(16 * stride);
            panels.fill(0.0f);
            kernel.pack(operand, shared.data(), panels.data(), stride);
            // Of a last panel with eight rows the others mean nothing.
            if (rows % panel_rows != 0)
              for (size_t k = 0; k < operand.k; ++k)
                std::memset(panels.data() + rows / panel_rows * stride + panel_rows * k + 8, 0, 8 * sizeof(float));
            std::vector<float> values = panels.copy();
            for (float& value : values)
              if (std::isnan(value)) value = NAN;  // which one does not show in a sum
            if (!expected) expected = values;
            ++packed;
            ASSERT_EQ(std::memcmp(values.data(), expected->data(), values.size() * sizeof(float)), 0)
                << "isa " << static_cast<int>(isa) << " type " << static_cast<int>(type) << " swizzle " << span
                << " rows " << rows << (major == Major::k ? " k" : " mn");
          }
        }
      }
  EXPECT_GE(packed, 96);
}

TEST(Panels, EveryInstructionSetCopiesRowsToTheSamePlaces) {
  std::mt19937 random(9);
  std::vector<std::byte> global(64 * 1024);
  for (std::byte& byte : global) byte = static_cast<std::byte>(random());
  for (const Swizzle swizzle : {Swizzle::b32, Swizzle::b64, Swizzle::b128}) {
    const uint32_t span = swizzle_span(swizzle);
    for (const uint32_t offset : {1024u, 1024u + 128, 1024u + 3 * 128, 1024u + 6 * 128})
      for (const uint32_t rows : {1u, 8u, 67u}) {
        constexpr size_t stride = 336;  // rows are aligned to 16 bytes, no more
        // Unit u of a line that holds bits l of its number is at u ^ l.
        std::vector<std::byte> expected(32 * 1024);
        for (uint32_t row = 0; row < rows; ++row)
          for (uint32_t u = 0; u < span / 16; ++u) {
            const uint32_t at = offset + row * span + 16 * u;
            std::memcpy(&expected[at ^ ((at >> 7 & (span / 16 - 1)) << 4)], &global[row * stride + 16 * u], 16);
          }
        for (const Isa isa : isas)
          if (const RowCopy copy = copy_swizzled_rows(swizzle, isa)) {
            std::vector<std::byte> window(expected.size());
            copy(global.data(), stride, window.data(), offset, rows);
            EXPECT_TRUE(window == expected)
                << "isa " << static_cast<int>(isa) << " span " << span << " offset " << offset << " rows " << rows;
          }
      }
  }
  EXPECT_NE(copy_swizzled_rows(Swizzle::b128), nullptr);
  EXPECT_EQ(copy_swizzled_rows(Swizzle::none), nullptr);
}

/// Two warpgroups' accumulators, and wgmmas on slots of a ring in one window.
class Chains : public ::testing::Test {
 protected:
  static constexpr uint32_t n = 72, groups = 2, slot_bytes = 64 * 1024;
  static constexpr native::WgmmaForm form{.n = n};

  Chains() : window(2 * slot_bytes) {
    for (size_t i = 0; i < window.size(); i += 2) {
      const auto value = static_cast<uint16_t>((0x3000 + random() % 0x1400) | random() % 2 << 15);
      std::memcpy(&window[i], &value, 2);
    }
    for (uint32_t g = 0; g < groups; ++g)
      for (uint32_t thread = 0; thread < warpgroup_size; ++thread) {
        sums[g][thread].assign(n / 2, 0.5f);
        expected[g][thread].assign(n / 2, 0.5f);
      }
  }
  /// k-th instruction on a slot, of rows that are each group's own.
  WgmmaOperation operation(uint32_t group, uint32_t slot, uint32_t k, bool accumulate) const {
    WgmmaOperation op;
    op.form = form;
    op.k = 16;
    op.accumulate = accumulate;
    op.a = {slot * slot_bytes + group * 8192 + 32 * k, 16, 1024, 0, Swizzle::b128};
    op.b = {slot * slot_bytes + 16384 + 32 * k, 16, 1024, 0, Swizzle::b128};
    return op;
  }
  WgmmaMemory memory_of(std::vector<float> (&registers)[warpgroup_size]) {
    WgmmaMemory memory;
    memory.shared = window.data();
    for (uint32_t thread = 0; thread < warpgroup_size; ++thread) memory.d[thread] = registers[thread].data();
    return memory;
  }
  void execute(uint32_t group, uint32_t slot, uint32_t k, bool accumulate = true) {
    const WgmmaOperation op = operation(group, slot, k, accumulate);
    ASSERT_TRUE(WgmmaSum::takes(op));
    execute_wgmma(op, memory_of(expected[group]));
    if (chain[group].empty()) chain[group].begin(op, memory_of(sums[group]));
    chain[group].add(op, window.data(), packed);
  }
  void settle_and_compare() {
    for (uint32_t g = 0; g < groups; ++g) {
      chain[g].settle();
      for (uint32_t thread = 0; thread < warpgroup_size; ++thread)
        ASSERT_TRUE(sums[g][thread] == expected[g][thread]) << "group " << g << " thread " << thread;
    }
  }

  std::mt19937 random{11};
  std::vector<std::byte> window;
  std::vector<float> sums[groups][warpgroup_size], expected[groups][warpgroup_size];
  WgmmaSum chain[groups];
  PackedB packed;
};

TEST_F(Chains, OneGroupAfterTheOther) {
  for (const uint32_t slot : {0u, 1u, 0u})
    for (uint32_t g = 0; g < groups; ++g)
      for (uint32_t k = 0; k < 4; ++k) execute(g, slot, k);
  settle_and_compare();
}

TEST_F(Chains, OneInstructionAfterTheOther) {
  for (const uint32_t slot : {0u, 1u})
    for (uint32_t k = 0; k < 4; ++k)
      for (uint32_t g = 0; g < groups; ++g) execute(g, slot, k, slot + k != 0);
  settle_and_compare();
}

// Shared memory changes between two instructions: what was packed before is forgotten, wherever in the panels it was.
TEST_F(Chains, SharedMemoryChangesInTheMiddle) {
  for (uint32_t changed = 0; changed < 4; ++changed) {
    for (uint32_t k = 0; k < 4; ++k)
      for (uint32_t g = 0; g < groups; ++g) {
        execute(g, 0, k);
        if (k != changed || g != 0) continue;
        packed.forget();
        for (size_t i = 1; i < window.size(); i += 2) window[i] ^= std::byte{0x81};  // signs and exponents
      }
    for (uint32_t g = 0; g < groups; ++g)
      for (uint32_t k = 0; k < 4; ++k) execute(g, 1, k);
  }
  settle_and_compare();
}

TEST_F(Chains, InNoOrder) {
  for (int i = 0; i < 400; ++i) {
    if (random() % 16 == 0) packed.forget();
    execute(random() % groups, random() % 2, random() % 4, random() % 32 != 0);
  }
  settle_and_compare();
}

}  // namespace
}  // namespace warploom::loom
