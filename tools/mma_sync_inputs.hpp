// The operands of the products that tools/mma_sync.cu records, made from their indices: the GPU and whoever compares
// make the same ones.
//
//   const uint32_t code = mma_element(MmaType::bf16, {.profile = 1, .tile = 7, .k = 16}, operand_a, row, k);
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define WARPLOOM_BOTH __host__ __device__
#else
#define WARPLOOM_BOTH
#endif

namespace mma_inputs {

enum class Type : uint8_t { f16, bf16, tf32, e4m3, e5m2, s8, u8, f32, s32 };
enum Operand : uint32_t { operand_a, operand_b, operand_c };
/// moderate, any exponent, products that cancel, subnormal, special values, near the largest, one far larger product,
/// small integers, mostly zeros
constexpr uint32_t profiles = 9;

struct Tile {
  uint32_t profile, tile, k;
  Type a;  ///< decides how far the exponents of C reach
};

struct Format {
  uint32_t exponent_bits, mantissa_bits, unused_bits;
};
constexpr WARPLOOM_BOTH Format format_of(Type type) {
  switch (type) {
    case Type::f16: return {5, 10, 0};
    case Type::bf16: return {8, 7, 0};
    case Type::tf32: return {8, 10, 13};
    case Type::e4m3: return {4, 3, 0};
    case Type::e5m2: return {5, 2, 0};
    case Type::f32: return {8, 23, 0};
    default: return {0, 0, 0};
  }
}

constexpr WARPLOOM_BOTH uint32_t mixed(uint32_t x) {
  x = (x ^ x >> 16) * 0x7feb352du;
  x = (x ^ x >> 15) * 0x846ca68bu;
  return x ^ x >> 16;
}
constexpr WARPLOOM_BOTH uint32_t hash(uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  return mixed(mixed(mixed(mixed(a + 0x9e3779b9u) + b) + c) + d);
}

constexpr WARPLOOM_BOTH uint32_t assemble(Format format, uint32_t sign, int field, uint32_t mantissa, uint32_t below) {
  const int largest = (1 << format.exponent_bits) - 1;
  // e4m3 has numbers where others have infinities.
  const int last = format.exponent_bits == 4 ? largest : largest - 1;
  field = field < 0 ? 0 : field > last ? last : field;
  mantissa &= (1u << format.mantissa_bits) - 1;
  if (format.exponent_bits == 4 && field == largest && mantissa == 7) mantissa = 6;
  const uint32_t code =
      (sign << format.exponent_bits | static_cast<uint32_t>(field)) << format.mantissa_bits | mantissa;
  return code << format.unused_bits | (below & ((1u << format.unused_bits) - 1));
}

constexpr WARPLOOM_BOTH uint32_t special(Type type, uint32_t which) {
  const Format f = format_of(type);
  const uint32_t sign = which & 1, exponents = (1u << f.exponent_bits) - 1, quiet = 1u << (f.mantissa_bits - 1);
  const uint32_t ones = (1u << f.mantissa_bits) - 1;
  uint32_t code = 0;
  switch (which >> 1 & 7) {
    case 0: code = 0; break;
    case 1: code = exponents << f.mantissa_bits | (f.exponent_bits == 4 ? 6 : 0); break;  // infinity, e4m3: 448
    case 2: code = exponents << f.mantissa_bits | (f.exponent_bits == 4 ? 7 : which >> 4 & 1 ? quiet : 1); break;
    case 3: code = (exponents - 1) << f.mantissa_bits | ones; break;
    case 4: code = 1; break;
    case 5: code = ones; break;
    case 6: code = 1u << f.mantissa_bits; break;
    default: code = 0; break;
  }
  return (sign << (f.exponent_bits + f.mantissa_bits) | code) << f.unused_bits;
}

/// The code of A's element (i, k), B's (k, i) or C's (i, k: row, column).
constexpr WARPLOOM_BOTH uint32_t element(Type type, const Tile& tile, Operand operand, uint32_t i, uint32_t k) {
  const uint32_t seed = tile.profile * 0x10000000u + static_cast<uint32_t>(type) * 0x1000000u + operand * 0x400000u;
  const uint32_t own = hash(seed, tile.tile, i, k), more = mixed(own + 1);
  const uint32_t sign = own >> 31;
  if (type == Type::s8 || type == Type::u8) {
    const uint32_t byte = tile.profile == 7   ? more % 7 - (type == Type::s8 ? 3 : 0)
                          : tile.profile == 5 ? (own & 1 ? 0x7f : 0x80) + (more & 1)
                                              : more;
    return tile.profile == 8 && (own & 3) != 0 ? 0 : byte & 0xff;
  }
  if (type == Type::s32) {
    // Near the largest numbers often: the sum wraps or is clamped.
    const uint32_t near = (sign != 0 ? 0x80000000u : 0x7fffffffu) ^ (more & 0xffff);
    return tile.profile == 5 || (tile.profile == 1 && (own & 1) != 0) ? near : more >> (own & 15);
  }
  const Format f = format_of(type);
  const int bias = (1 << (f.exponent_bits - 1)) - 1, fields = 1 << f.exponent_bits;
  const auto random = [own](uint32_t n) { return static_cast<int>((own & 0xffffff) % n); };
  const bool narrow = format_of(tile.a).exponent_bits < 8;  // the operands' exponents: C stays near their products'
  int field = bias + random(7) - 3;
  uint32_t mantissa = more;
  uint32_t sign_here = sign;
  switch (tile.profile) {
    case 1:
      // Every other tile without the outermost exponents, which let few sums stay finite.
      field = (tile.tile & 1) != 0   ? random(static_cast<uint32_t>(fields))
              : f.exponent_bits == 8 ? bias - 45 + random(91)
              : f.exponent_bits == 5 ? bias - 9 + random(14)
                                     : random(16);
      if (operand == operand_c && f.exponent_bits == 8 && narrow) field = bias - 30 + random(61);
      break;
    case 2:  // elements 2 n and 2 n + 1 of A are opposite, of B nearly the same
      if (operand != operand_c) {
        const uint32_t pair = hash(seed, tile.tile, i, k >> 1), pair_more = mixed(pair + 1);
        field = bias + static_cast<int>((pair & 0xffffff) % 9) - 4;
        mantissa = operand == operand_a ? pair_more : pair_more ^ (own & 1);
        sign_here = (pair >> 31) ^ (operand == operand_a ? k & 1 : 0);
      } else {
        field = bias - random(24);
      }
      break;
    case 3:
      if (operand == operand_c)
        field = f.exponent_bits == 8 ? (narrow ? bias - 50 + random(31) : random(13)) : random(3);
      else
        field = f.exponent_bits == 8 ? ((more >> 28) == 0 ? random(3) : 48 + random(21)) : random(4);
      break;
    case 4:
      if ((more >> 29) == 0) return special(type, own);
      break;
    case 5:
      if (operand == operand_c)
        field = fields - 2 - random(f.exponent_bits == 8 ? 20 : 4);
      else
        field = f.exponent_bits == 8   ? bias + 50 + random(19)
                : f.exponent_bits == 5 ? bias + 3 + random(7)
                                       : 15 - random(4);
      break;
    case 6: {  // how far: by the tile; which: by the row
      const int far = static_cast<int>(mixed(tile.tile) % 33);
      const uint32_t which = mixed(i + tile.tile * 77u) % (tile.k + 1);
      if (operand == operand_c)
        field = bias + random(3) - 1 + (which == tile.k ? far : 0);
      else
        field = bias + random(3) - 1 + (operand == operand_a && k == which ? far : 0);
      break;
    }
    case 7: {
      if (f.exponent_bits == 4 || operand == operand_c) {
        field = bias + random(3);
        mantissa = more << (f.mantissa_bits - 2);
      } else {
        field = bias + random(4);
        mantissa = more << (f.mantissa_bits - 1);
      }
      break;
    }
    case 8:
      if ((own >> 24 & 7) != 0) return sign << (f.exponent_bits + f.mantissa_bits + f.unused_bits);
      field = random(static_cast<uint32_t>(fields));
      if (operand == operand_c && f.exponent_bits == 8 && narrow) field = bias - 60 + random(90);
      break;
    default: break;
  }
  return assemble(f, sign_here, field, mantissa, more >> 8);
}

}  // namespace mma_inputs
