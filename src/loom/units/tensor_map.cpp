// Tensor maps: the rules of cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col as driver 580 enforces them (hardware.md
// §2.2), and our 128 bytes.
#include <algorithm>
#include <cstring>

#include "loom/units/tensor_map_edit.hpp"

namespace warploom::loom {

namespace {

constexpr uint32_t atom_shift = 56;  ///< in word 13: the atom of a 128-byte swizzle that was put together
constexpr uint64_t magic = 0x31'70'61'6d'6d'6f'6f'6cu;  // "loommap1"
// The driver takes a box of 64 KiB and refuses one of 256 KiB; between lies the shared memory of a CTA.
constexpr uint64_t max_box_bytes = 227 * 1024;

bool is_packed(TmaType type) { return type >= TmaType::u4_align8; }
/// 16 values of 4 or 6 bits in 16 bytes of shared memory.
bool is_padded(TmaType type) { return type == TmaType::u4_align16 || type == TmaType::u6_align16; }

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

/// Of the tensor's address and strides.
uint64_t alignment_of(const TensorMapArgs& args) { return args.interleave == 2 || is_padded(args.type) ? 32 : 16; }

std::string broken_dimension_rule(const TensorMapArgs& args, uint32_t d) {
  const std::string which = " of dimension " + text(d);
  if (args.dims[d] < 1 || args.dims[d] > uint64_t{1} << 32)
    return "The size" + which + " is " + text(args.dims[d]) + "; it must be 1 to 2^32 elements.";
  if (!args.im2col && (args.box[d] < 1 || args.box[d] > 256))
    return "The box size" + which + " is " + text(args.box[d]) + "; it must be 1 to 256 elements.";
  if (args.element_strides[d] < 1 || args.element_strides[d] > 8)
    return "The element stride" + which + " is " + text(args.element_strides[d]) + "; it must be 1 to 8.";
  if (d == 0) return "";
  const uint64_t stride = args.strides[d - 1];
  const uint64_t unit = alignment_of(args);
  if (stride % unit != 0)
    return "The stride" + which + " is " + text(stride) + " bytes; it must be a multiple of " + text(unit) + ".";
  if (stride >= uint64_t{1} << 40)
    return "The stride" + which + " is " + text(stride) + " bytes; it must be below 2^40.";
  return "";
}

std::string broken_packed_rule(const TensorMapArgs& args) {
  const uint64_t unit = is_padded(args.type) ? 128 : 2;
  if (args.dims[0] % unit != 0)
    return "The size of dimension 0 is " + text(args.dims[0]) + " values of 4 or 6 bits; it must be a multiple of " +
           text(unit) + ".";
  if (!is_padded(args.type)) return "";
  const uint32_t row = args.im2col ? args.im2col->channels : args.box[0];
  if (row != 128) return "A row of the box is " + text(row) + " padded values of 4 or 6 bits; it must be 128.";
  if (args.interleave != 0) return "Padded 4- and 6-bit values cannot be interleaved.";
  const bool stored_only = args.swizzle == Swizzle::b128_atom64 && args.type == TmaType::u6_align16;
  if (args.swizzle != Swizzle::none && args.swizzle != Swizzle::b128 && args.swizzle != Swizzle::b128_atom32 &&
      !stored_only)
    return "Padded 4- and 6-bit values take no swizzle, that of 128 bytes, or that with atoms of 32 bytes.";
  return "";
}

/// Corners have 16, 8 or 5 bits for one, two or three dimensions that the window moves along.
std::string broken_im2col_rule(const TensorMapArgs& args) {
  const Im2colWindow& window = *args.im2col;
  if (args.rank < 3) return "The rank is " + text(args.rank) + "; an im2col tensor map needs 3 to 5.";
  const int64_t limit = args.rank == 3 ? 32768 : args.rank == 4 ? 128 : 16;
  for (uint32_t d = 0; d + 2 < args.rank; ++d) {
    for (const int64_t corner : {window.lower[d], window.upper[d]})
      if (corner < -limit || corner >= limit)
        return "A corner of the im2col window is " + std::to_string(corner) + "; it must be " + std::to_string(-limit) +
               " to " + std::to_string(limit - 1) + " for rank " + text(args.rank) + ".";
    if (window.lower[d] > static_cast<int64_t>(args.dims[d + 1]) - 1 + window.upper[d])
      return "The im2col window is empty along dimension " + text(d + 1) + ".";
  }
  if (window.channels < 1 || window.channels > 256)
    return "The im2col window has " + text(window.channels) + " channels per pixel; 1 to 256 are possible.";
  if (window.pixels < 1 || window.pixels > 1024)
    return "The im2col window has " + text(window.pixels) + " pixels per column; 1 to 1024 are possible.";
  return "";
}

std::string broken_rule(const TensorMapArgs& args, Chip chip) {
  if (args.type > TmaType::u6_align16)
    return "The data type code " + text(static_cast<uint64_t>(args.type)) + " does not exist.";
  if (is_packed(args.type) && chip == Chip::sm90) return "The packed 4- and 6-bit types need sm_100.";
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

  const uint64_t alignment = alignment_of(args);
  if (reinterpret_cast<uintptr_t>(args.address) % alignment != 0)
    return "The tensor's address must be a multiple of " + text(alignment) + " bytes.";
  for (uint32_t d = 0; d < args.rank; ++d)
    if (std::string broken = broken_dimension_rule(args, d); !broken.empty()) return broken;

  if (args.im2col)
    if (std::string broken = broken_im2col_rule(args); !broken.empty()) return broken;
  if (is_packed(args.type))
    if (std::string broken = broken_packed_rule(args); !broken.empty()) return broken;

  const uint32_t elements = args.im2col ? args.im2col->channels : args.box[0];
  const uint32_t packed_bits = elements * tma_element_bits(args.type);
  const uint32_t row_bytes = packed_bits / 8 / tma_packed_unit(args.type) * 16;  // of shared memory, where it fits
  if (args.interleave == 0 && packed_bits % (8 * tma_packed_unit(args.type)) != 0)
    return "A row of the box is " +
           (packed_bits % 8 == 0 ? text(packed_bits / 8) + " bytes" : text(packed_bits) + " bits") +
           "; it must be a multiple of 16.";
  const uint32_t span = swizzle_span(args.swizzle);
  if (args.interleave == 0 && span != 0 && row_bytes > span)
    return "A row of the box is " + text(row_bytes) + " bytes, more than the swizzle's span of " + text(span) + ".";
  if (args.im2col) return "";
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
  if (args.im2col) {
    args.box = {1, 1, 1, 1, 1};
    for (uint32_t d = args.rank - 2; d < 3; ++d) args.im2col->lower[d] = args.im2col->upper[d] = 0;
  }
  return args;
}

uint64_t checksum(const TensorMap& map) {
  uint64_t hash = 0xcbf29ce484222325;
  for (int i = 0; i < 15; ++i) hash = (hash ^ map.opaque[i]) * 0x100000001b3 + (hash >> 29);
  return hash;
}

}  // namespace

uint32_t tma_element_bits(TmaType type) {
  switch (type) {
    case TmaType::u4_align8:
    case TmaType::u4_align16: return 4;
    case TmaType::u6_align16: return 6;
    case TmaType::u16:
    case TmaType::f16:
    case TmaType::bf16: return 16;
    case TmaType::u32:
    case TmaType::s32:
    case TmaType::f32:
    case TmaType::f32_ftz:
    case TmaType::tf32:
    case TmaType::tf32_ftz: return 32;
    case TmaType::u64:
    case TmaType::s64:
    case TmaType::f64: return 64;
    default: return 8;
  }
}

uint32_t tma_packed_unit(TmaType type) {
  if (type == TmaType::u4_align16) return 8;
  return type == TmaType::u6_align16 ? 12 : 16;
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
    if (!args.im2col) w[11] |= static_cast<uint64_t>(args.box[d]) << (12 * d);
    w[12] |= static_cast<uint64_t>(args.element_strides[d]) << (4 * d);
  }
  w[13] = args.rank | static_cast<uint64_t>(args.type) << 8 | static_cast<uint64_t>(args.interleave) << 16 |
          static_cast<uint64_t>(args.swizzle) << 24 | static_cast<uint64_t>(args.l2_promotion) << 32 |
          static_cast<uint64_t>(args.fill) << 40;
  if (args.im2col) {  // corners in 16 bits each; the words of the box are free
    const Im2colWindow& window = *args.im2col;
    w[13] |= uint64_t{1} << 48;
    for (int d = 0; d < 3; ++d) {
      w[14] |= static_cast<uint64_t>(static_cast<uint16_t>(window.lower[d])) << (16 * d);
      w[11] |= static_cast<uint64_t>(static_cast<uint16_t>(window.upper[d])) << (16 * d);
    }
    w[12] |= static_cast<uint64_t>(window.channels) << 20 | static_cast<uint64_t>(window.pixels) << 32;
  }
  w[15] = checksum(map);
  return map;
}

