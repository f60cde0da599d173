// Every recorded TMA operation of an H200 (tests/data/h200_tma.jsonl, h200_edges.jsonl), issued by a kernel through
// `arch`: memory after it, the barrier's phase, and a finding where the chip faulted. The units alone are tested in
// units/tma_test.
#include <map>

#include "loom/probe_kernel.hpp"
#include "support/golden.hpp"
#include "warploom/arch/tma_forms.hpp"

namespace warploom::loom {
namespace {

using namespace probe;
using test::json;

constexpr uint32_t region_bytes = 24 * 1024;
constexpr size_t block_bytes = 1 << 18;

struct Storage {
  alignas(1024) uint32_t region[region_bytes / 4];
  Mbarrier full[1];
};

enum class Op : uint8_t { load, im2col, multicast, store, add, min, max, inc, dec, bit_and, bit_or, bit_xor };
const std::map<std::string, Op> ops{{"load", Op::load},   {"im2col", Op::im2col}, {"multicast", Op::multicast},
                                    {"store", Op::store}, {"add", Op::add},       {"min", Op::min},
                                    {"max", Op::max},     {"inc", Op::inc},       {"dec", Op::dec},
                                    {"and", Op::bit_and}, {"or", Op::bit_or},     {"xor", Op::bit_xor}};

struct Params {
  TensorMap map;
  Op op;
  uint32_t rank;  ///< of the instruction
  int32_t c[5];
  uint16_t offsets[3];
  uint32_t base;   ///< of the recording's region, from the start of shared memory
  uint32_t bytes;  ///< of the region
  uint32_t at;     ///< of the box, from there
  uint32_t tx;
  uint32_t mask, issuer;  ///< multicast
  const uint32_t* image;  ///< what the region holds before
  uint32_t* after;        ///< and after, per CTA
  uint32_t* done;
};

template <uint32_t rank>
WARPLOOM_FN Coord<rank> coord(const Params& p) {
  if constexpr (rank == 1)
    return Coord{p.c[0]};
  else if constexpr (rank == 2)
    return Coord{p.c[0], p.c[1]};
  else if constexpr (rank == 3)
    return Coord{p.c[0], p.c[1], p.c[2]};
  else if constexpr (rank == 4)
    return Coord{p.c[0], p.c[1], p.c[2], p.c[3]};
  else
    return Coord{p.c[0], p.c[1], p.c[2], p.c[3], p.c[4]};
}

template <uint32_t rank>
WARPLOOM_FN void issue(const Params& p, SharedAddress box, SharedAddress full) {
  const Coord<rank> at = coord<rank>(p);
  switch (p.op) {
    case Op::load: return tma_load<1>(box, p.map, full, at);
    case Op::multicast: return tma_load_multicast<1>(box, p.map, full, at, static_cast<uint16_t>(p.mask));
    case Op::im2col:
      if constexpr (rank == 3) tma_load_im2col<1>(box, p.map, full, at, Offsets{p.offsets[0]});
      if constexpr (rank == 4) tma_load_im2col<1>(box, p.map, full, at, Offsets{p.offsets[0], p.offsets[1]});
      if constexpr (rank == 5)
        tma_load_im2col<1>(box, p.map, full, at, Offsets{p.offsets[0], p.offsets[1], p.offsets[2]});
      return;
    case Op::store: return tma_store(p.map, box, at);
    case Op::add: return tma_reduce<Reduction::add>(p.map, box, at);
    case Op::min: return tma_reduce<Reduction::min>(p.map, box, at);
    case Op::max: return tma_reduce<Reduction::max>(p.map, box, at);
    case Op::inc: return tma_reduce<Reduction::inc>(p.map, box, at);
    case Op::dec: return tma_reduce<Reduction::dec>(p.map, box, at);
    case Op::bit_and: return tma_reduce<Reduction::bit_and>(p.map, box, at);
    case Op::bit_or: return tma_reduce<Reduction::bit_or>(p.map, box, at);
    case Op::bit_xor: return tma_reduce<Reduction::bit_xor>(p.map, box, at);
  }
}

const auto kernel = [](const Params& p) {
  auto& s = shared<Storage>();
  init_barriers(s.full, 1);
  for (uint32_t i = lane_index(); i < p.bytes / 4; i += 32) store_shared(&s.region[p.base / 4 + i], p.image[i]);
  fence_proxy_async_shared();
  cluster_sync();
  const bool loads = p.op <= Op::multicast, receives = loads && (p.mask >> cluster_rank() & 1) != 0;
  const SharedAddress box = address(s.region) + p.base + p.at, full = address(s.full[0]);
  if (lane_index() == 0) {
    if (receives) mbarrier_arrive_expect_tx(full, p.tx);
    if (cluster_rank() == p.issuer) {
      switch (p.rank) {
        case 1: issue<1>(p, box, full); break;
        case 2: issue<2>(p, box, full); break;
        case 3: issue<3>(p, box, full); break;
        case 4: issue<4>(p, box, full); break;
        default: issue<5>(p, box, full); break;
      }
      if (!loads) {
        bulk_commit_group();
        bulk_wait_group<0>();
      }
    }
    if (receives) mbarrier_wait(full, 1);
    p.done[cluster_rank()] = mbarrier_test(full, 0) ? 0 : 1;
  }
  cluster_sync();
  for (uint32_t i = lane_index(); i < p.bytes / 4; i += 32)
    p.after[cluster_rank() * region_bytes / 4 + i] = load_shared(&s.region[p.base / 4 + i]);
  cluster_sync();
};

TmaType type_of(const std::string& name) {
  static const std::vector<std::string> names{"u8",  "u16", "u32",  "s32",     "u64",  "s64",     "f16",
                                              "f32", "f64", "bf16", "f32_ftz", "tf32", "tf32_ftz"};
  return static_cast<TmaType>(std::find(names.begin(), names.end(), name) - names.begin());
}

TensorMapArgs args_of(const json& row, const void* address) {
  TensorMapArgs args;
  args.type = type_of(row["dtype"]);
  args.rank = static_cast<uint32_t>(row["dims"].size());
  args.address = address;
  const auto copy = [&](const char* name, auto& to) {
    for (size_t i = 0; row.contains(name) && i < row[name].size(); ++i) to.at(i) = row[name][i];
  };
  copy("dims", args.dims);
  copy("strides", args.strides);
  copy("box", args.box);
  copy("elem_strides", args.element_strides);
  const int span = row["swizzle"];
  args.swizzle = span == 0 ? Swizzle::none : span == 32 ? Swizzle::b32 : span == 64 ? Swizzle::b64 : Swizzle::b128;
  if (row.value("oob_nan", 0) == 1) args.fill = TmaFill::nan;
  if (row["op"] == "im2col") {
    Im2colWindow& window = args.im2col.emplace();
    copy("lower", window.lower);
    copy("upper", window.upper);
    window.channels = row["channels"];
    window.pixels = row["pixels"];
  }
  return args;
}

/// Two CTAs' worth of memory, 256-byte aligned as cudaMalloc's.
struct Memory {
  alignas(256) std::array<uint8_t, block_bytes> global;
  alignas(256) std::array<uint32_t, region_bytes / 4> image;
  std::array<uint32_t, 2 * region_bytes / 4> after;
  std::array<uint32_t, 2> done;

