// Tensor maps: the rules of cuTensorMapEncodeTiled as driver 580 enforces them (hardware.md §2.2), and our 128 bytes.
#include <cstring>

#include "tma.hpp"

namespace warploom::loom {

namespace {

constexpr uint64_t magic = 0x31'70'61'6d'6d'6f'6f'6cu;  // "loommap1"
// The driver takes a box of 64 KiB and refuses one of 256 KiB; between lies the shared memory of a CTA.
constexpr uint64_t max_box_bytes = 227 * 1024;

bool is_float(TmaType type) {
  switch (type) {
    case TmaType::f16:
    case TmaType::f32:
    case TmaType::f64:
    case TmaType::bf16:
    case TmaType::f32_ftz:
    case TmaType::tf32:
    case TmaType::tf32_ftz: return true;
    default: return false;
  }
}

std::string text(uint64_t value) { return std::to_string(value); }

std::string broken_dimension_rule(const TensorMapArgs& args, uint32_t d) {
  const std::string which = " of dimension " + text(d);
  if (args.dims[d] < 1 || args.dims[d] > uint64_t{1} << 32)
    return "The size" + which + " is " + text(args.dims[d]) + "; it must be 1 to 2^32 elements.";
  if (args.box[d] < 1 || args.box[d] > 256)
    return "The box size" + which + " is " + text(args.box[d]) + "; it must be 1 to 256 elements.";
  if (args.element_strides[d] < 1 || args.element_strides[d] > 8)
    return "The element stride" + which + " is " + text(args.element_strides[d]) + "; it must be 1 to 8.";
  if (d == 0) return "";
  const uint64_t stride = args.strides[d - 1];
  const uint64_t unit = args.interleave == 2 ? 32 : 16;
  if (stride % unit != 0)
    return "The stride" + which + " is " + text(stride) + " bytes; it must be a multiple of " + text(unit) + ".";
  if (stride >= uint64_t{1} << 40)
    return "The stride" + which + " is " + text(stride) + " bytes; it must be below 2^40.";
  return "";
}

std::string broken_rule(const TensorMapArgs& args, Chip chip) {
  if (args.type > TmaType::u6_align16)
    return "The data type code " + text(static_cast<uint64_t>(args.type)) + " does not exist.";
  if (args.type >= TmaType::u4_align8)
    return chip == Chip::sm90 ? "The packed 4- and 6-bit types need sm_100."
                              : "The packed 4- and 6-bit types are not modelled by the loom.";
  if (args.rank < 1 || args.rank > 5) return "The rank is " + text(args.rank) + "; it must be 1 to 5.";
  if (args.interleave > 2) return "The interleave code " + text(args.interleave) + " does not exist.";
  if (args.interleave != 0 && args.rank < 3) return "An interleaved tensor map needs rank 3 or more.";
  if (args.swizzle > Swizzle::b128_atom64)
    return "The swizzle code " + text(static_cast<uint64_t>(args.swizzle)) + " does not exist.";
  if (args.swizzle > Swizzle::b128 && chip == Chip::sm90) return "The 32- and 64-byte swizzle atoms need sm_100.";
  if (args.l2_promotion > 3) return "The L2 promotion code " + text(args.l2_promotion) + " does not exist.";
  if (args.fill > TmaFill::nan)
    return "The out-of-bounds fill code " + text(static_cast<uint64_t>(args.fill)) + " does not exist.";
  if (args.fill == TmaFill::nan && !is_float(args.type))
    return "Out-of-bounds elements can be filled with NaN only for floating-point types.";

  const uint64_t alignment = args.interleave == 2 ? 32 : 16;
  if (reinterpret_cast<uintptr_t>(args.address) % alignment != 0)
    return "The tensor's address must be a multiple of " + text(alignment) + " bytes.";
  for (uint32_t d = 0; d < args.rank; ++d)
    if (std::string broken = broken_dimension_rule(args, d); !broken.empty()) return broken;

  const uint32_t row_bytes = args.box[0] * tma_element_bytes(args.type);
  if (args.interleave == 0 && row_bytes % 16 != 0)
    return "A row of the box is " + text(row_bytes) + " bytes; it must be a multiple of 16.";
  const uint32_t span = swizzle_span(args.swizzle);
  if (args.interleave == 0 && span != 0 && row_bytes > span)
    return "A row of the box is " + text(row_bytes) + " bytes, more than the swizzle's span of " + text(span) + ".";
  uint64_t box_bytes = row_bytes;
  for (uint32_t d = 1; d < args.rank; ++d) box_bytes *= args.box[d];
  if (box_bytes > max_box_bytes)
    return "The box is " + text(box_bytes) + " bytes, more than the shared memory of a CTA (232448).";
  return "";
}

/// Sizes beyond the rank are 1, so that copies may always run over five dimensions.
TensorMapArgs normalised(TensorMapArgs args) {
  for (uint32_t d = args.rank; d < 5; ++d) {
    args.dims[d] = args.box[d] = args.element_strides[d] = 1;
    if (d > 0) args.strides[d - 1] = 16;
  }
  return args;
}

uint64_t checksum(const TensorMap& map) {
  uint64_t hash = 0xcbf29ce484222325;
  for (int i = 0; i < 15; ++i) hash = (hash ^ map.opaque[i]) * 0x100000001b3 + (hash >> 29);
  return hash;
}

}  // namespace

uint32_t tma_element_bytes(TmaType type) {
  switch (type) {
    case TmaType::u16:
    case TmaType::f16:
    case TmaType::bf16: return 2;
    case TmaType::u32:
    case TmaType::s32:
    case TmaType::f32:
    case TmaType::f32_ftz:
    case TmaType::tf32:
    case TmaType::tf32_ftz: return 4;
    case TmaType::u64:
    case TmaType::s64:
    case TmaType::f64: return 8;
    default: return 1;  // u8; the packed types never get past encode_tensor_map
  }
}

Result<TensorMap> encode_tensor_map(const TensorMapArgs& raw, Chip chip) {
  if (std::string broken = broken_rule(raw, chip); !broken.empty()) return Error{std::move(broken)};
  const TensorMapArgs args = normalised(raw);
  TensorMap map{};
  uint64_t* w = map.opaque;
  w[0] = magic;
  w[1] = reinterpret_cast<uintptr_t>(args.address);
  for (int d = 0; d < 5; ++d) w[2 + d] = args.dims[d];
  for (int d = 0; d < 4; ++d) w[7 + d] = args.strides[d];
  for (int d = 0; d < 5; ++d) {  // box sizes in 12 bits, element strides in 4
    w[11] |= static_cast<uint64_t>(args.box[d]) << (12 * d);
    w[12] |= static_cast<uint64_t>(args.element_strides[d]) << (4 * d);
  }
  w[13] = args.rank | static_cast<uint64_t>(args.type) << 8 | static_cast<uint64_t>(args.interleave) << 16 |
          static_cast<uint64_t>(args.swizzle) << 24 | static_cast<uint64_t>(args.l2_promotion) << 32 |
          static_cast<uint64_t>(args.fill) << 40;
  w[15] = checksum(map);
  return map;
}

DecodedTensorMap decode_tensor_map(const TensorMap& map) {
  const uint64_t* w = map.opaque;
  if (w[0] != magic || w[15] != checksum(map)) return {};
  DecodedTensorMap decoded;
  TensorMapArgs& args = decoded.args;
  args.address = reinterpret_cast<const void*>(static_cast<uintptr_t>(w[1]));
  for (int d = 0; d < 5; ++d) args.dims[d] = w[2 + d];
  for (int d = 0; d < 4; ++d) args.strides[d] = w[7 + d];
  for (int d = 0; d < 5; ++d) {
    args.box[d] = w[11] >> (12 * d) & 0xfff;
    args.element_strides[d] = w[12] >> (4 * d) & 0xf;
  }
  args.rank = w[13] & 0xff;
  args.type = static_cast<TmaType>(w[13] >> 8 & 0xff);
  args.interleave = static_cast<uint8_t>(w[13] >> 16);
  args.swizzle = static_cast<Swizzle>(w[13] >> 24 & 0xff);
  args.l2_promotion = static_cast<uint8_t>(w[13] >> 32);
  args.fill = static_cast<TmaFill>(w[13] >> 40 & 0xff);
  // A forged checksum must not send a copy astray: the rules hold for every map that decodes.
  decoded.valid = broken_rule(args, Chip::sm100).empty();
  return decoded;
}

}  // namespace warploom::loom