DecodedTensorMap decode_tensor_map(const TensorMap& map) {
  const uint64_t* w = map.opaque;
  if (w[0] != magic || w[15] != checksum(map)) return {};
  DecodedTensorMap decoded;
  TensorMapArgs& args = decoded.args;
  const bool im2col = (w[13] >> 48 & 1) != 0;
  args.address = reinterpret_cast<const void*>(static_cast<uintptr_t>(w[1]));
  for (int d = 0; d < 5; ++d) args.dims[d] = w[2 + d];
  for (int d = 0; d < 4; ++d) args.strides[d] = w[7 + d];
  for (int d = 0; d < 5; ++d) {
    args.box[d] = im2col ? 1 : w[11] >> (12 * d) & 0xfff;
    args.element_strides[d] = w[12] >> (4 * d) & 0xf;
  }
  args.rank = w[13] & 0xff;
  args.type = static_cast<TmaType>(w[13] >> 8 & 0xff);
  args.interleave = static_cast<uint8_t>(w[13] >> 16);
  args.swizzle = static_cast<Swizzle>(w[13] >> 24 & 0xff);
  if (args.swizzle == Swizzle::b128)
    args.swizzle = static_cast<Swizzle>(static_cast<uint32_t>(Swizzle::b128) + (w[13] >> atom_shift & 3));
  args.l2_promotion = static_cast<uint8_t>(w[13] >> 32);
  args.fill = static_cast<TmaFill>(w[13] >> 40 & 0xff);
  if (im2col) {
    Im2colWindow& window = args.im2col.emplace();
    for (int d = 0; d < 3; ++d) {
      window.lower[static_cast<size_t>(d)] = static_cast<int16_t>(w[14] >> (16 * d));
      window.upper[static_cast<size_t>(d)] = static_cast<int16_t>(w[11] >> (16 * d));
    }
    window.channels = w[12] >> 20 & 0xfff;
    window.pixels = w[12] >> 32 & 0xfff;
  }
  // One that was made from zeros has no sizes beyond its rank.
  if (!im2col && args.box[4] == 0 && args.rank >= 1 && args.rank < 5) args = normalised(args);
  // A forged checksum must not send a copy astray: the rules hold for every map that decodes.
  decoded.broken = broken_rule(args, Chip::sm100);
  decoded.valid = decoded.broken.empty();
  return decoded;
}

