#include "kernels/gemm_values.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <thread>

#include "warploom/types/convert.hpp"

namespace warploom {
namespace {

template <class T>
std::vector<float> decoded(size_t codes) {
  std::vector<float> table(codes);
  for (size_t code = 0; code < codes; ++code) table[code] = to_float(T{static_cast<decltype(T::bits)>(code)});
  return table;
}

const std::vector<float>& table_of(DType type) {
  static const std::vector<float> of_e4m3 = decoded<e4m3>(256), of_e5m2 = decoded<e5m2>(256),
                                  of_f16 = decoded<f16>(65536), of_bf16 = decoded<bf16>(65536);
  switch (type) {
    case DType::e4m3: return of_e4m3;
    case DType::e5m2: return of_e5m2;
    case DType::f16: return of_f16;
    default: return of_bf16;
  }
}

template <class Code>
void decode_codes(const std::vector<float>& table, const std::byte* from, int64_t stride, int64_t count, double* to) {
  for (int64_t i = 0; i < count; ++i) {
    Code code;
    std::memcpy(&code, from + i * stride * static_cast<int64_t>(sizeof(Code)), sizeof(Code));
    to[i] = table[code];
  }
}

/// Quantiles of the standard normal distribution, by Newton's method from one to the next.
std::vector<float> normal_table() {
  constexpr size_t half = 32768;
  std::vector<float> table(2 * half);
  double x = 0;
  for (size_t i = 0; i < half; ++i) {
    const double p = (static_cast<double>(half + i) + 0.5) / (2.0 * half);
    for (int step = 0; step < 4; ++step) {
      const double error = 0.5 * std::erfc(-x * M_SQRT1_2) - p;
      x -= error / (std::exp(-0.5 * x * x) * M_SQRT1_2 / std::sqrt(M_PI));
    }
    table[half + i] = static_cast<float>(x);
    table[half - 1 - i] = static_cast<float>(-x);
  }
  return table;
}

std::vector<float> uniform_table() {
  std::vector<float> table(65536);
  for (size_t i = 0; i < table.size(); ++i) table[i] = (static_cast<float>(i) + 0.5f) / 32768.0f - 1.0f;
  return table;
}

std::vector<float> integer_table(int limit) {
  std::vector<float> table(65536);
  for (size_t i = 0; i < table.size(); ++i)
    table[i] = static_cast<float>(static_cast<int>(i % static_cast<size_t>(2 * limit + 1)) - limit);
  return table;
}

}  // namespace

uint32_t encode_value(DType type, float value) {
  switch (type) {
    case DType::e4m3: return to_e4m3(value).bits;
    case DType::e5m2: return to_e5m2(value).bits;
    case DType::bf16: return to_bf16(value).bits;
    case DType::f16: return to_f16(value).bits;
    case DType::f32: break;
  }
  return std::bit_cast<uint32_t>(value);
}

void decode_values(DType type, const std::byte* from, int64_t stride, int64_t count, double* to) {
  if (type == DType::f32)
    for (int64_t i = 0; i < count; ++i) {
      uint32_t bits = 0;
      std::memcpy(&bits, from + i * stride * 4, 4);
      to[i] = std::bit_cast<float>(bits & ~0x1fffu);
    }
  else if (size_of(type) == 1)
    decode_codes<uint8_t>(table_of(type), from, stride, count, to);
  else
    decode_codes<uint16_t>(table_of(type), from, stride, count, to);
}

float decode_bits(DType type, uint32_t bits) {
  return type == DType::f32 ? std::bit_cast<float>(bits) : table_of(type)[bits];
}

float decode_value(DType type, const std::byte* from) { return decode_bits(type, load_bits(type, from)); }

void store_bits(DType type, std::byte* to, uint32_t bits) {
  static_assert(std::endian::native == std::endian::little);
  std::memcpy(to, &bits, size_of(type));
}

uint32_t load_bits(DType type, const std::byte* from) {
  uint32_t bits = 0;
  std::memcpy(&bits, from, size_of(type));
  return bits;
}

uint32_t nan_bits(DType type) {
  switch (size_of(type)) {
    case 1: return 0x7f;
    case 2: return 0x7fff;
    default: return 0x7fffffff;
  }
}

uint32_t unwritten_bits(DType type) {
  switch (size_of(type)) {
    case 1: return 0xff;
    case 2: return 0xffd5;
    default: return 0xffd5d5d5;
  }
}

void fill_with(DType type, uint32_t bits, std::byte* to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) store_bits(type, to + i * size_of(type), bits);
}

const std::vector<float>& value_table(Fill fill, Values kind) {
  static const std::vector<float> normal = normal_table(), uniform = uniform_table(), small = integer_table(3),
                                  larger = integer_table(8);
  switch (fill) {
    case Fill::normal: return normal;
    case Fill::uniform: return uniform;
    case Fill::integer:
    case Fill::ring: break;
  }
  return kind == Values::operand ? small : larger;
}

std::vector<float> counting_table(uint32_t largest) {
  std::vector<float> table(65536);
  for (size_t i = 0; i < table.size(); ++i) table[i] = static_cast<float>(i % (largest + 1));
  return table;
}

void in_parallel(int64_t count, int64_t work, const std::function<void(int64_t)>& body) {
  constexpr int64_t worth_a_thread = 1 << 20;
  const int64_t threads = std::min<int64_t>({count, work / worth_a_thread, std::thread::hardware_concurrency()});
  std::atomic<int64_t> next{0};
  auto worker = [&] {
    for (int64_t i = next++; i < count; i = next++) body(i);
  };
  std::vector<std::thread> others;
  for (int64_t i = 1; i < threads; ++i) others.emplace_back(worker);
  worker();
  for (std::thread& thread : others) thread.join();
}

}  // namespace warploom
