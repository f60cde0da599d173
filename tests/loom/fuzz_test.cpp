// Bits that no correct program makes: random shared-memory and instruction descriptors, tensor maps, coordinates and
// addresses, sent through the same calls as a kernel's. The answer is a result or a finding, never a crash; run with
// the address sanitizer (preset `sanitize`), a stray access of the loom itself would be one. The suites in `Full` run a
// million of each.
#include <map>
#include <set>

#include "loom/probe_kernel.hpp"
#include "loom/random.hpp"
#include "warploom/arch/tmem.hpp"
#include "warploom/arch/wgmma.hpp"
#include "warploom/loom/native.hpp"

namespace warploom::loom {
namespace {

using namespace probe;

constexpr uint32_t quick = 20'000, full = 1'000'000;
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

struct MmaParams {
  MmaKind kind;
  uint32_t d, idesc;
  uint64_t a, b;
  bool accumulate;
};

struct MmaStorage {
  std::byte operands[shared_bytes - 1024];
  uint32_t slot;
  Mbarrier full[1];
};

void multiply_anything(uint32_t count) {
  const auto kernel = [](const MmaParams& p) {
    auto& s = shared<MmaStorage>();
    init_barriers(s.full, 1);
    native::tmem_alloc(1, address(s.slot).value, 512);
    if (lane_index() == 0) {
      native::umma(p.kind, 1, p.d, p.a, p.b, p.idesc, p.accumulate);
      native::umma_commit(1, address(s.full[0]).value, -1);
      mbarrier_wait(address(s.full[0]), 1);
    }
    syncwarp();
    native::tmem_relinquish(1);
    native::tmem_dealloc(1, s.slot, 512);
  };
  Random random(1);
  Tally tally;
  const Launch launch{.shared_bytes = shared_bytes};
  for (uint32_t i = 0; i < count; ++i) {
    MmaParams p{};
    p.kind = static_cast<MmaKind>(random.below(4));
    p.d = random.one_in(8) ? static_cast<uint32_t>(any_bits(random)) : 8 * random.below(64);
    p.a = descriptor(random, true);
    p.b = descriptor(random, true);
    p.accumulate = random.one_in(2);
    p.idesc = static_cast<uint32_t>(any_bits(random));
    if (!random.one_in(8)) {  // a shape and types that exist, often small, so that a million take minutes
      const uint32_t n = random.one_in(8) ? 8 * random.below(33) : 16;
      p.idesc = 1u << 4 | random.below(2) << 7 | random.below(2) << 10 | random.below(4) << 15 | n / 8 << 17 |
                pick(random, {4, 8}) << 24;
      if (random.one_in(6)) p.idesc ^= 1u << random.below(32);
    }
    tally.add(run(launch, kernel, p, quietly()));
  }
  EXPECT_GT(tally.results, count / 100);
  EXPECT_GT(tally.findings["MMA-RULE"], count / 10);
  EXPECT_GT(tally.findings["OOB-SHARED"], count / 100);
}

TEST(Fuzz, Tcgen05Descriptors) { multiply_anything(quick); }
TEST(FuzzFull, Tcgen05Descriptors) { multiply_anything(full); }

// ---------------------------------------------------------------------------------------------------------- wgmma

struct WgmmaParams {
  uint64_t a, b;
  uint32_t n;
  Major a_major, b_major;
};

void multiply_anything_by_warpgroups(uint32_t count) {
  const auto kernel = [](const WgmmaParams& p) {
    float d[128];
    native::WgmmaRegisters state;
    native::WgmmaForm form;
    form.n = p.n;
    form.a_major = p.a_major;
    form.b_major = p.b_major;
    native::WgmmaLane lane;
    lane.d = d;
    lane.d_state = &state;
    lane.a_descriptor = p.a;
    lane.b_descriptor = p.b;
    native::wgmma_fence();
    native::wgmma(form, lane);
    native::wgmma_commit_group();
    native::wgmma_wait_group(0);
  };
  Random random(2);
  Tally tally;
  const Launch launch{.threads = 128, .shared_bytes = shared_bytes};
  for (uint32_t i = 0; i < count; ++i) {
    const WgmmaParams p{descriptor(random, false), descriptor(random, false),
                        random.one_in(8) ? 8 + 8 * random.below(32) : 8, random.one_in(2) ? Major::k : Major::mn,
                        random.one_in(2) ? Major::k : Major::mn};
    tally.add(run(launch, kernel, p, quietly()));
  }
  EXPECT_GT(tally.results, count / 100);
  EXPECT_GT(tally.findings["MMA-RULE"], count / 10);
  EXPECT_GT(tally.findings["OOB-SHARED"], count / 100);
}

TEST(Fuzz, WgmmaDescriptors) { multiply_anything_by_warpgroups(quick / 4); }
TEST(FuzzFull, WgmmaDescriptors) { multiply_anything_by_warpgroups(full); }

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

void move_anything(uint32_t count) {
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
  Random random(3);
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
    p.at.c[0] *= static_cast<int32_t>(unit);
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

TEST(Fuzz, TensorMapsAndCoordinates) { move_anything(quick); }
TEST(FuzzFull, TensorMapsAndCoordinates) { move_anything(full); }

}  // namespace
}  // namespace warploom::loom