bool replace_field(TensorMap& map, TensorMapField field, uint32_t which, uint64_t value) {
  uint64_t* w = map.opaque;
  const bool blank = std::all_of(w, w + 16, [](uint64_t word) { return word == 0; });
  if (blank) w[0] = magic;
  if (!blank && (w[0] != magic || w[15] != checksum(map))) return false;
  if (field == TensorMapField::rank && (value < 1 || value > 5)) value = 0xff;  // found when the map is used
  const auto put = [&](uint64_t& word, uint32_t shift, uint64_t mask) {
    word = (word & ~(mask << shift)) | (value & mask) << shift;
  };
  switch (field) {
    case TensorMapField::address: w[1] = value; break;
    case TensorMapField::size: w[2 + which] = value; break;
    case TensorMapField::stride: w[7 + which] = value; break;
    case TensorMapField::box: put(w[11], 12 * which, 0xfff); break;
    case TensorMapField::element_stride: put(w[12], 4 * which, 0xf); break;
    case TensorMapField::rank: put(w[13], 0, 0xff); break;
    case TensorMapField::type: put(w[13], 8, 0xff); break;
    case TensorMapField::swizzle:
      put(w[13], 24, 0xff);
      w[13] &= ~(uint64_t{3} << atom_shift);
      break;
    case TensorMapField::swizzle_mode: {
      const auto old = static_cast<uint32_t>(w[13] >> 24 & 0xff);
      put(w[13], 24, 0xff);
      if (old > static_cast<uint32_t>(Swizzle::b128))
        w[13] |= uint64_t{old - static_cast<uint32_t>(Swizzle::b128)} << atom_shift;
      break;
    }
    case TensorMapField::swizzle_atomicity:
      if ((w[13] >> 24 & 0xff) > static_cast<uint32_t>(Swizzle::b128))
        w[13] = (w[13] & ~(uint64_t{0xff} << 24)) | uint64_t{static_cast<uint32_t>(Swizzle::b128)} << 24;
      put(w[13], atom_shift, 3);
      break;
    case TensorMapField::interleave: put(w[13], 16, 0xff); break;
    case TensorMapField::fill: put(w[13], 40, 0xff); break;
  }
  w[15] = checksum(map);
  return true;
}

}  // namespace warploom::loom
