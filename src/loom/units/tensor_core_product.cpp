// tcgen05.mma of every kind: operands and scale factors from shared and tensor memory as codes (hardware.md §4.9-4.11),
// D from tensor memory and back, and the arithmetic in fp32.
#include "tensor_core_product.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "mma_kernel.hpp"
#include "mma_operands.hpp"
#include "unconfirmed.hpp"
#include "warploom/types/convert_narrow.hpp"

namespace warploom::loom {

namespace {

constexpr uint32_t tmem_columns = 512;
constexpr uint32_t max_rows = 128, max_k = 64, max_scales = 4;

/// 4-bit elements of mxf4 and mxf4nvf4 are packed; those of f8f6f4 and mxf8f6f4 take a byte's place each.
bool packed_nibbles(const MmaOperation& op) { return op.kind == MmaKind::mxf4 || op.kind == MmaKind::mxf4nvf4; }

struct SharedOperand {
  const SmemDescriptorFields& descriptor;
  MmaType type;
  Major major;
  uint32_t rows, k;
  bool packed;
};

SharedOperand shared_operand(const MmaOperation& op, bool b) {
  const bool packed = packed_nibbles(op);
  if (b) return {op.b, op.b_type, op.b_major, op.n / op.ctas(), op.k, packed};
  return {op.a, op.a_type, op.a_major, op.m / op.ctas(), op.k, packed};
}

/// Elements in 16 bytes: 16 of a type with fewer than 8 bits too, whose units are padded (§4.10).
uint32_t unit_elements(MmaType type, bool packed) {
  if (packed) return 32;
  return bits_of(type) <= 8 ? 16 : 128 / bits_of(type);
}

/// visit(address, row, k) for each 16-byte unit, with row and k of its first element. Every swizzle permutes whole
/// units.
template <class Visit>
void visit_units(const SharedOperand& operand, Visit&& visit) {
  const uint32_t elements = unit_elements(operand.type, operand.packed);
  if (operand.major == Major::k) {
    for (uint32_t row = 0; row < operand.rows; ++row)
      for (uint32_t byte = 0; byte < mma_k_bytes; byte += 16)
        visit(operand_address(operand.descriptor, Major::k, 1, row, byte), row, byte / 16 * elements);
    return;
  }
  for (uint32_t row = 0; row < operand.rows; row += elements)
    for (uint32_t k = 0; k < operand.k; ++k)
      visit(operand_address(operand.descriptor, Major::mn, 16 / elements, row, k), row, k);
}

/// `width` bits from bit `first` on, little-endian.
uint32_t bit_field(const uint8_t* bytes, uint32_t first, uint32_t width) {
  const uint32_t byte = first / 8;
  const uint32_t window = bytes[byte] | static_cast<uint32_t>(bytes[byte + 1]) << 8;
  return window >> first % 8 & ((1u << width) - 1);
}

/// The codes of one unit.
void unpack_unit(MmaType type, bool packed, const std::byte* unit, uint32_t* codes) {
  uint8_t bytes[17] = {};  // a field may begin in the last byte
  std::memcpy(bytes, unit, 16);
  const uint32_t elements = unit_elements(type, packed), width = bits_of(type);
  if (width < 8) {
    for (uint32_t i = 0; i < elements; ++i) codes[i] = bit_field(bytes, i * width, width);
  } else if (width == 8) {
    for (uint32_t i = 0; i < 16; ++i) codes[i] = bytes[i];
  } else if (width == 16) {
    for (uint32_t i = 0; i < 8; ++i) codes[i] = bytes[2 * i] | static_cast<uint32_t>(bytes[2 * i + 1]) << 8;
  } else {
    std::memcpy(codes, bytes, 16);
  }
}

/// Element (row, k) goes to out[row * row_pitch + k * k_pitch].
void fetch_shared(const SharedOperand& operand, const std::byte* shared, uint32_t* out, size_t row_pitch,
                  size_t k_pitch) {
  const uint32_t elements = unit_elements(operand.type, operand.packed);
  const size_t pitch = operand.major == Major::k ? k_pitch : row_pitch;
  visit_units(operand, [&](uint32_t address, uint32_t row, uint32_t k) {
    uint32_t codes[32] = {};
    unpack_unit(operand.type, operand.packed, shared + address, codes);
    uint32_t* first = out + row * row_pitch + k * k_pitch;
    for (uint32_t i = 0; i < elements; ++i) first[i * pitch] = codes[i];
  });
}

/// Bits of an element's place in tensor memory, and where in it the element sits.
struct Container {
  uint32_t bits, shift;
};
Container container_of(const MmaOperation& op) {
  if (packed_nibbles(op)) return {4, 0};
  switch (bits_of(op.a_type)) {
    case 4: return {8, unconfirmed::e2m1_container_shift};
    case 6: return {8, unconfirmed::six_bit_container_shift};
    default: return {bits_of(op.a_type), 0};
  }
}

/// A from tensor memory, for the copy that lies `lanes` further on.
void fetch_tmem(const MmaOperation& op, const uint32_t* tmem, uint32_t lanes, uint32_t* out) {
  const Container container = container_of(op);
  const uint32_t mask = bits_of(op.a_type) == 32 ? ~0u : (1u << bits_of(op.a_type)) - 1;
  const uint32_t first_lane = (op.a_tmem >> 16) + lanes, first_column = op.a_tmem & 0xffff;
  for (uint32_t row = 0; row < op.m / op.ctas(); ++row)
    for (uint32_t k = 0; k < op.k; ++k) {
      const TmemElement at = a_element(op.cta_group, op.m, row, k, container.bits);
      const uint32_t word = tmem[(first_lane + at.cell.lane) * tmem_columns + first_column + at.cell.column];
      out[row * op.k + k] = word >> (at.bit + container.shift) & mask;
    }
}

/// The scale factors of one CTA's rows of A or of all columns of B: scale (row, block) at out[row * row_pitch + block *
/// block_pitch].
void fetch_scales(const MmaOperation& op, bool b, const uint32_t* tmem, uint8_t* out, size_t row_pitch,
                  size_t block_pitch) {
  const uint32_t address = b ? op.sfb : op.sfa, id = b ? op.sfb_id : op.sfa_id;
  const uint32_t rows = b ? op.n : op.m / op.ctas();
  const bool split = b && op.layout_b();
  for (uint32_t row = 0; row < rows; ++row) {
    const TmemCell cell = scale_cell(row, rows, split);
    const uint32_t word = tmem[cell.lane * tmem_columns + (address & 0xffff) + cell.column];
    for (uint32_t block = 0; block < op.scales; ++block)
      out[row * row_pitch + block * block_pitch] = static_cast<uint8_t>(word >> 8 * (id + block));
  }
}

/// Too large for the stack of a fiber. Columns of B past N are read by the kernel and their results dropped.
struct Scratch {
  alignas(64) uint32_t a[max_rows * max_k];
  alignas(64) uint32_t b[max_k * product_b_pitch];
  alignas(64) uint32_t d[max_rows * product_d_pitch];
  uint8_t a_scales[max_rows * max_scales];
  uint8_t b_scales[max_scales * product_b_pitch];
};

/// D of one CTA between tensor memory and rows: move(word of tensor memory, word of the row, how many, lane).
template <class Move>
void for_each_piece(const MmaOperation& op, uint32_t cta, uint32_t* tmem, uint32_t* rows, Move&& move) {
  const uint32_t share = op.m / op.ctas();
  const uint32_t columns = accumulator_columns(op.cta_group, op.m, op.n, op.weight_stationary);
  for (uint32_t row = 0; row < share; ++row)
    for (uint32_t column = 0; column < op.n; column += columns) {
      const TmemCell cell = accumulator_cell(op.cta_group, op.m, op.n, cta * share + row, column, op.weight_stationary);
      const uint32_t lane = (op.d >> 16) + cell.lane;
      move(tmem + lane * tmem_columns + (op.d & 0xffff) + cell.column, rows + row * product_d_pitch + column, columns,
           lane);
    }
}

}  // namespace

bool lane_disabled(const MmaOperation& op, uint32_t cta, uint32_t lane) {
  const uint32_t word = cta * unconfirmed::disabled_lanes_of_peer + lane / 32;
  return op.masked && (op.disabled_lanes[word] >> lane % 32 & 1) != 0;
}

float operand_value(MmaType type, uint32_t code) {
  const auto byte = static_cast<uint8_t>(code);
  switch (type) {
    case MmaType::e4m3: return to_float(e4m3{byte});
    case MmaType::e5m2: return to_float(e5m2{byte});
    case MmaType::e2m3: return to_float(e2m3{byte});
    case MmaType::e3m2: return to_float(e3m2{byte});
    case MmaType::e2m1: return to_float(e2m1{byte});
    case MmaType::f16: return to_float(f16{static_cast<uint16_t>(code)});
    case MmaType::bf16: return to_float(bf16{static_cast<uint16_t>(code)});
    case MmaType::tf32: return std::bit_cast<float>(code & 0xffffe000u);  // the low bits are not looked at
    case MmaType::u8:
    case MmaType::s8: break;
  }
  return 0;
}

bool plain_product(const MmaOperation& op) {
  const bool floats =
      op.kind == MmaKind::f16 || (op.kind == MmaKind::f8f6f4 && bits_of(op.a_type) == 8 && bits_of(op.b_type) == 8);
  return floats && op.accumulator == AccumulatorType::f32 && !op.a_in_tmem && !op.masked && op.scale_input_d == 0 &&
         !op.weight_stationary;
}

SharedRange operand_range(const MmaOperation& op, bool operand_b) {
  if (plain_product(op)) return range_of(plain_operand(op, operand_b));
  const SharedOperand operand = shared_operand(op, operand_b);
  // Only the size of an element counts; along K, every row has 32 bytes.
  const bool along_k = operand.major == Major::k;
  const uint32_t bits = along_k ? 8 : bits_of(operand.type);
  const DType size = bits == 32 ? DType::f32 : bits == 16 ? DType::bf16 : DType::e4m3;
  return range_of({operand.descriptor, size, operand.major, operand.rows, along_k ? mma_k_bytes : operand.k});
}

void for_each_operand_unit(const MmaOperation& op, bool operand_b, const std::function<void(uint32_t)>& visit) {
  visit_units(shared_operand(op, operand_b), [&](uint32_t address, uint32_t, uint32_t) { visit(address); });
}

uint32_t a_container_bits(const MmaOperation& op) { return container_of(op).bits; }

std::string scale_trouble(const MmaOperation& op, const MmaMemory* memory) {
  if (op.scales == 0) return "";
  for (uint32_t cta = 0; cta < op.ctas(); ++cta)
    for (const bool b : {false, true}) {
      const uint32_t address = b ? op.sfb : op.sfa, id = b ? op.sfb_id : op.sfa_id;
      const uint32_t rows = b ? op.n : op.m / op.ctas();
      const bool split = b && op.layout_b();
      const uint32_t mask = (op.scales == 4 ? ~0u : (1u << 8 * op.scales) - 1) << 8 * id;
      for (uint32_t row = 0; row < rows; ++row) {
        const TmemCell cell = scale_cell(row, rows, split);
        const uint32_t* first = memory[cta].tmem + cell.lane * tmem_columns + (address & 0xffff) + cell.column;
        for (uint32_t copy = 1; copy < scale_copies(split); ++copy)
          if (((first[copy * 32 * tmem_columns] ^ *first) & mask) != 0)
            return std::string("the scale factors of ") + (b ? "column " : "row ") + std::to_string(row) +
                   " differ between lanes " + std::to_string(cell.lane) + " and " +
                   std::to_string(cell.lane + 32 * copy) + " of CTA " + std::to_string(cta) +
                   " of the group; all lane quarters must hold them (tcgen05.cp.32x128b.warpx4)";
      }
    }
  return "";
}

void execute_product(const MmaOperation& op, const MmaMemory* memory, MmaArithmetic arithmetic) {
  static thread_local Scratch scratch;
  const SharedOperand a = shared_operand(op, false), b = shared_operand(op, true);
  // Each CTA holds a share of B's columns, and every CTA uses all of them.
  for (uint32_t cta = 0; cta < op.ctas(); ++cta)
    fetch_shared(b, memory[cta].shared, scratch.b + cta * b.rows, 1, product_b_pitch);

  MmaProduct product;
  product.kind = op.kind;
  product.a_type = op.a_type;
  product.b_type = op.b_type;
  product.accumulator = op.accumulator;
  product.rows = a.rows;
  product.k = op.k;
  product.negate_a = op.negate_a;
  product.negate_b = op.negate_b;
  product.saturate = op.saturate;
  product.accumulate = op.accumulate;
  product.scale_input_d = op.scale_input_d;
  product.scales = op.scales;
  product.scale_type = op.scale_type;
  product.a = scratch.a;
  product.a_scales = scratch.a_scales;
  for (uint32_t cta = 0; cta < op.ctas(); ++cta) {
    uint32_t* tmem = memory[cta].tmem;
    for_each_piece(op, cta, tmem, scratch.d, [](const uint32_t* from, uint32_t* row, uint32_t count, uint32_t) {
      std::memcpy(row, from, count * sizeof(uint32_t));
    });
    if (op.scales != 0) {
      fetch_scales(op, false, tmem, scratch.a_scales, op.scales, 1);
      fetch_scales(op, true, tmem, scratch.b_scales, 1, product_b_pitch);
    }
    if (!op.a_in_tmem) fetch_shared(a, memory[cta].shared, scratch.a, op.k, 1);
    // A in tensor memory may lie there once for each half of D's columns.
    const uint32_t copies = op.a_in_tmem && op.layout_b() ? 2 : 1;
    for (uint32_t copy = 0; copy < copies; ++copy) {
      if (op.a_in_tmem) fetch_tmem(op, tmem, copy * unconfirmed::a_copy_lane_step, scratch.a);
      const uint32_t first = copy * op.n / copies;
      product.columns = op.n / copies;
      product.b = scratch.b + first;
      product.b_scales = scratch.b_scales + first;
      product.d = scratch.d + first;
      arithmetic(product);
    }
    for_each_piece(op, cta, tmem, scratch.d, [&](uint32_t* to, const uint32_t* row, uint32_t count, uint32_t lane) {
      if (lane_disabled(op, cta, lane)) return;
      std::memcpy(to, row, count * sizeof(uint32_t));
      if (op.accumulator != AccumulatorType::f16) return;
      for (uint32_t i = 0; i < count; ++i) to[i] = (to[i] & 0xffff) | unconfirmed::f16_accumulator_upper_half;
    });
  }
}

// -------------------------------------------------------------------------------------------------- fast arithmetic

namespace {

constexpr uint32_t canonical_nan = 0x7fffffff;

struct FastScratch {
  alignas(64) float a[max_rows * max_k];
  alignas(64) float b[max_k * product_b_pitch];
  alignas(64) uint32_t d[max_rows * product_d_pitch];
};

/// Values of codes; every type but f16, bf16 and tf32 by a table.
class Values {
 public:
  explicit Values(MmaType type) : type_(type), small_(bits_of(type) <= 8) {
    if (small_)
      for (uint32_t code = 0; code < 256; ++code) table_[code] = operand_value(type, code);
  }
  float operator()(uint32_t code) const { return small_ ? table_[code & 255] : operand_value(type_, code); }

