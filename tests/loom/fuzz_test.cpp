// Bits that no correct program makes: random shared-memory and instruction descriptors, tensor maps, coordinates and
// addresses, sent through the same calls as a kernel's. The answer is a result or a finding, never a crash; run with
// the address sanitizer (preset `sanitize`), a stray access of the loom itself would be one. The suites in `Full` run a
// million of each.
#include <iostream>
#include <map>
#include <set>

#include "loom/exec/random.hpp"
#include "loom/probe_kernel.hpp"
#include "warploom/arch/tmem.hpp"
#include "warploom/arch/wgmma.hpp"
#include "warploom/loom/native.hpp"

namespace warploom::loom {
namespace {

using namespace probe;

constexpr uint32_t quick = 20'000, full = 1'000'000;
/// The long count in so many tests, which run side by side.
constexpr uint32_t parts = 10;
class FuzzFull : public ::testing::TestWithParam<uint64_t> {};
constexpr uint32_t shared_bytes = 64 * 1024;

struct Tally {
  uint32_t results = 0;
  std::map<std::string, uint32_t> findings;

  void add(const Outcome& outcome) {
    if (outcome.ok()) {
      ++results;
      return;
    }
    const Finding& finding = outcome.report.findings.front();
    ++findings[finding.code];
    // Not even the guard of the worker may be needed.
    static const std::set<std::string> crashes{"FAULT", "STACK", "EXCEPTION", "ENDLESS-LOOP", "STEP-LIMIT", "DEADLOCK"};
    EXPECT_FALSE(crashes.contains(finding.code)) << to_text(outcome.report);
    EXPECT_GT(finding.message.size(), 10u);
  }
};

Options quietly() {
  Options options;
  options.workers = 1;
  options.seconds_limit = 0;  // no watchdog thread for each of so many launches
  return options;
}

uint64_t any_bits(Random& random) { return random.next(); }
uint32_t pick(Random& random, std::initializer_list<uint32_t> list) {
  return list.begin()[random.below(static_cast<uint32_t>(list.size()))];
}

/// A descriptor of an operand that could be real, now and then with a bit flipped, or nothing but noise.
uint64_t descriptor(Random& random, bool blackwell) {
  if (random.one_in(8)) return any_bits(random);
  const uint64_t start = 0x400 + 16 * random.below(shared_bytes / 16);
  const uint64_t leading = 16 * random.below(random.one_in(4) ? 1 << 14 : 64);
  const uint64_t stride = 16 * random.below(random.one_in(4) ? 1 << 14 : 128);
  uint64_t bits = (start >> 4 & 0x3fff) | (leading >> 4 & 0x3fff) << 16 | (stride >> 4 & 0x3fff) << 32;
  if (blackwell)
    bits |= uint64_t{1} << 46 | uint64_t{pick(random, {0, 1, 2, 4, 6})} << 61;
  else
    bits |= uint64_t{random.below(4)} << 62;
  if (random.one_in(6)) bits |= uint64_t{random.below(8)} << 49;
  if (random.one_in(6)) bits ^= uint64_t{1} << random.below(64);
  return bits;
}

// ---------------------------------------------------------------------------------------------------------- tcgen05

enum class Work : uint8_t { product, copy, shift };

struct MmaParams {
  Work work;
  native::MmaInstruction in;
  bool masked;
  uint32_t mask[8];
  TmemCopy shape;  ///< of a copy: from in.a to in.d
  Expand expand;
  int group;  ///< that allocates and commits
};

struct MmaStorage {
  std::byte operands[shared_bytes - 1024];
  uint32_t slot;
  Mbarrier full[1];
};

/// An instruction descriptor of this kind with a shape and types that exist, often small, so that a million take
/// minutes.
uint32_t instruction(Random& random, MmaKind kind, bool ws, bool pair) {
  const auto yes = [&](uint32_t one_in) { return uint32_t{random.one_in(one_in)}; };
  uint32_t n = random.one_in(16) ? 8 * random.below(33) : 16 * (1 + random.below(2));
  if (ws) n = pick(random, {64, 64, 64, 128, 256});
  uint32_t bits = random.below(4) << 13 | n / 8 << 17;
  if (kind != MmaKind::mxf4 && kind != MmaKind::mxf4nvf4 && random.one_in(3)) bits |= random.below(4) << 15;
  if (block_scaled(kind)) {
    const bool narrow = kind == MmaKind::mxf8f6f4;
    const auto type = [&] { return narrow ? pick(random, {0, 1, 3, 4, 5}) : 1; };
    const auto id = [&] { return narrow ? random.below(4) : 2 * yes(4); };
    return bits | type() << 7 | type() << 10 | id() << 4 | (kind == MmaKind::mxf4nvf4 ? yes(2) : 1) << 23 |
           (pair && random.one_in(2) ? 2u : 1u) << 27 | id() << 29;
  }
  const auto type = [&] {
    if (kind == MmaKind::f8f6f4) return pick(random, {0, 1, 3, 4, 5});
    return kind == MmaKind::tf32 ? 2 : random.below(2);
  };
  const uint32_t a = type(), b = kind == MmaKind::f16 ? a : type();
  if (kind == MmaKind::i8) bits = (bits & ~(3u << 13)) | yes(2) << 3;
  const uint32_t accumulator = kind == MmaKind::i8 ? 2 : kind == MmaKind::tf32 || a == 1 ? 1 : random.below(2);
  const uint32_t m = ws ? pick(random, {2, 4, 8}) : pair ? pick(random, {8, 16}) : pick(random, {4, 8});
  return bits | a << 7 | b << 10 | accumulator << 4 | m << 24;
}

MmaParams tensor_work(Random& random) {
  MmaParams p{};
  const auto odd = [&](uint32_t one_in) { return random.one_in(one_in); };
  const auto columns = [&](uint32_t of) {
    return odd(16) ? static_cast<uint32_t>(any_bits(random)) : of * random.below(512 / of);
  };
  const uint32_t draw = random.below(8);
  p.work = draw == 0 ? Work::copy : draw == 1 ? Work::shift : Work::product;
  p.group = odd(16) ? 2 : 1;
  p.in.cta_group = odd(64) ? static_cast<int>(random.below(4)) : p.group;
  p.in.a = descriptor(random, true);
  p.in.b = descriptor(random, true);
  p.in.d = columns(8);
  if (p.work == Work::shift) p.in.d |= (odd(4) ? random.below(128) : 32 * random.below(4)) << 16;
  p.shape = static_cast<TmemCopy>(random.below(6));
  p.expand = static_cast<Expand>(random.below(3));
  if (p.work != Work::product) return p;

  p.in.kind = static_cast<MmaKind>(odd(200) ? random.below(16) : random.below(7));
  p.in.weight_stationary = odd(6);
  p.in.accumulate = odd(2);
  if (odd(5)) {
    p.in.a_in_tmem = true;
    p.in.a = columns(8);
  }
  p.in.idesc = odd(8) ? static_cast<uint32_t>(any_bits(random))
                      : instruction(random, p.in.kind, p.in.weight_stationary, p.group == 2);
  if (odd(6)) p.in.idesc ^= 1u << random.below(32);
  p.in.scale_input_d = odd(12) ? random.below(20) : 0;
  p.masked = odd(12);
  for (uint32_t& word : p.mask) word = static_cast<uint32_t>(any_bits(random));
  p.in.scale_vector = static_cast<ScaleVector>(odd(40) ? random.below(256) : pick(random, {1, 2, 4}));
  if (!odd(4)) p.in.scale_vector = p.in.kind == MmaKind::mxf8f6f4 ? ScaleVector::x1 : ScaleVector::x2;
  p.in.sfa = columns(4);
  p.in.sfb = columns(4);
  return p;
}

void multiply_anything(uint32_t count, uint64_t seed) {
  const auto kernel = [](const MmaParams& p) {
    auto& s = shared<MmaStorage>();
    init_barriers(s.full, 1);
    native::tmem_alloc(p.group, address(s.slot).value, 512);
    cluster_sync();
    if (lane_index() == 0 && cluster_rank() == 0) {
      native::MmaInstruction in = p.in;
      if (p.masked) in.disabled_lanes = p.mask;
      if (p.work == Work::product) native::umma(in);
      if (p.work == Work::copy) native::tmem_copy(p.shape, p.expand, in.cta_group, in.d, in.a);
      if (p.work == Work::shift) native::tmem_shift_down(in.cta_group, in.d);
      native::umma_commit(p.group, address(s.full[0]).value, -1);
      mbarrier_wait(address(s.full[0]), 1);
    }
    cluster_sync();
    native::tmem_relinquish(p.group);
    native::tmem_dealloc(p.group, load_shared(&s.slot), 512);
  };
  Random random(seed);
  Tally tally;
  std::map<std::string, std::pair<uint32_t, uint32_t>> results;  // of the work: drawn, and done
  Launch launch{.shared_bytes = shared_bytes};
  for (uint32_t i = 0; i < count; ++i) {
    const MmaParams p = tensor_work(random);
    launch.grid.x = launch.cluster.x = static_cast<uint32_t>(p.group);
    Options options = quietly();
    if (random.one_in(16)) options.numerics = Numerics::exact;
    const uint32_t before = tally.results;
    tally.add(run(launch, kernel, p, options));
    const std::string what = p.work == Work::copy    ? "copy"
                             : p.work == Work::shift ? "shift"
                             : p.in.kind > MmaKind::mxf4nvf4
                                 ? "no kind"
                                 : "kind " + std::to_string(static_cast<int>(p.in.kind)) +
                                       (p.in.weight_stationary ? ".ws" : "") + (p.group == 2 ? " of a pair" : "");
    auto& [drawn, done] = results[what];
    ++drawn;
    done += tally.results - before;
  }
  EXPECT_GT(tally.results, count / 20);
  EXPECT_GT(tally.findings["MMA-RULE"], count / 10);
  EXPECT_GT(tally.findings["OOB-SHARED"], count / 100);
  EXPECT_GT(tally.findings["TMEM-RULE"], count / 100);
  // Neither has anything been left out, nor has it only been refused.
  for (const auto& [what, numbers] : results) {
    if (count > quick) std::cout << what << ": " << numbers.second << " of " << numbers.first << " ran\n";
    const bool never = what == "no kind" || what.find(".ws of a pair") != std::string::npos ||
                       (what.find(".ws") != std::string::npos && what >= "kind 4");
    EXPECT_EQ(numbers.second == 0, never) << what << " of " << numbers.first;
  }
  EXPECT_EQ(results.size(), 2u + 1 + 7 * 4);
}

TEST(Fuzz, Tcgen05Descriptors) { multiply_anything(quick, 1); }
TEST_P(FuzzFull, Tcgen05Descriptors) { multiply_anything(full / parts, GetParam()); }

// ---------------------------------------------------------------------------------------------------------- wgmma

struct WgmmaParams {
  uint64_t a, b;
  native::WgmmaForm form;
  bool a_in_registers;
};

/// Mostly a form that exists, of any type, most of them as narrow as can be.
native::WgmmaForm warpgroup_form(Random& random) {
  const auto odd = [&](uint32_t one_in) { return random.one_in(one_in); };
  native::WgmmaForm form;
  form.n = odd(16) ? random.below(300) : odd(12) ? 8 + 8 * random.below(32) : 8;
  form.a_type = form.b_type = static_cast<WgmmaType>(random.below(7));
  if (is_fp8(form.a_type)) form.b_type = odd(2) ? WgmmaType::e4m3 : WgmmaType::e5m2;
  if (is_integer(form.a_type)) form.b_type = odd(2) ? WgmmaType::s8 : WgmmaType::u8;
  if (odd(40)) form.b_type = static_cast<WgmmaType>(random.below(8));
  form.d_type = is_integer(form.a_type) ? WgmmaResult::s32 : WgmmaResult::f32;
  if (odd(4)) form.d_type = static_cast<WgmmaResult>(random.below(3));
  if (size_of(form.a_type) == 2 || odd(8)) {
    form.a_major = odd(2) ? Major::k : Major::mn;
    form.b_major = odd(2) ? Major::k : Major::mn;
  }
  if (!is_integer(form.a_type) || odd(8)) form.negate = static_cast<WgmmaNegate>(random.below(4));
  if (is_integer(form.a_type) || odd(8)) form.overflow = static_cast<WgmmaOverflow>(random.below(2));
  return form;
}

void multiply_anything_by_warpgroups(uint32_t count, uint64_t seed) {
  const auto kernel = [](const WgmmaParams& p) {
    float d[128];
    uint32_t a[4] = {0x3c3c3c3c, 0x40404040, 0, 0xffffffff};
    native::WgmmaRegisters state, a_state;
    a_state.use = native::WgmmaRegisters::Use::fenced;
    native::WgmmaLane lane;
    lane.d = d;
    lane.d_state = &state;
    if (p.a_in_registers) {
      lane.a = a;
      lane.a_state = &a_state;
    }
    lane.a_descriptor = p.a;
    lane.b_descriptor = p.b;
    native::wgmma_fence();
    native::wgmma(p.form, lane);
    native::wgmma_commit_group();
    native::wgmma_wait_group(0);
  };
  Random random(seed);
  Tally tally;
  std::map<WgmmaType, uint32_t> results;
  const Launch launch{.threads = 128, .shared_bytes = shared_bytes};
  for (uint32_t i = 0; i < count; ++i) {
    const WgmmaParams p{descriptor(random, false), descriptor(random, false), warpgroup_form(random), random.one_in(6)};
    Options options = quietly();
    if (random.one_in(4)) options.numerics = Numerics::exact;
    const uint32_t before = tally.results;
    tally.add(run(launch, kernel, p, options));
    results[p.form.a_type] += tally.results - before;
  }
  EXPECT_GT(tally.results, count / 20);
  EXPECT_GT(tally.findings["MMA-RULE"], count / 10);
  EXPECT_GT(tally.findings["OOB-SHARED"], count / 100);
  for (int type = 0; type < 7; ++type) EXPECT_GT(results[static_cast<WgmmaType>(type)], count / 500) << type;
}

TEST(Fuzz, WgmmaDescriptors) { multiply_anything_by_warpgroups(quick, 2); }
TEST_P(FuzzFull, WgmmaDescriptors) {
  multiply_anything_by_warpgroups(full / 2 / parts, GetParam());  // two descriptors each
}

// ---------------------------------------------------------------------------------------------------------- TMA

alignas(128) std::array<std::byte, 1 << 16> block;

TensorMapArgs tensor_map_args(Random& random) {
  TensorMapArgs args;
  const auto odd = [&](uint32_t one_in) { return random.one_in(one_in); };
  args.type = static_cast<TmaType>(random.below(odd(50) ? 256 : 16));
  args.rank = odd(50) ? random.below(9) : 1 + random.below(5);
  args.address = odd(20) ? reinterpret_cast<const void*>(any_bits(random) & ~uint64_t{31})
                         : block.data() + 32 * random.below(odd(4) ? 4096 : 8);
  for (auto& size : args.dims) size = odd(20) ? any_bits(random) >> random.below(64) : 1 + random.below(128);
  if (args.type >= TmaType::u4_align8 && !odd(8)) args.dims[0] = 128 * (1 + random.below(4));
  for (auto& stride : args.strides) stride = odd(20) ? any_bits(random) >> random.below(64) : 32 * random.below(64);
  for (auto& size : args.box) size = odd(30) ? random.below(1000) : 1 + random.below(6);
  args.box[0] = odd(10) ? random.below(300) : pick(random, {8, 16, 32, 128});
  for (auto& stride : args.element_strides) stride = odd(30) ? random.below(20) : 1 + random.below(3);
  args.interleave = static_cast<uint8_t>(odd(20) ? random.below(5) : 0);
  args.swizzle = static_cast<Swizzle>(odd(50) ? random.below(256) : random.below(7));
  args.l2_promotion = static_cast<uint8_t>(random.below(odd(20) ? 256 : 4));
  args.fill = static_cast<TmaFill>(odd(10) ? random.below(3) : 0);
  if (odd(3)) {
    Im2colWindow& window = args.im2col.emplace();
    for (auto* corners : {&window.lower, &window.upper})
      for (auto& corner : *corners)
        corner = odd(20) ? static_cast<int32_t>(any_bits(random)) : static_cast<int32_t>(random.below(5)) - 2;
    window.channels = odd(10) ? random.below(2000) : pick(random, {8, 16, 32});
    window.pixels = odd(10) ? random.below(2000) : 1 + random.below(40);
  }
  return args;
}

struct TmaParams {
  TensorMap map;
  TmaCoordinates at;
  uint32_t offset;
  uint32_t form;  ///< load, multicast, store, reduce, prefetch
  Reduction reduction;
};

struct TmaStorage {
  alignas(1024) std::byte region[shared_bytes - 1024];
  Mbarrier full[1];
};

void move_anything(uint32_t count, uint64_t seed) {
  const auto kernel = [](const TmaParams& p) {
    auto& s = shared<TmaStorage>();
    init_barriers(s.full, 1);
    if (lane_index() == 0) {
      const uint32_t box = address(s.region).value + p.offset, barrier = address(s.full[0]).value;
      if (p.form <= 1) native::tma_load(1, box, p.map, barrier, p.at, p.form == 0 ? -1 : 1);
      if (p.form == 2) native::tma_store(p.map, box, p.at);
      if (p.form == 3) native::tma_reduce(p.reduction, p.map, box, p.at);
      if (p.form == 4) native::tma_prefetch(p.map, p.at);
      bulk_commit_group();
      bulk_wait_group<0>();
      mbarrier_invalidate(address(s.full[0]));  // whatever it has counted
    }
    syncwarp();
  };
  Random random(seed);
  Tally tally;
  uint32_t refused = 0;
  Launch launch{.shared_bytes = sizeof(TmaStorage), .tensors = {{block.data(), block.size(), Access::write, "block"}}};
  for (uint32_t i = 0; i < count; ++i) {
    const TensorMapArgs args = tensor_map_args(random);
    const Result<TensorMap> map = encode_tensor_map(args, random.one_in(4) ? Chip::sm90 : Chip::sm100);
    TmaParams p{};
    if (map) {
      p.map = *map;
      if (random.one_in(50)) p.map.opaque[random.below(16)] ^= uint64_t{1} << random.below(64);
    } else {
      ++refused;
      EXPECT_TRUE(map.error().ends_with(".")) << map.error();
      if (!random.one_in(20)) continue;
      for (uint64_t& word : p.map.opaque) word = any_bits(random);
    }
    p.at.mode = args.im2col && !random.one_in(20) ? TmaMode::im2col : static_cast<TmaMode>(random.below(3));
    p.at.rank = random.one_in(20) ? 1 + random.below(5) : args.rank;
    const uint32_t unit = pick(random, {16, 128});
    for (int32_t& c : p.at.c)
      c = random.one_in(20) ? static_cast<int32_t>(any_bits(random)) : static_cast<int32_t>(random.below(12)) - 4;
    p.at.c[0] = static_cast<int32_t>(static_cast<uint32_t>(p.at.c[0]) * unit);
    for (uint16_t& offset : p.at.offsets)
      offset = static_cast<uint16_t>(random.one_in(20) ? any_bits(random) : random.below(4));
    p.offset = random.one_in(20) ? static_cast<uint32_t>(any_bits(random)) : 128 * random.below(shared_bytes / 128);
    p.form = random.below(5);
    p.reduction = static_cast<Reduction>(random.below(8));
    tally.add(run(launch, kernel, p, quietly()));
  }
  EXPECT_GT(refused, count / 20);
  EXPECT_GT(tally.results, count / 100);
  EXPECT_GT(tally.findings["TMA-RULE"], count / 50);
  EXPECT_GT(tally.findings["OOB-GLOBAL"], count / 1000);
}

TEST(Fuzz, TensorMapsAndCoordinates) { move_anything(quick, 3); }
TEST_P(FuzzFull, TensorMapsAndCoordinates) { move_anything(full / parts, GetParam()); }

INSTANTIATE_TEST_SUITE_P(Parts, FuzzFull, ::testing::Range(uint64_t{1}, uint64_t{parts + 1}));

}  // namespace
}  // namespace warploom::loom
