// tcgen05 beyond plain products, in kernels (hardware.md §4.5, 4.9-4.14): scale factors and operands that travel
// through tensor memory, the order of copies, shifts and products, every shape of ld and st, and every rule broken
// once.
#include "loom/isa/tcgen05.hpp"

#include "loom/probe_kernel.hpp"
#include "warploom/arch/tmem_copy.hpp"
#include "warploom/types/block_scaled.hpp"
#include "warploom/types/convert_narrow.hpp"

namespace warploom::loom {
namespace {

using namespace probe;

constexpr uint32_t columns = 128, n = 32, k_extent = 32;
constexpr uint32_t sfa_at = 64, sfb_at = 68, a_at = 96;  // columns of tensor memory beside D at 0

struct Storage {
  alignas(1024) std::byte a[128 * 32];
  alignas(1024) std::byte b[n * 32];
  alignas(128) std::byte sfa[2][scale_atom_bytes];
  alignas(128) std::byte sfb[scale_atom_bytes];
  Mbarrier done[2];
  uint32_t slot;
};

struct Params {
  bool buggy = false;
  uint32_t* out = nullptr;
};

// Small integers as e4m3, and powers of two as ue8m0: every sum is exact.
int a_value(uint32_t row, uint32_t k) { return static_cast<int>(row * 3 + k * 5) % 7 - 3; }
int b_value(uint32_t column, uint32_t k) { return static_cast<int>(column * 5 + k * 3) % 5 - 2; }
uint32_t sfa_code(uint32_t row, uint32_t block) { return 127 + row % 3 + block % 2; }
uint32_t sfb_code(uint32_t column) { return 126 + column % 2; }
float product(uint32_t row, uint32_t column) {
  int sum = 0;
  for (uint32_t k = 0; k < k_extent; ++k) sum += a_value(row, k) * b_value(column, k);
  return static_cast<float>(sum);
}

void put(std::byte* tile, uint32_t row, uint32_t k, int value) {  // K-major without swizzle
  store_shared(tile + row % 8 * 16 + row / 8 * 256 + k / 16 * 128 + k % 16,
               std::byte(convert_to<e4m3>(static_cast<float>(value)).bits));
}
SmemDescriptor operand(const std::byte* tile) {
  return encode_smem_descriptor({shared_address(tile).value & 0x3ffff, 128, 256, 0, Swizzle::none});
}
SmemDescriptor atom(const std::byte* scales) { return scale_atom_descriptor(shared_address(scales).value & 0x3ffff); }
InstructionDescriptor scaled(uint32_t sfa_id) { return encode_block_scaled({.m = 128, .n = n, .sfa_id = sfa_id}); }
InstructionDescriptor plain() {
  InstructionFields fields;
  fields.m = 128;
  fields.n = n;
  return encode_instruction(fields);
}

struct Label {
  static constexpr const char* name = "done";
};

/// Thread t has row t of A, and of B and the scales as far as they go.
WARPLOOM_FN void set_up(Storage& s) {
  const uint32_t row = thread_index();
  for (uint32_t k = 0; k < k_extent; ++k) {
    put(s.a, row, k, a_value(row, k));
    if (row < n) put(s.b, row, k, b_value(row, k));
  }
  for (uint32_t block = 0; block < 4; ++block) {
    store_shared(&s.sfa[0][scale_offset_in_atom(row, block)], std::byte(sfa_code(row, block)));
    store_shared(&s.sfa[1][scale_offset_in_atom(row, block)], std::byte{130});
    store_shared(&s.sfb[scale_offset_in_atom(row, block)], std::byte(sfb_code(row)));
  }
  fence_proxy_async_shared();
  if (warp_index() == 0) tmem_alloc<1>(address(s.slot), columns);
  init_barriers<Label>(s.done, 1);
  syncthreads();
}
WARPLOOM_FN void tear_down(Storage& s) {
  tcgen05_fence_before();
  syncthreads();
  if (warp_index() == 0) tmem_dealloc<1>({load_shared(&s.slot)}, columns);
  syncwarp();
}
/// D to out[lane * n + column].
WARPLOOM_FN void dump(const Storage& s, uint32_t* out) {
  Fragment<uint32_t, n> registers;
  tmem_load_32x32b(registers, TmemAddress{load_shared(&s.slot)}.lane(32 * warp_index()));
  tmem_wait_load();
  for (int i = 0; i < static_cast<int>(n); ++i)
    store_global(out + thread_index() * n + static_cast<uint32_t>(i), registers[i]);
}

struct Output {
  std::vector<uint32_t> words = std::vector<uint32_t>(128 * n);
  Launch launch(const char* file = __builtin_FILE()) {
    return {.threads = 128,
            .shared_bytes = sizeof(Storage),
            .tensors = {{words.data(), words.size() * sizeof(uint32_t), Access::write, "out"}},
            .file = file};
  }
  template <class Wanted>
  bool holds(Wanted&& wanted) const {
    for (uint32_t row = 0; row < 128; ++row)
      for (uint32_t column = 0; column < n; ++column)
        if (std::bit_cast<float>(words[row * n + column]) != wanted(row, column)) return false;
    return true;
  }
};

float scaled_product(uint32_t row, uint32_t column, uint32_t block) {
  return std::ldexp(product(row, column), static_cast<int>(sfa_code(row, block) + sfb_code(column)) - 254);
}

// ----------------------------------------------------------------------------------------------------------- order

/// Copies of scale factors are ordered before the products of the same thread; a copy after a product is not.
// Every pair of §4.5, and the others: of one thread and one cta_group, what goes first.
TEST(Tcgen05Order, PairsThatTheHardwareKeepsInOrder) {
  using Kind = AsyncOp::Kind;
  const auto op = [](Kind kind, TmemCopy shape = TmemCopy::m128x256b) {
    AsyncOp made;
    made.kind = kind;
    made.copy.shape = shape;
    return made;
  };
  const AsyncOp mma = op(Kind::mma), shift = op(Kind::tmem_shift), commit = op(Kind::commit),
                copy = op(Kind::tmem_copy), small = op(Kind::tmem_copy, TmemCopy::m4x256b);
  EXPECT_TRUE(isa::tcgen05_ordered(copy, mma));
  EXPECT_TRUE(isa::tcgen05_ordered(mma, shift));
  EXPECT_TRUE(isa::tcgen05_ordered(shift, mma));
  EXPECT_TRUE(isa::tcgen05_ordered(shift, small));
  for (const AsyncOp* first : {&mma, &shift, &copy}) EXPECT_TRUE(isa::tcgen05_ordered(*first, commit));
  EXPECT_FALSE(isa::tcgen05_ordered(shift, copy));
  EXPECT_FALSE(isa::tcgen05_ordered(mma, copy));
  EXPECT_FALSE(isa::tcgen05_ordered(copy, shift));
  EXPECT_FALSE(isa::tcgen05_ordered(copy, copy));
  EXPECT_FALSE(isa::tcgen05_ordered(shift, shift));
  AsyncOp of_a_pair = op(Kind::tmem_copy, TmemCopy::m4x256b);
  of_a_pair.cta_group = 2;
  EXPECT_FALSE(isa::tcgen05_ordered(shift, of_a_pair));
}

TEST(Tcgen05Order, ScaleFactorsAreCopiedInTime) {
  Output output;
  const Launch launch = output.launch();
  const auto kernel = [](const Params& p) {
    auto& s = shared<Storage>();
    set_up(s);
    if (thread_index() == 0) {
      const TmemAddress base{load_shared(&s.slot)}, sfa = base.column(sfa_at), sfb = base.column(sfb_at);
      tmem_copy<TmemCopy::m32x128b, 1>(sfa, atom(s.sfa[0]));
      tmem_copy<TmemCopy::m32x128b, 1>(sfb, atom(s.sfb));
      umma_block_scaled<MmaKind::mxf8f6f4, ScaleVector::x1, 1>(base, operand(s.a), operand(s.b), scaled(0), sfa, sfb,
                                                               false);
      umma_block_scaled<MmaKind::mxf8f6f4, ScaleVector::x1, 1>(base, operand(s.a), operand(s.b), scaled(3), sfa, sfb,
                                                               true);
      umma_commit<1>(address(s.done[0]));
      if (!p.buggy) mbarrier_wait(address(s.done[0]), 1);
      tmem_copy<TmemCopy::m32x128b, 1>(sfa, atom(s.sfa[1]));  // for the next tile
      umma_commit<1>(address(s.done[1]));
    }
    mbarrier_wait(address(s.done[0]), 1);
    mbarrier_wait(address(s.done[1]), 1);
    tcgen05_fence_after();
    dump(s, p.out);
    tear_down(s);
  };
  const auto correct = [&](bool buggy, const Schedule& schedule) {
    expect_clean(run(launch, kernel, Params{buggy, output.words.data()}, with(schedule)));
    return output.holds(
        [](uint32_t row, uint32_t column) { return scaled_product(row, column, 0) + scaled_product(row, column, 3); });
  };
  for (const Schedule& schedule : schedules()) EXPECT_TRUE(correct(false, schedule)) << schedule.text();
  EXPECT_TRUE(correct(true, {Policy::eager}));
  uint32_t wrong = 0;
  for (uint64_t seed = 0; seed < 16; ++seed) wrong += correct(true, {Policy::random, seed}) ? 0 : 1;
  EXPECT_GT(wrong, 0u);
}

/// A through tensor memory: tcgen05.st, its wait, and a barrier before the product.
TEST(Tcgen05Order, OperandStoredToTensorMemory) {
  Output output;
  const Launch launch = output.launch();
  const auto kernel = [](const Params& p) {
    auto& s = shared<Storage>();
    set_up(s);
    const TmemAddress base{load_shared(&s.slot)}, a = base.column(a_at);
    uint32_t row[8];
    for (uint32_t i = 0; i < 8; ++i) {
      row[i] = 0;
      for (uint32_t j = 0; j < 4; ++j)
        row[i] |= static_cast<uint32_t>(convert_to<e4m3>(static_cast<float>(a_value(thread_index(), 4 * i + j))).bits)
                  << 8 * j;
    }
    tmem_store_32x32b<8>(a.lane(32 * warp_index()), row);
    if (!p.buggy) tmem_wait_store();
    tcgen05_fence_before();
    syncthreads();
    if (thread_index() == 0) {
      tcgen05_fence_after();
      umma<MmaKind::f8f6f4, 1>(base, a, operand(s.b), plain(), false);
      umma_commit<1>(address(s.done[0]));
    }
    mbarrier_wait(address(s.done[0]), 1);
    tcgen05_fence_after();
    dump(s, p.out);
    tmem_wait_store();
    tear_down(s);
  };
  const auto correct = [&](bool buggy, const Schedule& schedule) {
    expect_clean(run(launch, kernel, Params{buggy, output.words.data()}, with(schedule)));
    return output.holds(product);
  };
  for (const Schedule& schedule : schedules()) EXPECT_TRUE(correct(false, schedule)) << schedule.text();
  EXPECT_FALSE(correct(true, {Policy::lazy}));
}

/// product, shift of A, product: in this order without a wait.
TEST(Tcgen05Order, ShiftsBetweenProducts) {
  Output output;
  const Launch launch = output.launch();
  const auto kernel = [](const Params& p) {
    auto& s = shared<Storage>();
    set_up(s);
    if (thread_index() == 0) {
      const TmemAddress base{load_shared(&s.slot)}, a = base.column(a_at);
      tmem_copy<TmemCopy::m128x256b, 1>(a, operand(s.a));
      umma<MmaKind::f8f6f4, 1>(base, a, operand(s.b), plain(), false);
      for (uint32_t quarter = 0; quarter < 4; ++quarter) tmem_shift_down<1>(a.lane(32 * quarter));
      umma<MmaKind::f8f6f4, 1>(base.column(n), a, operand(s.b), plain(), false);
      umma<MmaKind::f8f6f4, 1>(base, a, operand(s.b), plain(), true);
      umma_commit<1>(address(s.done[0]));
    }
    mbarrier_wait(address(s.done[0]), 1);
    tcgen05_fence_after();
    dump(s, p.out);
    tear_down(s);
  };
  for (const Schedule& schedule : schedules()) {
    expect_clean(run(launch, kernel, Params{false, output.words.data()}, with(schedule)));
    EXPECT_TRUE(output.holds([](uint32_t row, uint32_t column) {
      return product(row, column) + product(row % 32 == 31 ? row : row + 1, column);  // the last row of a quarter stays
    })) << schedule.text();
  }
}

// ---------------------------------------------------------------------------------------------- shapes of ld and st

/// Writes every word of 16 or 32 lanes x 32 columns with one shape and reads them with .32x32b, and the other way.
template <class Store, class Load, class Place>
void shape_moves(uint32_t lanes, uint32_t registers, Store, Load, Place place) {
  struct Arguments {
    uint32_t* out;
  };
  std::vector<uint32_t> words(4 * 32 * 256, 0xcccccccc);
  const Launch launch{.threads = 128,
                      .shared_bytes = sizeof(Storage),
                      .tensors = {{words.data(), words.size() * sizeof(uint32_t), Access::write, "out"}}};
  const auto kernel = [](const Arguments& arguments) {
    auto& s = shared<Storage>();
    if (warp_index() == 0) tmem_alloc<1>(address(s.slot), columns);
    syncthreads();
    const TmemAddress quarter = TmemAddress{load_shared(&s.slot)}.lane(32 * warp_index());
    uint32_t zeros[64] = {};
    tmem_store_32x32b<64>(quarter, zeros);
    tmem_wait_store();
    uint32_t* out = arguments.out + warp_index() * 32 * 256;
    Store{}(quarter, lane_index());
    tmem_wait_store();
    Fragment<uint32_t, 64> rows;
    tmem_load_32x32b(rows, quarter);
    tmem_wait_load();
    for (int i = 0; i < 64; ++i) store_global(out + lane_index() * 64 + static_cast<uint32_t>(i), rows[i]);
    // ... and what the same shape loads of words that say where they are.
    for (uint32_t i = 0; i < 64; ++i) zeros[i] = lane_index() << 8 | i;
    tmem_store_32x32b<64>(quarter, zeros);
    tmem_wait_store();
    Load{}(quarter, out + 32 * 64 + lane_index() * 16);
    syncthreads();
    if (warp_index() == 0) tmem_dealloc<1>({load_shared(&s.slot)}, columns);
  };
  expect_clean(run(launch, kernel, Arguments{words.data()}));
  for (uint32_t warp = 0; warp < 4; ++warp) {
    const uint32_t* out = words.data() + warp * 32 * 256;
    std::vector<uint32_t> expected(32 * 64, 0);
    for (uint32_t t = 0; t < 32; ++t)
      for (uint32_t i = 0; i < registers; ++i) {
        // Register i of lane t holds 0xAAAA0000 | t << 8 | i; unpacked, its halves go to two columns.
        const auto [lane, column, halves] = place(t, i);
        const uint32_t value = 0xaaaa0000u | t << 8 | i;
        ASSERT_LT(lane, lanes);
        if (halves) {
          expected[lane * 64 + column] = value & 0xffff;
          expected[lane * 64 + column + 1] = value >> 16;
          EXPECT_EQ(out[32 * 64 + t * 16 + i], (lane << 8 | column) | (lane << 8 | (column + 1)) << 16);
        } else {
          expected[lane * 64 + column] = value;
          EXPECT_EQ(out[32 * 64 + t * 16 + i], lane << 8 | column);
        }
      }
    for (uint32_t i = 0; i < 32 * 64; ++i)
      ASSERT_EQ(out[i], expected[i]) << "warp " << warp << " lane " << i / 64 << " column " << i % 64;
  }
}

struct Place {
  uint32_t lane, column;
  bool halves;
};

#define SHAPE_MOVES(lanes, registers, store, load, packed, lane_of, column_of)           \
  shape_moves(                                                                           \
      lanes, registers,                                                                  \
      [](TmemAddress at, uint32_t t) {                                                   \
        uint32_t values[registers];                                                      \
        for (uint32_t i = 0; i < (registers); ++i) values[i] = 0xaaaa0000u | t << 8 | i; \
        store(at, values);                                                               \
      },                                                                                 \
      [](TmemAddress at, uint32_t* out) {                                                \
        Fragment<uint32_t, registers> loaded;                                            \
        load(loaded, at);                                                                \
        tmem_wait_load();                                                                \
        for (int i = 0; i < (registers); ++i) store_global(out + i, loaded[i]);          \
      },                                                                                 \
      [](uint32_t t, uint32_t i) {                                                       \
        (void)i;                                                                         \
        return Place{lane_of, column_of, packed};                                        \
      })

TEST(Tcgen05Shapes, EveryShapeInBothDirections) {
  SHAPE_MOVES(32, 8, (tmem_store_32x32b<8>), (tmem_load_32x32b<8>), false, t, i);
  SHAPE_MOVES(16, 8, (tmem_store_16x64b<8>), (tmem_load_16x64b<8>), false, t / 4 + 8 * (t % 2), 2 * i + t / 2 % 2);
  SHAPE_MOVES(16, 8, (tmem_store_16x128b<8>), (tmem_load_16x128b<8>), false, t / 4 + 8 * (i % 2), 4 * (i / 2) + t % 4);
  SHAPE_MOVES(16, 8, (tmem_store_16x256b<8>), (tmem_load_16x256b<8>), false, t / 4 + 8 * (i / 2 % 2),
              8 * (i / 4) + 2 * (t % 4) + i % 2);
  SHAPE_MOVES(16, 8, (tmem_store_16x32bx2<24, 8>), (tmem_load_16x32bx2<24, 8>), false, t % 16, i + t / 16 * 24);
}

TEST(Tcgen05Shapes, EveryShapePacked) {
  SHAPE_MOVES(32, 8, (tmem_store_32x32b<8, true>), (tmem_load_32x32b<8, true>), true, t, 2 * i);
  SHAPE_MOVES(16, 8, (tmem_store_16x64b<8, true>), (tmem_load_16x64b<8, true>), true, t / 4 + 8 * (t % 2),
              2 * (2 * i + t / 2 % 2));
  SHAPE_MOVES(16, 8, (tmem_store_16x128b<8, true>), (tmem_load_16x128b<8, true>), true, t / 4 + 8 * (i % 2),
              2 * (4 * (i / 2) + t % 4));
  SHAPE_MOVES(16, 8, (tmem_store_16x256b<8, true>), (tmem_load_16x256b<8, true>), true, t / 4 + 8 * (i / 2 % 2),
              2 * (8 * (i / 4) + 2 * (t % 4) + i % 2));
  SHAPE_MOVES(16, 8, (tmem_store_16x32bx2<24, 8, true>), (tmem_load_16x32bx2<24, 8, true>), true, t % 16,
              2 * i + t / 16 * 24);
}

// ----------------------------------------------------------------------------------------------------------- rules

/// body(storage, buggy) by thread 0, between set-up and a commit that all wait for.
template <class Body>
void issue_rule(Body, const Expected& expected, const char* file = __builtin_FILE()) {
  Output output;
  const Launch launch = output.launch(file);
  const auto kernel = [](const Params& p) {
    auto& s = shared<Storage>();
    set_up(s);
    if (thread_index() == 0) {
      Body{}(s, p.buggy);
      umma_commit<1>(address(s.done[0]));
    }
    mbarrier_wait(address(s.done[0]), 1);
    tear_down(s);
  };
  {
    SCOPED_TRACE("buggy");
    always_found(launch, kernel, Params{true, output.words.data()}, expected);
  }
  SCOPED_TRACE("correct");
  always_clean(launch, kernel, Params{false, output.words.data()});
}

TEST(Tcgen05Rules, ScaleFactorsInOneQuarterOnly) {
  issue_rule(
      [](Storage& s, bool buggy) {
        const TmemAddress base{load_shared(&s.slot)}, sfa = base.column(sfa_at), sfb = base.column(sfb_at);
        tmem_copy<TmemCopy::m32x128b, 1>(sfb, atom(s.sfb));
        if (buggy)
          tmem_copy<TmemCopy::m128x128b, 1>(sfa, operand(s.a));  // 128 rows, each to its own lane
        else
          tmem_copy<TmemCopy::m32x128b, 1>(sfa, atom(s.sfa[0]));
        OFFENDING(umma_block_scaled<MmaKind::mxf8f6f4, ScaleVector::x1, 1>(base, operand(s.a), operand(s.b), scaled(0),
                                                                           sfa, sfb, false));
      },
      {"MMA-RULE", {"scale factors of row", "differ between lanes", "all lane quarters"}});
}

TEST(Tcgen05Rules, ScaleFactorId) {
  issue_rule(
      [](Storage& s, bool buggy) {
        const TmemAddress base{load_shared(&s.slot)}, sfa = base.column(sfa_at), sfb = base.column(sfb_at);
        tmem_copy<TmemCopy::m32x128b, 1>(sfa, atom(s.sfa[0]));
        tmem_copy<TmemCopy::m32x128b, 1>(sfb, atom(s.sfb));
        const InstructionDescriptor idesc =
            encode_block_scaled({.a_type = 1, .b_type = 1, .m = 128, .n = n, .sfb_id = buggy ? 1u : 2u});
        OFFENDING(umma_block_scaled<MmaKind::mxf4, ScaleVector::x2, 1>(base, operand(s.a), operand(s.b), idesc, sfa,
                                                                       sfb, false));
      },
      {"MMA-RULE", {"A scale factor id is 1", "0 or 2"}});
}

TEST(Tcgen05Rules, ScaleFactorsThatAreNotAllocated) {
  issue_rule(
      [](Storage& s, bool buggy) {
        const TmemAddress base{load_shared(&s.slot)}, sfa = base.column(sfa_at), sfb = base.column(sfb_at);
        tmem_copy<TmemCopy::m32x128b, 1>(sfa, atom(s.sfa[0]));
        tmem_copy<TmemCopy::m32x128b, 1>(sfb, atom(s.sfb));
        const TmemAddress wrong = base.column(buggy ? columns : sfa_at);
        OFFENDING(umma_block_scaled<MmaKind::mxf8f6f4, ScaleVector::x1, 1>(base, operand(s.a), operand(s.b), scaled(0),
                                                                           wrong, sfb, false));
      },
      {"TMEM-RULE", {"tcgen05.mma reads scale factors of A from columns 128 to 131", "not allocated"}});
}

TEST(Tcgen05Rules, OperandThatIsNotAllocated) {
  issue_rule(
      [](Storage& s, bool buggy) {
        const TmemAddress base{load_shared(&s.slot)};
        tmem_copy<TmemCopy::m128x256b, 1>(base.column(columns - 8), operand(s.a));
        OFFENDING(umma<MmaKind::f8f6f4, 1>(base, base.column(columns - (buggy ? 7 : 8)), operand(s.b), plain(), false));
      },
      {"TMEM-RULE", {"tcgen05.mma reads A from columns 121 to 128", "not allocated"}});
}

TEST(Tcgen05Rules, SparseProductsAreNotModelled) {
  issue_rule(
      [](Storage& s, bool buggy) {
        InstructionDescriptor idesc = plain();
        if (buggy) idesc.bits |= 1u << 2;
        OFFENDING(umma<MmaKind::f8f6f4, 1>({load_shared(&s.slot)}, operand(s.a), operand(s.b), idesc, false));
      },
      {"MMA-RULE", {"sparse product", "does not model"}});
}

TEST(Tcgen05Rules, CopyToAnotherLane) {
  issue_rule(
      [](Storage& s, bool buggy) {
        const TmemAddress to = TmemAddress{load_shared(&s.slot)}.lane(buggy ? 32 : 0);
        OFFENDING(tmem_copy<TmemCopy::m32x128b, 1>(to, atom(s.sfa[0])));
      },
      {"MMA-RULE", {"tcgen05.cp: The destination names lane 32", "from lane 0"}});
}

TEST(Tcgen05Rules, CopyOfBytesThatAreNotThere) {
  issue_rule(
      [](Storage& s, bool buggy) {
        const SmemDescriptor source = atom(s.sfb).advance(buggy ? 1024 : 0);
        OFFENDING(tmem_copy<TmemCopy::m32x128b, 1>({load_shared(&s.slot)}, source));
      },
      {"OOB-SHARED", {"the source of tcgen05.cp covers 0x"}});
}

TEST(Tcgen05Rules, CopyToColumnsThatAreNotAllocated) {
  issue_rule(
      [](Storage& s, bool buggy) {
        const TmemAddress to = TmemAddress{load_shared(&s.slot)}.column(columns - (buggy ? 3 : 4));
        OFFENDING(tmem_copy<TmemCopy::m32x128b, 1>(to, atom(s.sfa[0])));
      },
      {"TMEM-RULE", {"tcgen05.cp writes columns 125 to 128 of CTA 0", "not allocated"}});
}

TEST(Tcgen05Rules, ShiftInTheMiddleOfAQuarter) {
  issue_rule(
      [](Storage& s, bool buggy) {
        const TmemAddress at = TmemAddress{load_shared(&s.slot)}.lane(buggy ? 16 : 32);
        OFFENDING(tmem_shift_down<1>(at));
      },
      {"TMEM-RULE", {"tcgen05.shift at lane 16", "0, 32, 64 or 96"}});
}

TEST(Tcgen05Rules, DeallocWhileACopyIsInFlight) {
  Output output;
  const Launch launch = output.launch();
  const auto kernel = [](const Params& p) {
    auto& s = shared<Storage>();
    set_up(s);
    if (thread_index() == 0) {
      tmem_copy<TmemCopy::m32x128b, 1>({load_shared(&s.slot)}, atom(s.sfa[0]));
      umma_commit<1>(address(s.done[0]));
    }
    if (!p.buggy) mbarrier_wait(address(s.done[0]), 1);
    syncthreads();
    if (warp_index() == 0) OFFENDING(tmem_dealloc<1>({load_shared(&s.slot)}, columns));
    mbarrier_wait(address(s.done[0]), 1);
  };
  always_clean(launch, kernel, Params{false});
  for (const Policy policy : {Policy::lazy, Policy::adversarial})
    expect_finding(run(launch, kernel, Params{true}, with({policy})), launch,
                   {"TMEM-RULE", {"tcgen05.dealloc while a tcgen05.cp on these columns is in flight"}});
}

TEST(Tcgen05Rules, RegisterCountThatDoesNotExist) {
  Output output;
  rule(output.launch(),
       [](bool buggy) {
         auto& s = shared<Storage>();
         if (warp_index() == 0) {
           tmem_alloc<1>(address(s.slot), columns);
           const uint32_t three[3] = {}, four[4] = {};
           if (buggy)
             OFFENDING(tmem_store_16x128b<3>({load_shared(&s.slot)}, three));
           else
             tmem_store_16x128b<4>({load_shared(&s.slot)}, four);
           tmem_wait_store();
           tmem_dealloc<1>({load_shared(&s.slot)}, columns);
         }
       },
       {"TMEM-RULE", {"tcgen05.st moves 3 registers", "2, 4, 8, ... or 128"}});
}

TEST(Tcgen05Rules, SecondHalfOutsideTheAllocation) {
  Output output;
  rule(output.launch(),
       [](bool buggy) {
         auto& s = shared<Storage>();
         if (warp_index() == 0) {
           tmem_alloc<1>(address(s.slot), columns);
           const uint32_t values[4] = {};
           const TmemAddress at = TmemAddress{load_shared(&s.slot)}.column(columns - (buggy ? 35 : 36));
           OFFENDING(tmem_store_16x32bx2<32, 4>(at, values));
           tmem_wait_store();
           tmem_dealloc<1>({load_shared(&s.slot)}, columns);
         }
       },
       {"TMEM-RULE", {"tcgen05.st touches columns 93 to 128", "not allocated"}});
}

}  // namespace
}  // namespace warploom::loom
