#include "reduction.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "loom/units/unconfirmed.hpp"
#include "warploom/types/convert.hpp"

namespace warploom::loom {
namespace {

template <class T>
T combine_integers(Reduction operation, T old, T source) {
  using Bits = std::make_unsigned_t<T>;
  const auto wrap = [](Bits value) { return static_cast<T>(value); };
  switch (operation) {
    case Reduction::add: return wrap(static_cast<Bits>(old) + static_cast<Bits>(source));
    case Reduction::min: return source < old ? source : old;
    case Reduction::max: return source > old ? source : old;
    case Reduction::inc: return old >= source ? T{0} : wrap(static_cast<Bits>(old) + 1);
    case Reduction::dec: return old == 0 || old > source ? source : wrap(static_cast<Bits>(old) - 1);
    case Reduction::bit_and: return wrap(static_cast<Bits>(old) & static_cast<Bits>(source));
    case Reduction::bit_or: return wrap(static_cast<Bits>(old) | static_cast<Bits>(source));
    case Reduction::bit_xor: return wrap(static_cast<Bits>(old) ^ static_cast<Bits>(source));
  }
  return old;
}

uint32_t flushed(uint32_t bits) { return (bits & 0x7f800000u) == 0 ? bits & 0x80000000u : bits; }

uint32_t add_f32(uint32_t old, uint32_t source, bool flush) {
  if (flush) old = flushed(old), source = flushed(source);
  const float sum = std::bit_cast<float>(old) + std::bit_cast<float>(source);
  if (std::isnan(sum)) return 0x7fffffffu;
  return flush ? flushed(std::bit_cast<uint32_t>(sum)) : std::bit_cast<uint32_t>(sum);
}

uint64_t add_f64(uint64_t old, uint64_t source) {
  const double sum = std::bit_cast<double>(old) + std::bit_cast<double>(source);
  return std::isnan(sum) ? unconfirmed::f64_sum_nan : std::bit_cast<uint64_t>(sum);
}

/// f16 and bf16. A sum in f32 is exact or close enough that rounding it once more is as good as rounding once.
template <class T, class Round>
uint16_t combine_halves(Reduction operation, uint16_t old_bits, uint16_t source_bits, Round&& round) {
  const float old = to_float(T{old_bits}), source = to_float(T{source_bits});
  if (operation == Reduction::add) return round(old + source).bits;
  if (std::isnan(old) || std::isnan(source)) {
    if (std::isnan(old) && std::isnan(source)) return 0x7fff;
    return std::isnan(old) ? source_bits : old_bits;
  }
  const bool smaller = operation == Reduction::min;
  if (unconfirmed::minus_zero_is_less && old == source) return (std::signbit(old) == smaller) ? old_bits : source_bits;
  return (source < old) == smaller ? source_bits : old_bits;
}

template <class T, class Combine>
void each(std::byte* destination, const std::byte* source, size_t bytes, Combine&& combine) {
  for (size_t at = 0; at + sizeof(T) <= bytes; at += sizeof(T)) {
    T old, given;
    std::memcpy(&old, destination + at, sizeof(T));
    std::memcpy(&given, source + at, sizeof(T));
    old = combine(old, given);
    std::memcpy(destination + at, &old, sizeof(T));
  }
}

template <class T>
void reduce_integers(Reduction operation, std::byte* destination, const std::byte* source, size_t bytes) {
  each<T>(destination, source, bytes, [&](T old, T given) { return combine_integers(operation, old, given); });
}

}  // namespace

TensorReduction tensor_reduction(Reduction operation, TmaType type) {
  const bool bitwise =
      operation == Reduction::bit_and || operation == Reduction::bit_or || operation == Reduction::bit_xor;
  TensorReduction result;
  bool known = true;
  switch (type) {
    case TmaType::u32: result.type = bitwise ? ReductionType::b32 : ReductionType::u32; break;
    case TmaType::s32: result.type = bitwise ? ReductionType::b32 : ReductionType::s32; break;
    case TmaType::u64: result.type = bitwise ? ReductionType::b64 : ReductionType::u64; break;
    case TmaType::s64: result.type = bitwise ? ReductionType::b64 : ReductionType::s64; break;
    case TmaType::f16: result.type = ReductionType::f16; break;
    case TmaType::bf16: result.type = ReductionType::bf16; break;
    case TmaType::f32: result.type = ReductionType::f32; break;
    case TmaType::f32_ftz: result.type = ReductionType::f32_ftz; break;
    default: known = false; break;
  }
  const bool flushing_add = result.type == ReductionType::f32_ftz && operation == Reduction::add;
  if (!known || (!flushing_add && !reduces_in_global(operation, result.type)))
    result.broken = fmt::format(
        "A tensor reduction with .{} does not exist for this type of tensor map: add takes u32, s32, u64, f32, f16 and "
        "bf16, min and max integers of 32 and 64 bits, f16 and bf16, inc and dec u32, and, or and xor integers.",
        name_of(operation));
  return result;
}

void reduce(Reduction operation, ReductionType type, std::byte* destination, const std::byte* source, size_t bytes) {
  switch (type) {
    case ReductionType::u32:
    case ReductionType::b32: return reduce_integers<uint32_t>(operation, destination, source, bytes);
    case ReductionType::s32: return reduce_integers<int32_t>(operation, destination, source, bytes);
    case ReductionType::u64:
    case ReductionType::b64: return reduce_integers<uint64_t>(operation, destination, source, bytes);
    case ReductionType::s64: return reduce_integers<int64_t>(operation, destination, source, bytes);
    case ReductionType::f32:
    case ReductionType::f32_ftz:
      return each<uint32_t>(destination, source, bytes, [&](uint32_t old, uint32_t given) {
        return add_f32(old, given, type == ReductionType::f32_ftz);
      });
    case ReductionType::f64: return each<uint64_t>(destination, source, bytes, add_f64);
    case ReductionType::f16:
      return each<uint16_t>(destination, source, bytes, [&](uint16_t old, uint16_t given) {
        return combine_halves<f16>(operation, old, given, [](float sum) { return to_f16(sum); });
      });
    case ReductionType::bf16:
      return each<uint16_t>(destination, source, bytes, [&](uint16_t old, uint16_t given) {
        return combine_halves<bf16>(operation, old, given, [](float sum) { return to_bf16(sum); });
      });
  }
}

}  // namespace warploom::loom
