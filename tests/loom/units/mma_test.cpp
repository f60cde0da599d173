// tcgen05.mma against a reference that knows nothing of descriptors: the test lays out operands itself, element by
// element from the canonical layouts of hardware.md §3.2, and reads D back through the layout table of §4.8.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <optional>
#include <random>

#include "loom/units/mma_kernel.hpp"
#include "loom/units/tensor_core.hpp"
#include "warploom/types/convert.hpp"

namespace warploom::loom {
namespace {

constexpr uint32_t window_bytes = 200 * 1024;

/// A CTA's window that ends at an unmapped page, and its tensor memory.
class Cta {
 public:
  Cta() {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    mapped_ = window_bytes + page;
    base_ = static_cast<std::byte*>(mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(base_ + window_bytes, page, PROT_NONE);
    tmem.assign(128 * 512, 0);
  }
  Cta(const Cta&) = delete;
  Cta& operator=(const Cta&) = delete;
  ~Cta() { munmap(base_, mapped_); }
  std::byte* window() { return base_; }
  MmaMemory memory() { return {base_, window_bytes, tmem.data()}; }
  std::vector<uint32_t> tmem;

 private:
  std::byte* base_;
  size_t mapped_;
};

struct Pair {
  Cta cta[2];
  std::array<MmaMemory, 2> memory() { return {cta[0].memory(), cta[1].memory()}; }
};

float decode(DType type, uint32_t code) {
  switch (type) {
    case DType::e4m3: return to_float(e4m3{static_cast<uint8_t>(code)});
    case DType::e5m2: return to_float(e5m2{static_cast<uint8_t>(code)});
    case DType::bf16: return to_float(bf16{static_cast<uint16_t>(code)});
    default: return to_float(f16{static_cast<uint16_t>(code)});
  }
}

/// A finite code of moderate size.
uint32_t random_code(DType type, std::mt19937& random) {
  const float value =
      std::ldexp(static_cast<float>(static_cast<int>(random() % 31) - 15), static_cast<int>(random() % 4) - 3);
  switch (type) {
    case DType::e4m3: return to_e4m3(value).bits;
    case DType::e5m2: return to_e5m2(value).bits;
    case DType::bf16: return to_bf16(value).bits;
    default: return to_f16(value).bits;
  }
}

struct Shape {
  MmaKind kind;
  DType a, b;
  int group;
  uint32_t m, n;
  Major a_major, b_major;
  Swizzle swizzle;
  bool accumulate;
  bool negate_a = false, negate_b = false;
  uint32_t d = 0;
};

std::string describe(const Shape& s) {
  std::string out = std::string(name_of(s.a)) + "*" + name_of(s.b);
  out += " group " + std::to_string(s.group) + " " + std::to_string(s.m) + "x" + std::to_string(s.n);
  out += s.a_major == Major::k ? " A K-major" : " A M-major";
  out += s.b_major == Major::k ? " B K-major" : " B N-major";
  return out + " span " + std::to_string(swizzle_span(s.swizzle)) + (s.accumulate ? " accumulating" : "");
}

/// Writes `codes`[row][k] as a packed operand at `start`, and says how to describe it.
SmemDescriptorFields place(std::byte* window, uint32_t start, Major major, Swizzle swizzle, uint32_t bytes,
                           const std::vector<std::vector<uint32_t>>& codes) {
  const auto rows = static_cast<uint32_t>(codes.size()), depth = static_cast<uint32_t>(codes[0].size());
  const uint32_t span = swizzle == Swizzle::none ? 16 : swizzle_span(swizzle), atom = span * 8;
  // K-major: atoms of 8 rows x span bytes, row groups adjacent; unswizzled, the two 16-byte halves of K follow.
  // MN-major: atoms of span bytes x 8 k, k groups adjacent within a panel.
  const uint32_t groups = (major == Major::k ? rows : depth) / 8;
  SmemDescriptorFields fields{start, 16, 0, 0, swizzle};
  if (major == Major::k) {
    fields.stride_byte_offset = atom;
    if (swizzle == Swizzle::none) fields.leading_byte_offset = atom * groups;
  } else {
    (swizzle == Swizzle::none ? fields.leading_byte_offset : fields.stride_byte_offset) = atom;
    (swizzle == Swizzle::none ? fields.stride_byte_offset : fields.leading_byte_offset) = atom * groups;
  }
  for (uint32_t row = 0; row < rows; ++row)
    for (uint32_t k = 0; k < depth; ++k) {
      const uint32_t along = (major == Major::k ? k : row) * bytes, line = major == Major::k ? row : k;
      uint32_t address = start + along / span * atom * groups + line / 8 * atom + line % 8 * span + along % span;
      const uint32_t mask = span == 128 ? 7 : span == 64 ? 3 : span == 32 ? 1 : 0;
      address ^= (address >> 7 & mask) << 4;
      std::memcpy(window + address, &codes[row][k], bytes);
    }
  return fields;
}

std::vector<std::vector<uint32_t>> random_matrix(uint32_t rows, uint32_t depth, DType type, std::mt19937& random) {
  std::vector<std::vector<uint32_t>> codes(rows, std::vector<uint32_t>(depth));
  for (auto& row : codes)
    for (uint32_t& code : row) code = random_code(type, random);
  return codes;
}

InstructionDescriptor instruction(const Shape& s) {
  InstructionFields f;
  f.a_type = s.a == DType::e5m2 || s.a == DType::bf16 ? 1 : 0;
  f.b_type = s.b == DType::e5m2 || s.b == DType::bf16 ? 1 : 0;
  f.m = s.m;
  f.n = s.n;
  f.a_major = s.a_major;
  f.b_major = s.b_major;
  f.negate_a = s.negate_a;
  f.negate_b = s.negate_b;
  return encode_instruction(f);
}

/// Where §4.8 puts D(row, column): CTA, and index into its tensor memory.
std::pair<uint32_t, size_t> d_index(const Shape& s, uint32_t row, uint32_t column) {
  uint32_t cta = 0, lane = row, at = column;
  if (s.group == 2) {
    cta = row / (s.m / 2);
    lane = row % (s.m / 2);
    if (s.m == 128 && column >= s.n / 2) {
      lane += 64;
      at -= s.n / 2;
    }
  } else if (s.m == 64) {
    lane = row % 16 + 32 * (row / 16) + (s.d >> 16);
  }
  return {cta, lane * size_t{512} + (s.d & 0xffff) + at};
}

void check(const Shape& s) {
  SCOPED_TRACE(describe(s));
  std::mt19937 random(s.m * 1000 + s.n);
  Pair pair;
  const uint32_t bytes = size_of(s.a), depth = 32 / bytes;
  const auto a = random_matrix(s.m, depth, s.a, random), b = random_matrix(s.n, depth, s.b, random);
  const auto group = static_cast<uint32_t>(s.group);
  SmemDescriptorFields a_fields, b_fields;
  for (uint32_t cta = 0; cta < group; ++cta) {
    const auto part = [&](const auto& codes) {
      const auto share = static_cast<ptrdiff_t>(codes.size() / group);
      return std::vector(codes.begin() + cta * share, codes.begin() + (cta + 1) * share);
    };
    a_fields = place(pair.cta[cta].window(), 1024, s.a_major, s.swizzle, bytes, part(a));
    b_fields = place(pair.cta[cta].window(), 66 * 1024, s.b_major, s.swizzle, bytes, part(b));
    for (uint32_t& word : pair.cta[cta].tmem) word = std::bit_cast<uint32_t>(static_cast<float>(random() % 4096) / 64);
  }
  std::vector<uint32_t> before[2] = {pair.cta[0].tmem, pair.cta[1].tmem};

  const auto op = decode_mma(s.kind, s.group, s.d, encode_smem_descriptor(a_fields), encode_smem_descriptor(b_fields),
                             instruction(s), s.accumulate);
  ASSERT_TRUE(op) << op.error();
  EXPECT_EQ(op->k, depth);
  for (const bool operand_b : {false, true}) ASSERT_LE(operand_range(*op, operand_b).end, window_bytes);
  execute_mma(*op, pair.memory().data());

  const auto decoded = [](DType type, const auto& codes, float sign) {
    std::vector<std::vector<float>> values;
    for (const auto& row : codes) {
      values.emplace_back();
      for (const uint32_t code : row) values.back().push_back(sign * decode(type, code));
    }
    return values;
  };
  const auto a_values = decoded(s.a, a, s.negate_a != s.negate_b ? -1.0f : 1.0f), b_values = decoded(s.b, b, 1.0f);
  int wrong = 0;
  for (uint32_t row = 0; row < s.m; ++row)
    for (uint32_t column = 0; column < s.n; ++column) {
      const auto [cta, index] = d_index(s, row, column);
      float sum = s.accumulate ? std::bit_cast<float>(before[cta][index]) : 0.0f;
      double exact = sum;
      for (uint32_t k = 0; k < depth; ++k) {
        const float x = a_values[row][k], y = b_values[column][k];
        sum = std::fma(x, y, sum);
        exact += double{x} * double{y};
      }
      const float got = std::bit_cast<float>(pair.cta[cta].tmem[index]);
      if (got != sum || std::abs(double{got} - exact) > 1e-3 * (1 + std::abs(exact))) {
        if (wrong++ < 3) ADD_FAILURE() << "D(" << row << "," << column << ") is " << got << ", not " << sum;
      }
      before[cta][index] = pair.cta[cta].tmem[index];
    }
  // Nothing else in tensor memory changed.
  EXPECT_TRUE(before[0] == pair.cta[0].tmem);
  EXPECT_TRUE(before[1] == pair.cta[1].tmem);
}

TEST(Mma, AllShapesAndMajors) {
  for (const int group : {1, 2})
    for (const uint32_t rows : {64u, 128u})
      for (const uint32_t n : {8u, 16u, 24u, 32u, 48u, 64u, 120u, 128u, 240u, 256u})
        for (const Major a_major : {Major::k, Major::mn})
          for (const Major b_major : {Major::k, Major::mn}) {
            if (n % (8 * static_cast<uint32_t>(group)) != 0) continue;
            const uint32_t m = rows * static_cast<uint32_t>(group);
            // The packed MN-major tile needs a whole panel; narrower spans have narrower panels.
            const uint32_t n_share = n / static_cast<uint32_t>(group);
            Swizzle swizzle = Swizzle::b128;
            if (b_major == Major::mn)
              swizzle = n_share % 64 == 0   ? Swizzle::b128
                        : n_share % 32 == 0 ? Swizzle::b64
                        : n_share % 16 == 0 ? Swizzle::b32
                                            : Swizzle::none;
            check({MmaKind::f16, DType::bf16, DType::bf16, group, m, n, a_major, b_major, swizzle, true});
            if (b_major == Major::mn) {
              if (n_share % 16 != 0) continue;
              swizzle = n_share % 128 == 0  ? Swizzle::b128
                        : n_share % 64 == 0 ? Swizzle::b64
                        : n_share % 32 == 0 ? Swizzle::b32
                                            : Swizzle::none;
            }
            if (a_major == Major::mn && rows == 64 && swizzle == Swizzle::b128) swizzle = Swizzle::b64;
            check({MmaKind::f8f6f4, DType::e4m3, DType::e4m3, group, m, n, a_major, b_major, swizzle, false});
          }
}

TEST(Mma, AllTypesSwizzlesAndSigns) {
  for (const Swizzle swizzle : {Swizzle::none, Swizzle::b32, Swizzle::b64, Swizzle::b128})
    for (const Major major : {Major::k, Major::mn}) {
      for (const DType a : {DType::e4m3, DType::e5m2})
        for (const DType b : {DType::e4m3, DType::e5m2})
          check({MmaKind::f8f6f4, a, b, 1, 128, 128, major, major, swizzle, true});
      for (const DType type : {DType::f16, DType::bf16})
        check({MmaKind::f16, type, type, 2, 256, 256, major, major, swizzle, false});
    }
  for (const bool negate_a : {false, true})
    for (const bool negate_b : {false, true})
      check({MmaKind::f8f6f4, DType::e4m3, DType::e4m3, 1, 128, 64, Major::k, Major::k, Swizzle::b128, true, negate_a,
             negate_b});
}

TEST(Mma, AccumulatorAddress) {
  const auto at = [](int group, uint32_t m, uint32_t n, uint32_t d) {
    check({MmaKind::f8f6f4, DType::e4m3, DType::e4m3, group, m, n, Major::k, Major::k, Swizzle::b128, true, false,
           false, d});
  };
  at(1, 128, 128, 384);
  at(1, 64, 64, 16 << 16 | 100);
  at(1, 64, 256, 256);
  at(2, 128, 256, 384);
  at(2, 256, 256, 256);
}

TEST(Mma, IllegalInstructionsAreSentences) {
  const Shape base{MmaKind::f8f6f4, DType::e4m3, DType::e4m3, 1, 128, 128, Major::k, Major::k, Swizzle::b128, false};
  const SmemDescriptorFields fields{1024, 16, 1024, 0, Swizzle::b128};
  const SmemDescriptor good = encode_smem_descriptor(fields);
  const uint32_t idesc = instruction(base).bits;
  const auto decode_with = [&](MmaKind kind, int group, uint32_t d, uint32_t bits) {
    return decode_mma(kind, group, d, good, good, {bits}, false);
  };
  ASSERT_TRUE(decode_with(MmaKind::f8f6f4, 1, 0, idesc));
  const auto rejected = [](const Result<MmaOperation>& op, const char* what) {
    EXPECT_FALSE(op) << what;
    if (!op) {
      EXPECT_TRUE(op.error().ends_with(".")) << op.error();
    }
  };
  rejected(decode_with(MmaKind::tf32, 1, 0, idesc), "tf32 of e4m3");
  rejected(decode_with(MmaKind::i8, 1, 0, idesc), "i8 with an f32 accumulator");
  rejected(decode_with(static_cast<MmaKind>(9), 1, 0, idesc), "kind 9");
  for (const int group : {-1, 0, 3}) rejected(decode_with(MmaKind::f8f6f4, group, 0, idesc), "group");
  for (const int bit : {0, 1, 2, 3, 6, 23, 29, 30, 31})
    rejected(decode_with(MmaKind::f8f6f4, 1, 0, idesc | 1u << bit), ("bit " + std::to_string(bit)).c_str());
  EXPECT_TRUE(decode_with(MmaKind::f8f6f4, 1, 0, idesc & ~(3u << 4))) << "f16 accumulator";
  rejected(decode_with(MmaKind::f8f6f4, 1, 0, (idesc & ~(3u << 4)) | 2u << 4), "s32 accumulator");
  for (uint32_t code = 2; code < 8; ++code) {
    const bool narrow = code >= 3 && code <= 5;
    EXPECT_EQ(static_cast<bool>(decode_with(MmaKind::f8f6f4, 1, 0, idesc | code << 7)), narrow) << "A type " << code;
    EXPECT_EQ(static_cast<bool>(decode_with(MmaKind::f8f6f4, 1, 0, idesc | code << 10)), narrow) << "B type " << code;
    rejected(decode_with(MmaKind::f16, 1, 0, idesc | code << 7 | code << 10), "16-bit type");
  }
  rejected(decode_with(MmaKind::f16, 1, 0, idesc | 1u << 7), "bf16 times f16");

  const auto shaped = [&](int group, uint32_t m, uint32_t n, Major b_major) {
    Shape s = base;
    s.m = m, s.n = n, s.b_major = b_major;
    return decode_with(MmaKind::f8f6f4, group, 0, instruction(s).bits);
  };
  for (const uint32_t m : {0u, 16u, 32u, 96u, 192u, 256u, 496u}) rejected(shaped(1, m, 128, Major::k), "M");
  for (const uint32_t m : {0u, 64u, 192u, 384u}) rejected(shaped(2, m, 128, Major::k), "M of a pair");
  for (const uint32_t n : {0u, 264u, 504u}) rejected(shaped(1, 128, n, Major::k), "N");
  for (const uint32_t n : {8u, 24u, 248u, 272u}) rejected(shaped(2, 256, n, Major::k), "N of a pair");
  for (const uint32_t n : {8u, 24u}) rejected(shaped(1, 128, n, Major::mn), "N-major N");
  for (const uint32_t n : {16u, 48u}) rejected(shaped(2, 256, n, Major::mn), "N-major N of a pair");

  for (const uint32_t d : {1u << 16, 16u << 16, 127u << 16, 1u << 23, 385u, 512u, 0xffffu})
    rejected(decode_with(MmaKind::f8f6f4, 1, d, idesc), ("d " + std::to_string(d)).c_str());
  EXPECT_TRUE(decode_with(MmaKind::f8f6f4, 1, 0xff000000 | 384, idesc)) << "the top byte is no part of the address";
  const SmemDescriptor atoms = encode_smem_descriptor({1024, 16, 1024, 0, Swizzle::b128_atom32});
  rejected(decode_mma(MmaKind::f8f6f4, 1, 0, atoms, good, {idesc}, false), "atoms in A");
  rejected(decode_mma(MmaKind::f8f6f4, 1, 0, good, atoms, {idesc}, false), "atoms in B");
  rejected(decode_mma(MmaKind::f8f6f4, 1, 0, {}, good, {idesc}, false), "empty A");
  rejected(decode_mma(MmaKind::f8f6f4, 1, 0, good, {}, {idesc}, false), "empty B");
}

TEST(Mma, EveryKernelGivesTheSameBits) {
  std::mt19937 random(7);
  std::vector<float> a(128 * 32), b(32 * mma_b_pitch);
  // Wide exponents make the order of the sum visible; a few specials make NaN and infinity.
  const auto draw = [&] {
    const uint32_t pick = random() % 4096;
    if (pick == 0) return INFINITY;
    if (pick == 1) return std::bit_cast<float>(0xffc12345u);
    return std::ldexp(static_cast<float>(random() % 65536) - 32768.0f, static_cast<int>(random() % 40) - 36);
  };
  for (float& value : a) value = draw();
  for (float& value : b) value = draw();
  std::vector<uint32_t> start(128 * 512);
  for (uint32_t& word : start) word = std::bit_cast<uint32_t>(draw());
  int kernels = 0;
  for (const uint32_t n : {8u, 16u, 24u, 32u, 40u, 56u, 128u, 256u})
    for (const uint32_t k : {16u, 32u})
      for (const bool accumulate : {false, true}) {
        std::optional<std::vector<uint32_t>> expected;
        for (const MmaIsa isa : {MmaIsa::portable, MmaIsa::avx2, MmaIsa::avx512}) {
          const MmaKernel kernel = mma_kernel(isa);
          if (kernel == nullptr) continue;
          ++kernels;
          std::vector<uint32_t> d = start;
          kernel({a.data(), b.data(), d.data(), 48, n, k, accumulate});
          if (!expected) expected = d;
          EXPECT_TRUE(d == *expected) << "isa " << static_cast<int>(isa) << " n " << n << " k " << k;
        }
      }
  EXPECT_GE(kernels, 32);
  EXPECT_NE(best_mma_kernel(), nullptr);
}

// The instruction's own order: an fma chain over ascending k, D first. These values tell it from any other order.
TEST(Mma, SumsInAscendingOrder) {
  std::vector<float> a(8 * 16, 0.0f), b(16 * mma_b_pitch, 1.0f);
  std::vector<uint32_t> d(8 * 512, std::bit_cast<uint32_t>(0x1p24f));
  for (uint32_t row = 0; row < 8; ++row) {
    a[row * 16 + 0] = 1.0f;  // lost in 2^24: ties to even
    a[row * 16 + 1] = -0x1p24f;
    a[row * 16 + 2] = 1.0f;
  }
  for (const MmaIsa isa : {MmaIsa::portable, MmaIsa::avx2, MmaIsa::avx512}) {
    std::vector<uint32_t> sums = d;
    const MmaKernel kernel = mma_kernel(isa);
    if (kernel == nullptr) continue;
    kernel({a.data(), b.data(), sums.data(), 8, 8, 16, true});
    EXPECT_EQ(std::bit_cast<float>(sums[0]), 1.0f);
  }
}

// Halves go through a conversion of their own: every code, as A with B = 1.
TEST(Mma, EveryHalfIsConverted) {
  Pair pair;
  const Shape s{MmaKind::f16, DType::f16, DType::f16, 1, 128, 8, Major::k, Major::k, Swizzle::b128, false};
  std::vector<std::vector<uint32_t>> b(8, std::vector<uint32_t>(16, 0)), a(128, std::vector<uint32_t>(16, 0));
  for (uint32_t k = 0; k < 8; ++k) b[k][k] = to_f16(1.0f).bits;  // D(row, n) = A(row, n)
  const SmemDescriptorFields b_fields = place(pair.cta[0].window(), 66 * 1024, Major::k, s.swizzle, 2, b);
  for (uint32_t first = 0; first < 65536; first += 1024) {
    for (uint32_t i = 0; i < 1024; ++i) a[i / 8][i % 8] = first + i;
    const SmemDescriptorFields a_fields = place(pair.cta[0].window(), 1024, Major::k, s.swizzle, 2, a);
    const auto op = decode_mma(s.kind, 1, 0, encode_smem_descriptor(a_fields), encode_smem_descriptor(b_fields),
                               instruction(s), false);
    ASSERT_TRUE(op) << op.error();
    execute_mma(*op, pair.memory().data());
    for (uint32_t i = 0; i < 1024; ++i) {
      const float value = to_float(f16{static_cast<uint16_t>(first + i)});
      const float got = std::bit_cast<float>(pair.cta[0].tmem[i / 8 * 512 + i % 8]);
      // An infinity or NaN anywhere in the row makes inf * 0 of the other columns.
      const bool finite = ((first + i / 8 * 8) & 0x7c00) != 0x7c00;
      if (finite) {
        ASSERT_EQ(got, value) << "code " << first + i;
      } else {
        ASSERT_FALSE(std::isfinite(got)) << "code " << first + i;
      }
    }
  }
}

// Any 200000 patterns: no crash, and nothing read outside what operand_range() says.
TEST(Mma, RandomDescriptors) {
  std::mt19937_64 random(2024);
  Pair pair;
  for (Cta& cta : pair.cta)
    for (uint32_t i = 0; i < window_bytes; ++i) cta.window()[i] = std::byte(random() & 255);
  const auto memory = pair.memory();
  int accepted = 0, executed = 0, ranges = 0;
  for (int round = 0; round < 200000; ++round) {
    const int group = 1 + static_cast<int>(random() & 1);
    auto kind = static_cast<MmaKind>(random() % 5);
    SmemDescriptor a{random()}, b{random()};
    InstructionDescriptor idesc{static_cast<uint32_t>(random())};
    auto d = static_cast<uint32_t>(random());
    if (round % 2 == 0) {
      // Almost legal: arbitrary fields in legal places, now and then one bit off.
      const uint64_t used = uint64_t{0x3fff} | uint64_t{0x3fff} << 16 | uint64_t{0x3fff} << 32 | uint64_t{7} << 49;
      // Small strides half of the time, or hardly any operand would lie within the window.
      const uint64_t kept = random() % 2 == 0 ? used : used & ~(uint64_t{0x3fc0} << 16 | uint64_t{0x3fc0} << 32);
      const uint64_t codes[] = {0, 2, 4, 6};
      a.bits = (a.bits & kept) | uint64_t{1} << 46 | codes[random() & 3] << 61;
      b.bits = (b.bits & kept) | uint64_t{1} << 46 | codes[random() & 3] << 61;
      kind = (random() & 1) != 0 ? MmaKind::f16 : MmaKind::f8f6f4;
      InstructionFields f = decode_instruction(idesc);
      const auto type = static_cast<uint32_t>(random() & 1);
      f = {1, type, type, f.negate_a, f.negate_b, f.a_major, f.b_major, 64u << (random() % 3), f.n, false, false, 0, 0};
      idesc = encode_instruction(f);
      d = static_cast<uint32_t>(random() % 600);
      if (random() % 8 == 0) idesc.bits ^= 1u << random() % 32;
      if (random() % 8 == 0) a.bits ^= uint64_t{1} << random() % 64;
      if (random() % 8 == 0) d ^= 1u << random() % 32;
    }
    const auto op = decode_mma(kind, group, d, a, b, idesc, (random() & 1) != 0);
    if (!op) {
      ASSERT_FALSE(op.error().empty());
      continue;
    }
    ++accepted;
    bool inside = true;
    for (const bool operand_b : {false, true}) {
      const SharedRange range = operand_range(*op, operand_b);
      ASSERT_LT(range.begin, range.end);
      ASSERT_LE(range.end, 1u << 18);
      inside = inside && range.end <= window_bytes;
      if (accepted % 64 != 0 || block_scaled(kind) || kind == MmaKind::tf32) continue;
      ++ranges;
      uint32_t low = ~0u, high = 0;
      const uint32_t rows = (operand_b ? op->n : op->m) / static_cast<uint32_t>(group);
      const uint32_t bytes = bits_of(operand_b ? op->b_type : op->a_type) == 16 ? 2 : 1;
      for (uint32_t row = 0; row < rows; ++row)
        for (uint32_t k = 0; k < op->k; ++k) {
          const uint32_t at =
              operand_address(operand_b ? op->b : op->a, operand_b ? op->b_major : op->a_major, bytes, row, k);
          low = std::min(low, at);
          high = std::max(high, at + bytes);
        }
      ASSERT_EQ(range.begin, low);
      ASSERT_EQ(range.end, high);
    }
    if (!inside) continue;
    ++executed;
    execute_mma(*op, memory.data());  // the page after the window is not mapped
  }
  RecordProperty("accepted", accepted);
  RecordProperty("executed", executed);
  EXPECT_GT(accepted, 5000);
  EXPECT_GT(executed, 2000);
  EXPECT_GT(ranges, 100);
}

}  // namespace
}  // namespace warploom::loom