 private:
  MmaType type_;
  bool small_;
  std::array<float, 256> table_{};
};
const Values& values_of(MmaType type) {
  static const std::array<Values, 8> all{Values(MmaType::e4m3), Values(MmaType::e5m2), Values(MmaType::e2m3),
                                         Values(MmaType::e3m2), Values(MmaType::e2m1), Values(MmaType::f16),
                                         Values(MmaType::bf16), Values(MmaType::tf32)};
  return all[static_cast<size_t>(type)];
}

int32_t integer(MmaType type, uint32_t code) {
  return type == MmaType::s8 ? static_cast<int8_t>(code & 0xff) : static_cast<int32_t>(code & 0xff);
}

void multiply_integers(const MmaProduct& p) {
  for (uint32_t row = 0; row < p.rows; ++row)
    for (uint32_t column = 0; column < p.columns; ++column) {
      int32_t sum = 0;  // 32 products of bytes
      for (uint32_t k = 0; k < p.k; ++k)
        sum += integer(p.a_type, p.a[row * p.k + k]) * integer(p.b_type, p.b[k * product_b_pitch + column]);
      uint32_t& d = p.d[row * product_d_pitch + column];
      int64_t total = sum + (p.accumulate ? static_cast<int64_t>(static_cast<int32_t>(d)) : 0);
      if (p.saturate)
        total = std::clamp<int64_t>(total, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max());
      d = static_cast<uint32_t>(total);
    }
}

float scale_value(ScaleType type, uint8_t code) {
  return type == ScaleType::ue8m0 ? to_float(ue8m0{code}) : to_float(ue4m3{code});
}

/// Operands as floats, with their signs; `first_k` and `extent` choose a block of K.
void prepare(const MmaProduct& p, FastScratch& s, uint32_t first_k, uint32_t extent) {
  const Values &a = values_of(p.a_type), &b = values_of(p.b_type);
  const float sign = p.negate_a != p.negate_b ? -1.0f : 1.0f;
  for (uint32_t row = 0; row < p.rows; ++row)
    for (uint32_t k = 0; k < extent; ++k) s.a[row * extent + k] = sign * a(p.a[row * p.k + first_k + k]);
  for (uint32_t k = 0; k < extent; ++k)
    for (uint32_t column = 0; column < p.columns; ++column)
      s.b[k * mma_b_pitch + column] = b(p.b[(first_k + k) * product_b_pitch + column]);
}

/// d (+)= the product of what was prepared.
void multiply_prepared(const MmaProduct& p, FastScratch& s, uint32_t extent, uint32_t* d, bool accumulate) {
  static_assert(mma_b_pitch == product_b_pitch);
  MmaTile tile;
  tile.a = s.a;
  tile.b = s.b;
  tile.d = d;
  tile.rows = p.rows;
  tile.n = p.columns;
  tile.k_extent = extent;
  tile.accumulate = accumulate;
  best_mma_kernel()(tile);
}

void multiply_scaled(const MmaProduct& p, FastScratch& s) {
  const uint32_t extent = p.k / p.scales;
  for (uint32_t block = 0; block < p.scales; ++block) {
    prepare(p, s, block * extent, extent);
    multiply_prepared(p, s, extent, s.d, false);
    for (uint32_t row = 0; row < p.rows; ++row) {
      const double a_scale = scale_value(p.scale_type, p.a_scales[row * p.scales + block]);
      for (uint32_t column = 0; column < p.columns; ++column) {
        const double b_scale = scale_value(p.scale_type, p.b_scales[block * product_b_pitch + column]);
        uint32_t& d = p.d[row * product_d_pitch + column];
        // In double: the product of two scales may leave the range of f32 although the sum does not.
        double sum = double{std::bit_cast<float>(s.d[row * product_d_pitch + column])} * a_scale * b_scale;
        if (p.accumulate || block > 0) sum += double{std::bit_cast<float>(d)};
        const auto rounded = static_cast<float>(sum);
        d = std::isnan(rounded) ? canonical_nan : std::bit_cast<uint32_t>(rounded);
      }
    }
  }
}

}  // namespace

void multiply_fast(const MmaProduct& p) {
  static thread_local FastScratch scratch;
  if (p.accumulator == AccumulatorType::s32) return multiply_integers(p);
  if (p.scales != 0) return multiply_scaled(p, scratch);
  const bool half = p.accumulator == AccumulatorType::f16;
  const auto for_each = [&](auto&& change) {
    for (uint32_t row = 0; row < p.rows; ++row)
      for (uint32_t column = 0; column < p.columns; ++column) change(p.d[row * product_d_pitch + column]);
  };
  if (p.accumulate && half)
    for_each([](uint32_t& d) { d = std::bit_cast<uint32_t>(to_float(f16{static_cast<uint16_t>(d)})); });
  if (p.accumulate && p.scale_input_d != 0) {
    const float factor = std::ldexp(1.0f, -static_cast<int>(p.scale_input_d));
    for_each([&](uint32_t& d) { d = std::bit_cast<uint32_t>(std::bit_cast<float>(d) * factor); });
  }
  prepare(p, scratch, 0, p.k);
  multiply_prepared(p, scratch, p.k, p.d, p.accumulate);
  if (half) for_each([](uint32_t& d) { d = to_f16(std::bit_cast<float>(d)).bits; });
}

}  // namespace warploom::loom
