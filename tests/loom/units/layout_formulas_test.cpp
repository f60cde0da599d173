// Where things lie, by the formulas of hardware.md written out once more: D, A and scale factors in tensor memory,
// registers of tcgen05.ld and st, rows of tcgen05.cp, fragments of wgmma, descriptors and the addresses behind them.
// Every shape, not samples: what NVIDIA's headers and an H200 say about some of them is in the golden tests beside
// this.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <set>
#include <tuple>

#include "loom/units/tensor_copy.hpp"
#include "loom/units/tensor_core.hpp"
#include "loom/units/wgmma.hpp"

namespace warploom::loom {
namespace {

using Cell = std::array<uint32_t, 3>;  // CTA, lane, column

Cell cell_of(const TmemCell& cell) { return {cell.cta, cell.lane, cell.column}; }

// ------------------------------------------------------------------------------------------------- §4.8, 4.9: D and A

struct Layout {
  char name;
  int group;
  uint32_t m, n_first, n_step;
  bool ws;
  Cell (*at)(uint32_t m, uint32_t n, uint32_t extent);  ///< row, column, N
  uint32_t (*columns)(uint32_t extent);
};

const std::vector<Layout> layouts{
    {'A', 2, 256, 16, 16, false, [](uint32_t m, uint32_t n, uint32_t) { return Cell{m / 128, m % 128, n}; },
     [](uint32_t extent) { return extent; }},
    {'B', 2, 128, 16, 16, false,
     [](uint32_t m, uint32_t n, uint32_t extent) {
       return Cell{m / 64, m % 64 + 64 * (n / (extent / 2)), n % (extent / 2)};
     },
     [](uint32_t extent) { return extent / 2; }},
    {'D', 1, 128, 8, 8, false, [](uint32_t m, uint32_t n, uint32_t) { return Cell{0, m, n}; },
     [](uint32_t extent) { return extent; }},
    {'F', 1, 64, 8, 8, false, [](uint32_t m, uint32_t n, uint32_t) { return Cell{0, m % 16 + 32 * (m / 16), n}; },
     [](uint32_t extent) { return extent; }},
    {'D', 1, 128, 64, 64, true, [](uint32_t m, uint32_t n, uint32_t) { return Cell{0, m, n}; },
     [](uint32_t extent) { return extent; }},
    {'E', 1, 64, 64, 64, true,
     [](uint32_t m, uint32_t n, uint32_t extent) { return Cell{0, m + 64 * (n / (extent / 2)), n % (extent / 2)}; },
     [](uint32_t extent) { return extent / 2; }},
    {'G', 1, 32, 64, 64, true,
     [](uint32_t m, uint32_t n, uint32_t extent) { return Cell{0, m + 32 * (n / (extent / 4)), n % (extent / 4)}; },
     [](uint32_t extent) { return extent / 4; }}};

TEST(LayoutFormulas, AccumulatorOfEveryShape) {
  int shapes = 0;
  for (const Layout& layout : layouts)
    for (uint32_t n = layout.n_first; n <= 256; n += layout.n_step) {
      if (layout.ws && n == 192) continue;  // .ws has 64, 128 and 256
      SCOPED_TRACE(testing::Message() << "layout " << layout.name << " N " << n);
      ++shapes;
      EXPECT_EQ(accumulator_columns(layout.group, layout.m, n, layout.ws), layout.columns(n));
      std::set<Cell> taken;
      for (uint32_t row = 0; row < layout.m; ++row)
        for (uint32_t column = 0; column < n; ++column) {
          const Cell want = layout.at(row, column, n);
          ASSERT_EQ(cell_of(accumulator_cell(layout.group, layout.m, n, row, column, layout.ws)), want)
              << row << "," << column;
          taken.insert(want);
        }
      EXPECT_EQ(taken.size(), size_t{layout.m} * n) << "two elements in one cell";
    }
  EXPECT_EQ(shapes, 16 + 16 + 32 + 32 + 3 * 3);
}

/// A packed along columns, in the lanes of D's rows; for a pair with M = 128 the first of its two copies.
TEST(LayoutFormulas, OperandAOfEveryWidth) {
  for (const auto& [group, m] : {std::pair{1, 64u}, {1, 128u}, {2, 128u}, {2, 256u}})
    for (const uint32_t width : {4u, 8u, 16u, 32u})
      for (uint32_t row = 0; row < m; ++row)
        for (uint32_t k = 0; k < 256 / width; ++k) {
          const uint32_t share = m / static_cast<uint32_t>(group);
          const uint32_t lane = group == 1 && m == 64 ? row % 16 + 32 * (row / 16) : row % share;
          const TmemElement at = a_element(group, m, row, k, width);
          ASSERT_EQ(cell_of(at.cell), (Cell{row / share, lane, k * width / 32})) << m << " " << width << " " << row;
          ASSERT_EQ(at.bit, k * width % 32);
          ASSERT_LT(at.cell.column, 8u);
        }
}

// ------------------------------------------------------------------------------------------------- §4.11: scale
// factors

TEST(LayoutFormulas, ScaleFactorsInTensorMemory) {
  for (uint32_t rows = 8; rows <= 256; rows += 8) {
    EXPECT_EQ(scale_columns(rows, false), rows / 32 + (rows % 32 != 0 ? 1 : 0));
    for (uint32_t r = 0; r < rows; ++r) ASSERT_EQ(cell_of(scale_cell(r, rows, false)), (Cell{0, r % 32, r / 32}));
    if (rows % 16 != 0) continue;
    const uint32_t half = rows / 2;  // of B's columns: the first in lane quarters 0 and 1, the second in 2 and 3
    EXPECT_EQ(scale_columns(rows, true), half / 32 + (half % 32 != 0 ? 1 : 0));
    for (uint32_t r = 0; r < rows; ++r)
      ASSERT_EQ(cell_of(scale_cell(r, rows, true)), (Cell{0, r % half % 32 + 64 * (r / half), r % half / 32}));
  }
  EXPECT_EQ(scale_copies(false), 4u);
  EXPECT_EQ(scale_copies(true), 2u);
}

/// Atoms of 512 bytes on their way there, and one tcgen05.cp 32x128b.warpx4 that puts each scale where a product finds
/// it: the two formulas meet.
TEST(LayoutFormulas, ScaleFactorAtomsAndTheirCopy) {
  for (const uint32_t rows : {128u, 200u, 256u, 384u})
    for (const uint32_t blocks : {4u, 6u, 16u}) {
      const uint32_t row_atoms = (rows + 127) / 128, block_atoms = (blocks + 3) / 4;
      for (uint32_t r = 0; r < rows; ++r)
        for (uint32_t j = 0; j < blocks; ++j) {
          const uint32_t inside = r % 32 * 16 + r / 32 % 4 * 4 + j % 4;
          ASSERT_EQ(scale_offset_in_atom(r, j), inside);
          ASSERT_EQ(scale_offset_global(r, j, blocks), (r / 128 * block_atoms + j / 4) * 512 + inside);
          ASSERT_EQ(scale_offset_shared(r, j, rows), (j / 4 * row_atoms + r / 128) * 512 + inside);
        }
    }
  std::vector<std::byte> window(8192);
  std::vector<uint32_t> tmem(128 * 512, 0xcccccccc);
  for (uint32_t r = 0; r < 128; ++r)
    for (uint32_t j = 0; j < 4; ++j) window[2048 + r % 32 * 16 + r / 32 * 4 + j] = std::byte(r * 2 + j);
  const Result<TmemCopyOperation> op =
      decode_tmem_copy(TmemCopy::m32x128b, Expand::none, 20, scale_atom_descriptor(2048));
  ASSERT_TRUE(op) << op.error();
  execute_tmem_copy(*op, {window.data(), static_cast<uint32_t>(window.size()), tmem.data()});
  for (uint32_t r = 0; r < 128; ++r)
    for (uint32_t quarter = 0; quarter < 4; ++quarter)
      for (uint32_t j = 0; j < 4; ++j)
        ASSERT_EQ(tmem[(r % 32 + 32 * quarter) * 512 + 20 + r / 32] >> 8 * j & 0xff, (r * 2 + j) % 256) << r;
}

// ------------------------------------------------------------------------------------------------- §4.14: ld and st

TEST(LayoutFormulas, LoadStoreRegistersOfEveryShape) {
  using Shape = native::TmemShape;
  struct Form {
    Shape shape;
    uint32_t unit, largest;  ///< registers of .x1, and the largest .xN
    uint32_t lanes;
    std::pair<uint32_t, uint32_t> (*at)(uint32_t t, uint32_t i);
  };
  const Form forms[] = {{Shape::m32x32b, 1, 128, 32, [](uint32_t t, uint32_t i) { return std::pair{t, i}; }},
                        {Shape::m16x64b, 1, 128, 16,
                         [](uint32_t t, uint32_t i) { return std::pair{t / 4 + 8 * (t % 2), 2 * i + t / 2 % 2}; }},
                        {Shape::m16x128b, 2, 64, 16,
                         [](uint32_t t, uint32_t i) { return std::pair{t / 4 + 8 * (i % 2), 4 * (i / 2) + t % 4}; }},
                        {Shape::m16x256b, 4, 32, 16, [](uint32_t t, uint32_t i) {
                           return std::pair{t / 4 + 8 * (i / 2 % 2), 8 * (i / 4) + 2 * (t % 4) + i % 2};
                         }}};
  int checked = 0;
  for (const Form& form : forms)
    for (const bool packed : {false, true})
      for (uint32_t x = 1; x <= form.largest; x *= 2) {
        ++checked;
        const native::TmemForm native{form.shape, packed, 0};
        const uint32_t registers = form.unit * x, halves = packed ? 2 : 1;
        EXPECT_EQ(broken_register_count(native, registers), "");
        std::set<std::pair<uint32_t, uint32_t>> taken;
        uint32_t columns = 0;
        for (uint32_t t = 0; t < 32; ++t)
          for (uint32_t i = 0; i < registers; ++i)
            for (uint32_t half = 0; half < halves; ++half) {
              const auto [lane, column] = form.at(t, i);
              const uint32_t to = column * halves + half;  // a packed register is the pair of columns 2c, 2c + 1
              ASSERT_EQ(cell_of(register_cell(native, t, i, half)), (Cell{0, lane, to})) << t << " " << i;
              columns = std::max(columns, to + 1);
              taken.emplace(lane, to);
            }
        EXPECT_EQ(register_columns(native, registers), columns);
        EXPECT_EQ(taken.size(), size_t{form.lanes} * columns) << "not every word of the block";
      }
  EXPECT_EQ(checked, 2 * (8 + 8 + 7 + 6));
  // The second half of .16x32bx2 starts `off` columns on, packed or not.
  for (const bool packed : {false, true})
    for (uint32_t x = 1; x <= 128; x *= 2)
      for (const uint32_t off : {x, 2 * x, 200u}) {
        const native::TmemForm native{Shape::m16x32bx2, packed, off};
        const uint32_t halves = packed ? 2 : 1;
        for (uint32_t t = 0; t < 32; ++t)
          for (uint32_t i = 0; i < x; ++i)
            for (uint32_t half = 0; half < halves; ++half)
              ASSERT_EQ(cell_of(register_cell(native, t, i, half)),
                        (Cell{0, t % 16, i * halves + half + t / 16 * off}));
        EXPECT_EQ(register_columns(native, x), (x - 1) * halves + halves + off);
      }
}

// ------------------------------------------------------------------------------------------------- §4.12: cp

TEST(LayoutFormulas, CopiedRowsOfEveryShape) {
  struct Form {
    TmemCopy shape;
    uint32_t rows, bytes;
    std::vector<uint32_t> (*lanes)(uint32_t i);
  };
  using Lanes = std::vector<uint32_t>;
  const Form forms[] = {
      {TmemCopy::m128x256b, 128, 32, [](uint32_t i) { return Lanes{i}; }},
      {TmemCopy::m128x128b, 128, 16, [](uint32_t i) { return Lanes{i}; }},
      {TmemCopy::m64x128b_02_13, 64, 16, [](uint32_t i) { return Lanes{i, i + 64}; }},
      {TmemCopy::m64x128b_01_23, 64, 16, [](uint32_t i) { return i < 32 ? Lanes{i, i + 32} : Lanes{i + 32, i + 64}; }},
      {TmemCopy::m32x128b, 32, 16, [](uint32_t i) { return Lanes{i, i + 32, i + 64, i + 96}; }},
      {TmemCopy::m4x256b, 4, 32, [](uint32_t i) { return Lanes{32 * i}; }}};
  std::mt19937 random(5);
  std::vector<std::byte> window(32 * 1024);
  for (std::byte& byte : window) byte = std::byte(random() & 255);
  for (const Form& form : forms)
    for (const uint32_t destination : {0u, 504u, 30u << 16 | 8u}) {
      if (destination >> 16 != 0 && form.shape != TmemCopy::m4x256b) continue;
      SCOPED_TRACE(testing::Message() << "rows " << form.rows << " bytes " << form.bytes << " to " << destination);
      EXPECT_EQ(copy_rows(form.shape), form.rows);
      EXPECT_EQ(copy_row_bytes(form.shape), form.bytes);
      std::vector<uint32_t> tmem(128 * 512, 0xcccccccc), want = tmem;
      for (uint32_t i = 0; i < form.rows; ++i) {
        EXPECT_EQ(copy_lanes(form.shape, i), form.lanes(i));
        for (const uint32_t lane : form.lanes(i))
          for (uint32_t b = 0; b < form.bytes; ++b) {  // K-major without swizzle: 8 rows of 16 bytes, then SBO
            uint32_t& word = want[(lane + (destination >> 16)) * 512 + (destination & 0xffff) + b / 4];
            const uint32_t from = 1024 + i % 8 * 16 + i / 8 * 384 + b / 16 * 128 + b % 16;
            word = (word & ~(0xffu << b % 4 * 8)) | std::to_integer<uint32_t>(window[from]) << b % 4 * 8;
          }
      }
      const SmemDescriptor source = encode_smem_descriptor({1024, 128, 384, 0, Swizzle::none});
      const Result<TmemCopyOperation> op = decode_tmem_copy(form.shape, Expand::none, destination, source);
      ASSERT_TRUE(op) << op.error();
      execute_tmem_copy(*op, {window.data(), static_cast<uint32_t>(window.size()), tmem.data()});
      EXPECT_TRUE(tmem == want);
    }
}

// ------------------------------------------------------------------------------------------------- §5.2: wgmma

TEST(LayoutFormulas, WgmmaFragments) {
  for (uint32_t tg = 0; tg < 128; ++tg) {
    const uint32_t w = tg / 32, l = tg % 32;
    for (uint32_t i = 0; i < 128; ++i)
      ASSERT_EQ(wgmma_accumulator_cell(tg, i),
                (WgmmaCell{16 * w + l / 4 + 8 * (i / 2 % 2), 8 * (i / 4) + 2 * (l % 4) + i % 2}));
    // A: elements of 2, 4 and 1 bytes by their own formulas; the unit counts registers, and bytes along K.
    for (uint32_t i = 0; i < 8; ++i)
      if (i % 2 == 0) {
        ASSERT_EQ(wgmma_operand_cell(tg, i / 2),
                  (WgmmaCell{16 * w + l / 4 + 8 * (i / 2 % 2), 2 * (2 * (l % 4) + i % 2 + 8 * (i / 4))}));
      }
    for (uint32_t i = 0; i < 4; ++i)
      ASSERT_EQ(wgmma_operand_cell(tg, i), (WgmmaCell{16 * w + l / 4 + 8 * (i % 2), 4 * (l % 4 + 4 * (i / 2))}));
    for (uint32_t i = 0; i < 16; i += 4)
      ASSERT_EQ(wgmma_operand_cell(tg, i / 4),
                (WgmmaCell{16 * w + l / 4 + 8 * (i / 4 % 2), 4 * (l % 4) + i % 4 + 16 * (i / 8)}));
  }
}

// ------------------------------------------------------------------------------------------------- §3: descriptors

struct Span {
  Swizzle swizzle;
  uint32_t width, sm90, sm100;  ///< bytes of a row; codes in bits 63:62 and 63:61
};
constexpr Span spans[] = {
    {Swizzle::none, 0, 0, 0}, {Swizzle::b32, 32, 3, 6}, {Swizzle::b64, 64, 2, 4}, {Swizzle::b128, 128, 1, 2}};

TEST(LayoutFormulas, DescriptorBits) {
  std::mt19937_64 random(6);
  for (int round = 0; round < 20000; ++round) {
    const Span& span = spans[random() % 4];
    // The address of a CTA in a cluster has its rank in bits 31:24; only 18 bits count.
    const uint32_t start = static_cast<uint32_t>(random()) & ~15u, leading = static_cast<uint32_t>(random()) & 0x3fff0,
                   stride = static_cast<uint32_t>(random()) & 0x3fff0, base = static_cast<uint32_t>(random() % 8);
    const SmemDescriptorFields fields{start, leading, stride, base, span.swizzle};
    const uint64_t common =
        (start & 0x3ffff) >> 4 | uint64_t{leading >> 4} << 16 | uint64_t{stride >> 4} << 32 | uint64_t{base} << 49;
    const uint64_t sm90 = common | uint64_t{span.sm90} << 62,
                   sm100 = common | uint64_t{1} << 46 | uint64_t{span.sm100} << 61;
    ASSERT_EQ(encode_wgmma_descriptor(fields).bits, sm90);
    ASSERT_EQ(encode_smem_descriptor(fields).bits, sm100);
    for (const Result<SmemDescriptorFields>& back :
         {decode_wgmma_descriptor({sm90}), decode_smem_descriptor({sm100})}) {
      ASSERT_TRUE(back) << back.error();
      ASSERT_EQ(back->start, start & 0x3ffff);
      ASSERT_EQ(back->leading_byte_offset, leading);
      ASSERT_EQ(back->stride_byte_offset, stride);
      ASSERT_EQ(back->base_offset, base);
      ASSERT_EQ(back->swizzle, span.swizzle);
    }
    ASSERT_FALSE(decode_smem_descriptor({sm90}));  // each chip's descriptor is none on the other
    ASSERT_FALSE(decode_wgmma_descriptor({sm100}));
  }
  const SmemDescriptorFields atoms{4096, 16, 512, 0, Swizzle::b128_atom32};
  EXPECT_EQ(encode_smem_descriptor(atoms).bits >> 61, 1u);
}

/// §3.2 as its two tables stand, on random starts, strides and base offsets.
uint32_t address_by_the_tables(const Span& span, Major major, uint32_t es, const SmemDescriptorFields& f, uint32_t r,
                               uint32_t k) {
  const uint32_t kb = k * es, t = 16 / es, w = span.width, lbo = f.leading_byte_offset, sbo = f.stride_byte_offset;
  uint32_t a = f.start;
  if (major == Major::k)
    a += span.width == 0 ? r % 8 * 16 + r / 8 * sbo + kb / 16 * lbo + kb % 16 : r % 8 * w + r / 8 * sbo + kb;
  else if (span.width == 0)
    a += r % t * es + r / t * sbo + k % 8 * 16 + k / 8 * lbo;
  else
    a += r % (w / es) * es + r / (w / es) * lbo + k % 8 * w + k / 8 * sbo;
  if (span.width == 0) return a & 0x3ffff;
  const uint32_t mask = w == 32 ? 1 : w == 64 ? 3 : 7;
  return (a ^ ((((a >> 7) - f.base_offset) & mask) << 4)) & 0x3ffff;
}

TEST(LayoutFormulas, OperandAddresses) {
  std::mt19937 random(7);
  const auto below = [&](uint32_t limit) { return static_cast<uint32_t>(random() % limit); };
  for (const Span& span : spans)
    for (const Major major : {Major::k, Major::mn})
      for (const uint32_t es : {1u, 2u, 4u}) {
        if (major == Major::mn && es == 4) continue;  // tf32 has the 32-byte atoms, below
        for (int round = 0; round < 40; ++round) {
          const SmemDescriptorFields f{below(4096) * 16, below(1024) * 16, below(512) * 16,
                                       round % 2 == 0 ? 0 : below(8), span.swizzle};
          for (uint32_t r = 0; r < 256; r += 1 + below(3))
            for (uint32_t k = 0; k < 32 / es; ++k)
              ASSERT_EQ(operand_address(f, major, es, r, k), address_by_the_tables(span, major, es, f, r, k))
                  << span.width << " " << es << " row " << r << " k " << k;
        }
      }
  for (int round = 0; round < 40; ++round) {
    const SmemDescriptorFields f{below(4096) * 16, below(1024) * 16, below(512) * 16, 0, Swizzle::b128_atom32};
    for (uint32_t r = 0; r < 256; ++r)
      for (uint32_t k = 0; k < 8; ++k) {
        const uint32_t a =
            f.start + r % 32 * 4 + r / 32 * f.leading_byte_offset + k % 4 * 128 + k / 4 * f.stride_byte_offset;
        ASSERT_EQ(operand_address(f, Major::mn, 4, r, k), (a ^ (a >> 7 & 3) << 5) & 0x3ffff);
      }
  }
}

/// §3.3: the operand of the next K slice, in a tile that is wider than one instruction, by moving the start alone.
TEST(LayoutFormulas, StepsAlongK) {
  for (const Span& span : spans)
    for (const uint32_t es : {1u, 2u}) {
      const uint32_t k_inst = 32 / es, w = span.width;
      // K-major, swizzled: all slices of a row of W bytes; unswizzled: two units of LBO at a time.
      const SmemDescriptorFields tile{8192, w == 0 ? 2048u : 16u, w == 0 ? 128 : 8 * w, 0, span.swizzle};
      const uint32_t slices = w == 0 ? 4 : w / 32, k_step = w == 0 ? 2 * 2048 : 32;
      for (uint32_t slice = 0; slice < slices; ++slice) {
        const Result<SmemDescriptorFields> f =
            decode_smem_descriptor(encode_smem_descriptor(tile).advance(slice * k_step));
        ASSERT_TRUE(f);
        for (uint32_t r = 0; r < 64; ++r)
          for (uint32_t k = 0; k < k_inst; ++k)
            ASSERT_EQ(operand_address(*f, Major::k, es, r, k),
                      address_by_the_tables(span, Major::k, es, tile, r, slice * k_inst + k));
      }
      // MN-major: K_inst / 8 groups of 8 k at a time.
      const SmemDescriptorFields panel{8192, w == 0 ? 128u : 16384u, w == 0 ? 4096 : 8 * w, 0, span.swizzle};
      const uint32_t group = w == 0 ? panel.leading_byte_offset : panel.stride_byte_offset;
      for (uint32_t slice = 0; slice < 4; ++slice) {
        const Result<SmemDescriptorFields> f =
            decode_smem_descriptor(encode_smem_descriptor(panel).advance(slice * k_inst / 8 * group));
        ASSERT_TRUE(f);
        for (uint32_t r = 0; r < 128; ++r)
          for (uint32_t k = 0; k < k_inst; ++k)
            ASSERT_EQ(operand_address(*f, Major::mn, es, r, k),
                      address_by_the_tables(span, Major::mn, es, panel, r, slice * k_inst + k));
      }
    }
}

}  // namespace
}  // namespace warploom::loom
