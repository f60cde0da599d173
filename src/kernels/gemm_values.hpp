// Elements of any type on the host, by table: what made-up data and its check are fast with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "warploom/kernels/fill.hpp"
#include "warploom/types/dtype.hpp"

namespace warploom {

/// The bits of a value, rounded to nearest as the hardware does; and back.
uint32_t encode_value(DType type, float value);
/// `count` elements of an operand, `stride` elements apart, as double. Those in f32 are tf32: the tensor core ignores
/// the low 13 bits (hardware.md §4.17).
void decode_values(DType type, const std::byte* from, int64_t stride, int64_t count, double* to);
float decode_value(DType type, const std::byte* from);
float decode_bits(DType type, uint32_t bits);
void store_bits(DType type, std::byte* to, uint32_t bits);
uint32_t load_bits(DType type, const std::byte* from);
/// The quiet NaN that conversions make, and that the padding of operands holds.
uint32_t nan_bits(DType type);
/// One that no kernel makes: what D holds where nobody wrote.
uint32_t unwritten_bits(DType type);
void fill_with(DType type, uint32_t bits, std::byte* to, int64_t count);

/// 65536 values that a random 16-bit number picks from. addend: of C and bias.
enum class Values : uint8_t { operand, addend };
const std::vector<float>& value_table(Fill fill, Values kind);
/// The same of integers from 0 to `largest`.
std::vector<float> counting_table(uint32_t largest);

/// The tensors that have random numbers of their own.
enum : uint64_t { stream_a, stream_b, stream_c, stream_bias, stream_a_scales, stream_b_scales };

/// A stream of random numbers of its own for every row of every tensor.
class RowRandom {
 public:
  RowRandom(uint64_t seed, uint64_t tensor, uint64_t row)
      : state_(seed * 0x9e3779b97f4a7c15 + tensor * 0xd1342543de82ef95 + row * 0x2545f4914f6cdd1d) {}
  uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  /// Indices into a value table.
  template <class Use>
  void indices(int64_t count, const Use& use) {
    for (int64_t i = 0; i < count;) {
      uint64_t word = next();
      for (int part = 0; part < 4 && i < count; ++part, ++i, word >>= 16) use(i, static_cast<uint16_t>(word));
    }
  }

 private:
  uint64_t state_;
};

/// body(i) for i in 0 .. count - 1, on all cores where `work`, in elements, is worth it.
void in_parallel(int64_t count, int64_t work, const std::function<void(int64_t)>& body);

}  // namespace warploom