  void tensor_bytes() {
    for (uint32_t i = 0; i < block_bytes; ++i) global[i] = static_cast<uint8_t>(i * 2654435761u >> 16);
  }
  void image_bytes() {
    auto* bytes = reinterpret_cast<uint8_t*>(image.data());
    for (uint32_t i = 0; i < region_bytes; ++i) bytes[i] = static_cast<uint8_t>((i * 2246822519u + 374761393u) >> 15);
  }
  Launch launch(uint32_t ctas) {
    return {.grid = {ctas},
            .cluster = {ctas},
            .shared_bytes = sizeof(Storage),
            .tensors = {{global.data(), sizeof(global), Access::write, "global"}}};
  }
  uint64_t hash_after(uint32_t cta, uint32_t bytes) const {
    test::Fnv fnv;
    const auto* from = reinterpret_cast<const uint8_t*>(after.data()) + cta * region_bytes;
    for (uint32_t i = 0; i < bytes; ++i) fnv.byte(from[i]);
    return fnv.value();
  }
  uint64_t hash_global(uint32_t bytes) const {
    test::Fnv fnv;
    for (uint32_t i = 0; i < bytes; ++i) fnv.byte(global[i]);
    return fnv.value();
  }
};

Schedule schedule_of(int row) {
  static const std::vector<Schedule> list = schedules();
  return list[static_cast<size_t>(row) % list.size()];
}

// 307 loads, 125 stores, 4 reductions with clipping, 60 im2col columns, 12 multicasts.
TEST(GoldenTma, EveryBoxAsOnH200) {
  auto memory = std::make_unique<Memory>();
  std::map<std::string, int> rows;
  int row_number = 0;
  for (const json& row : test::read_json_lines("h200_tma.jsonl")) {
    const std::string name = row["op"];
    if (name == "reduce_values") continue;
    ++rows[name];
    SCOPED_TRACE(row.dump());
    const bool multicast = name == "multicast", loads = name == "load" || name == "im2col" || multicast;
    const uint32_t bytes = row["bytes"],
                   base = multicast ? row["smem_base"][0].get<uint32_t>() : row["smem_base"].get<uint32_t>();
    memory->tensor_bytes();
    if (loads)
      memory->image.fill(0xcdcdcdcd);
    else
      memory->image_bytes();
    if (name == "store") memory->global.fill(0x11);
    Params p{};
    p.map = make_map(args_of(row, memory->global.data() + row.value("global_offset", 0)));
    p.op = ops.at(name);
    p.rank = static_cast<uint32_t>(row["coords"].size());
    for (size_t d = 0; d < p.rank; ++d) p.c[d] = row["coords"][d];
    for (size_t d = 0; row.contains("offsets") && d < row["offsets"].size(); ++d) p.offsets[d] = row["offsets"][d];
    p.base = base - 1024;
    p.bytes = loads ? bytes : row["smem_bytes"].get<uint32_t>();
    p.at = loads ? row["dst"] : row["src"];
    p.tx = row.value("tx", 0);
    p.mask = multicast ? row["mask"].get<uint32_t>() : 1;
    p.issuer = row.value("issuer", 0);
    p.image = memory->image.data();
    p.after = memory->after.data();
    p.done = memory->done.data();
    ASSERT_LE(p.base + p.bytes, region_bytes);
    expect_clean(run(memory->launch(multicast ? 2 : 1), kernel, p, with(schedule_of(row_number++))));
    if (multicast) {
      for (uint32_t cta = 0; cta < 2; ++cta) {
        EXPECT_EQ(memory->done[cta], row["done"][cta]);
        EXPECT_EQ(memory->hash_after(cta, bytes), test::number(row["fnv"][cta])) << cta;
      }
    } else if (loads) {
      EXPECT_EQ(memory->done[0], row.value("done", 1));
      EXPECT_EQ(memory->hash_after(0, bytes), test::number(row["fnv"]));
    } else {
      EXPECT_EQ(memory->hash_global(bytes), test::number(row["fnv"]));
    }
  }
  EXPECT_EQ(rows,
            (std::map<std::string, int>{
                {"load", 307}, {"store", 125}, {"im2col", 60}, {"multicast", 12}, {"add", 2}, {"max", 1}, {"xor", 1}}));
}

TEST(GoldenTma, EveryReductionAsOnH200) {
  auto memory = std::make_unique<Memory>();
  const std::vector<uint8_t> recorded = test::read_bytes("h200_tma.bin");
  int rows = 0;
  for (json row : test::read_json_lines("h200_tma.jsonl")) {
    if (row["op"] != "reduce_values") continue;
    SCOPED_TRACE(row.dump());
    row["dims"] = row["box"] = json::array({row["count"]});
    row["swizzle"] = 0;
    TensorMapArgs args = args_of(row, memory->global.data());
    const uint32_t bytes = row["count"].get<uint32_t>() * tma_element_bits(args.type) / 8;
    const uint8_t* before = recorded.data() + row["data_offset"].get<size_t>();
    std::memcpy(memory->global.data(), before, bytes);
    std::memcpy(memory->image.data(), before + bytes, bytes);
    Params p{};
    p.map = make_map(args);
    p.op = ops.at(row["red"]);
    p.rank = 1;
    p.bytes = bytes;
    p.image = memory->image.data();
    p.after = memory->after.data();
    p.done = memory->done.data();
    expect_clean(run(memory->launch(1), kernel, p, with(schedule_of(rows++))));
    EXPECT_EQ(std::memcmp(memory->global.data(), before + 2 * bytes, bytes), 0);
  }
  EXPECT_EQ(rows, 27);
}

// The baseline of h200_edges: u16 tensor 64 x 64, stride 128, box {16, 8}, no swizzle, coordinates 0.
TEST(GoldenTma, AFindingWhereTheH200Faulted) {
  struct Edge {
    TensorMapArgs args;
    Op op = Op::load;
    uint32_t rank = 2, at = 0;
    int32_t c[2] = {};
  };
  auto memory = std::make_unique<Memory>();
  const auto edge = [&](auto&& change) {
    Edge e;
    e.args.type = TmaType::u16;
    e.args.address = memory->global.data();
    e.args.dims = {64, 64, 1, 1, 1};
    e.args.strides[0] = 128;
    e.args.box = {16, 8, 1, 1, 1};
    change(e);
    return e;
  };
  const auto typed = [](Edge& e, TmaType type, uint32_t bytes) { e.args.type = type, e.args.box[0] = 32 / bytes; };
  const std::map<std::string, Edge> edges{
      {"load dst 64-byte aligned", edge([](Edge& e) { e.at = 64; })},
      {"load dst 16-byte aligned", edge([](Edge& e) { e.at = 16; })},
      {"load c0=4 u16", edge([](Edge& e) { e.c[0] = 4; })},
      {"load c0=2 u32", edge([&](Edge& e) { typed(e, TmaType::u32, 4), e.c[0] = 2; })},
      {"load c0=-4 u16", edge([](Edge& e) { e.c[0] = -4; })},
      {"load u8 c0=8", edge([&](Edge& e) { typed(e, TmaType::u8, 1), e.c[0] = 8; })},
      {"load 3d instruction with a 2d map", edge([](Edge& e) { e.rank = 3; })},
      {"store c0=-8", edge([](Edge& e) { e.op = Op::store, e.c[0] = -8; })},
      {"store c1=-2", edge([](Edge& e) { e.op = Op::store, e.c[1] = -2; })},
      {"store c0=4 u16", edge([](Edge& e) { e.op = Op::store, e.c[0] = 4; })},
      {"store src 64-byte aligned", edge([](Edge& e) { e.op = Op::store, e.at = 64; })},
      {"store c0 past end", edge([](Edge& e) { e.op = Op::store, e.c[0] = 64; })},
      {"store c1 past end", edge([](Edge& e) { e.op = Op::store, e.c[1] = 64; })},
      {"reduce add c1=-1", edge([&](Edge& e) { typed(e, TmaType::u32, 4), e.op = Op::add, e.c[1] = -1; })},
      {"load elem_strides {2,1}, box {16,8}", edge([](Edge& e) { e.args.element_strides[0] = 2; })},
      {"load elem_strides {3,1}, box {16,8}", edge([](Edge& e) { e.args.element_strides[0] = 3; })},
  };
  size_t used = 0, faulted = 0;
  for (const json& row : test::read_json_lines("h200_edges.jsonl")) {
    if (row["op"] != "tma" || row["encode"] != 0) continue;  // what is not encoded is in units/tma_test
    SCOPED_TRACE(row.dump());
    const Edge& e = edges.at(row["what"]);
    ++used;
    memory->tensor_bytes();
    memory->image.fill(0xcdcdcdcd);
    if (e.op != Op::load) memory->global.fill(0x11);
    Params p{};
    p.map = make_map(e.args);
    p.op = e.op;
    p.rank = e.rank;
    p.c[0] = e.c[0], p.c[1] = e.c[1];
    p.bytes = 4096;
    p.at = e.at;
    p.tx = 256;
    p.mask = 1;
    p.image = memory->image.data();
    p.after = memory->after.data();
    p.done = memory->done.data();
    const Outcome outcome = run(memory->launch(1), kernel, p);
    if (row["result"] == "ok") {
      expect_clean(outcome);
      EXPECT_EQ(e.op == Op::load ? memory->hash_after(0, 4096) : memory->hash_global(8192), test::number(row["fnv"]));
      continue;
    }
    ++faulted;
    ASSERT_EQ(outcome.report.findings.size(), 1u);
    EXPECT_EQ(outcome.report.findings[0].code, "TMA-RULE");
  }
  EXPECT_EQ(used, edges.size());
  EXPECT_EQ(faulted, 12u);
}

}  // namespace
}  // namespace warploom::loom
