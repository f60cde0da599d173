// Blackwell's tensor core through `arch`, beyond what the GEMMs use: products of every kind with operands and scale
// factors in every place, tcgen05.cp and shift, every shape of tcgen05.ld and st. Threads write tensor memory to global
// memory; data are small numbers, so that every sum is exact on both machines.
#pragma once

#include "arch_check_kernel.hpp"
#include "warploom/arch/tmem_copy.hpp"
#include "warploom/arch/umma.hpp"
#include "warploom/types/block_scaled.hpp"

namespace warploom::inline WARPLOOM_MACHINE::examples {

/// One product, in words that are template arguments.
struct UmmaForm {
  MmaKind kind = MmaKind::f16;
  MmaType a = MmaType::bf16, b = MmaType::bf16;
  int group = 1;
  uint32_t m = 128, n = 64;
  uint32_t d_type = 1;  ///< as in the instruction descriptor: 0 f16, 1 f32, 2 s32
  bool a_in_tmem = false;
  Major a_major = Major::k, b_major = Major::k;
  Swizzle swizzle = Swizzle::b128;
  bool accumulate = true, negate_a = false, negate_b = false, saturate = false, masked = false, stationary = false;
  int scale_input = 0;
  ScaleVector scales = ScaleVector::x1;
  ScaleType scale_type = ScaleType::ue8m0;
  uint32_t sfa_id = 0, sfb_id = 0;
  uint32_t d_lane = 0;

  WARPLOOM_CONST_FN bool scaled() const { return block_scaled(kind); }
  WARPLOOM_CONST_FN bool packed() const { return kind == MmaKind::mxf4 || kind == MmaKind::mxf4nvf4; }
  WARPLOOM_CONST_FN uint32_t ctas() const { return static_cast<uint32_t>(group); }
  WARPLOOM_CONST_FN uint32_t k() const {
    return packed() ? 64 : kind == MmaKind::f16 ? 16 : kind == MmaKind::tf32 ? 8 : 32;
  }
  /// Columns of D in each CTA.
  WARPLOOM_CONST_FN uint32_t d_columns() const {
    if (stationary) return m == 32 ? n / 4 : m == 64 ? n / 2 : n;
    return group == 2 && m == 128 ? n / 2 : n;
  }
  WARPLOOM_CONST_FN bool split_sfb() const { return group == 2 && m == 128; }
};

/// How an operand of one instruction lies in shared memory (hardware.md §3.2): K-major rows of one span each, of which
/// 32 bytes are used, or MN-major panels. tf32 has its own swizzle when it is MN-major.
struct UmmaTile {
  uint32_t rows, span, lines, bytes;
  SmemDescriptorFields fields;
};
WARPLOOM_CONST_FN UmmaTile umma_tile(const UmmaForm& f, bool b) {
  const MmaType type = b ? f.b : f.a;
  const Major major = b ? f.b_major : f.a_major;
  const bool atoms = type == MmaType::tf32 && major == Major::mn, plain = !atoms && f.swizzle == Swizzle::none;
  UmmaTile t{};
  t.rows = (b ? f.n : f.m) / f.ctas();
  t.span = atoms ? 128 : plain ? 16 : swizzle_span(f.swizzle);
  t.lines = atoms ? 4 : 8;
  const uint32_t atom = t.span * t.lines;
  t.fields.swizzle = atoms ? Swizzle::b128_atom32 : f.swizzle;
  if (major == Major::k) {
    t.bytes = t.rows * (plain ? 32 : t.span);
    t.fields.stride_byte_offset = atom;
    t.fields.leading_byte_offset = plain ? t.rows / 8 * atom : 16;
  } else {
    const uint32_t groups = (f.k() + t.lines - 1) / t.lines,
                   panels = (t.rows * bits_of(type) / 8 + t.span - 1) / t.span;
    t.bytes = panels * groups * atom;
    (plain ? t.fields.leading_byte_offset : t.fields.stride_byte_offset) = atom;
    (plain ? t.fields.stride_byte_offset : t.fields.leading_byte_offset) = atom * groups;
  }
  return t;
}

WARPLOOM_CONST_FN uint32_t umma_type_code(const UmmaForm& f, MmaType type) {
  switch (type) {
    case MmaType::e5m2:
    case MmaType::bf16:
    case MmaType::s8: return 1;
    case MmaType::tf32: return 2;
    case MmaType::e2m3: return 3;
    case MmaType::e3m2: return 4;
    case MmaType::e2m1: return f.packed() ? 1 : 5;
    default: return 0;
  }
}
WARPLOOM_CONST_FN InstructionDescriptor umma_instruction(const UmmaForm& f) {
  if (f.scaled())
    return encode_block_scaled({.a_type = umma_type_code(f, f.a),
                                .b_type = umma_type_code(f, f.b),
                                .negate_a = f.negate_a,
                                .negate_b = f.negate_b,
                                .a_major = f.a_major,
                                .b_major = f.b_major,
                                .m = f.m,
                                .n = f.n,
                                .scale_type = f.scale_type,
                                .sfa_id = f.sfa_id,
                                .sfb_id = f.sfb_id});
  return encode_instruction({.accumulator = f.d_type,
                             .a_type = umma_type_code(f, f.a),
                             .b_type = umma_type_code(f, f.b),
                             .negate_a = f.negate_a,
                             .negate_b = f.negate_b,
                             .a_major = f.a_major,
                             .b_major = f.b_major,
                             .m = f.m,
                             .n = f.n,
                             .saturate = f.saturate});
}

/// Words of disable-output-lane.
WARPLOOM_CONST_FN uint32_t disabled_word(uint32_t i) { return pattern(i + 77); }

template <int threads, uint32_t count>
WARPLOOM_FN void copy_words(uint32_t (&words)[count], const uint32_t* source) noexcept {
  for (uint32_t i = arch::thread_index(); i < count; i += threads)
    arch::store_shared(&words[i], arch::load_global(source + i));
}

/// Tensor memory to out[lane * columns + column], by four warps; and the other way.
template <uint32_t columns>
WARPLOOM_FN void dump_tmem(arch::TmemAddress base, uint32_t* out, uint32_t mask = ~0u) noexcept {
  static_assert(columns % 8 == 0);
  const arch::TmemAddress quarter = base.lane(32 * arch::warp_index());
  WARPLOOM_ROLLED
  for (uint32_t first = 0; first < columns; first += 8) {
    arch::Fragment<uint32_t, 8> words;
    arch::tmem_load_32x32b(words, quarter.column(first));
    arch::tmem_wait_load();
    WARPLOOM_UNROLL
    for (int i = 0; i < 8; ++i)
      arch::store_global(out + arch::thread_index() * columns + first + static_cast<uint32_t>(i), words[i] & mask);
  }
}
template <uint32_t columns>
WARPLOOM_FN void fill_tmem(arch::TmemAddress base, const uint32_t* source) noexcept {
  static_assert(columns % 8 == 0);
  const arch::TmemAddress quarter = base.lane(32 * arch::warp_index());
  WARPLOOM_ROLLED
  for (uint32_t first = 0; first < columns; first += 8) {
    uint32_t words[8];
    WARPLOOM_UNROLL
    for (int i = 0; i < 8; ++i)
      words[i] = arch::load_global(source + arch::thread_index() * columns + first + static_cast<uint32_t>(i));
    arch::tmem_store_32x32b<8>(quarter.column(first), words);
  }
  arch::tmem_wait_store();
}

inline constexpr uint32_t all_columns = 512;

/// All of tensor memory and a barrier, for the whole of a probe. What lies between is ordered with tcgen05 work.
template <int group, class Storage>
WARPLOOM_FN void begin_tmem(Storage& storage) noexcept {
  if (arch::thread_index() == 0) {
    arch::mbarrier_init(address(&storage.done), 1);
    arch::fence_mbarrier_init();
  }
  if (arch::warp_index() == 0) arch::tmem_alloc<group>(address(&storage.slot), all_columns);
  arch::fence_proxy_async_shared();
  arch::tcgen05_fence_before();
  arch::cluster_sync();
  arch::tcgen05_fence_after();
}
template <class Storage>
WARPLOOM_FN void meet() noexcept {
  arch::tcgen05_fence_before();
  arch::cluster_sync();
  arch::tcgen05_fence_after();
}
/// The arrival of the issuing thread's work, in every CTA.
template <int group, class Storage>
WARPLOOM_FN void commit_all(Storage& storage) noexcept {
  if constexpr (group == 2)
    arch::umma_commit_multicast<2>(address(&storage.done), 0b11);
  else
    arch::umma_commit<1>(address(&storage.done));
}
template <int group, class Storage>
WARPLOOM_FN void end_tmem(Storage& storage) noexcept {
  meet<Storage>();
  if (arch::warp_index() == 0) {
    arch::tmem_relinquish<group>();
    arch::tmem_dealloc<group>({arch::load_shared(&storage.slot)}, all_columns);
  }
  arch::syncwarp();
}

// ---- one product

template <UmmaForm f>
struct UmmaProbe : Probe<128> {
  static constexpr char name[] = "umma";
  static constexpr UmmaForm form = f;
  static constexpr UmmaTile a_tile = umma_tile(f, false), b_tile = umma_tile(f, true);
  static constexpr uint32_t a_words = a_tile.bytes / 4, b_words = b_tile.bytes / 4;
  static constexpr uint32_t d_columns = f.d_columns();
  static constexpr uint32_t a_column = 256, sfa_column = 272, sfb_column = 288;
  static constexpr uint32_t sfb_words = 256;  ///< two atoms of scale factors

  struct Params {       ///< each [CTA] after the other
    const uint32_t* a;  ///< as it lies in shared memory
    const uint32_t* b;
    const uint32_t* a_tmem;  ///< [lane][8]
    const uint32_t* sfa;
    const uint32_t* sfb;
    const uint32_t* d;  ///< [lane][column]
    uint32_t* out;
  };
  struct alignas(1024) Storage {
    uint32_t a[a_words];
    alignas(1024) uint32_t b[b_words];
    alignas(128) uint32_t sfa[128];
    alignas(128) uint32_t sfb[sfb_words];
    arch::Mbarrier done;
    uint32_t slot;
  };

  static WARPLOOM_FN SmemDescriptor descriptor(const uint32_t* words, SmemDescriptorFields fields) noexcept {
    fields.start = address(words).value;
    return encode_smem_descriptor(fields);
  }
  template <class A>
  static WARPLOOM_FN void issue(Storage& storage, arch::TmemAddress base, A a) noexcept {
    constexpr InstructionDescriptor idesc = umma_instruction(f);
    const SmemDescriptor b = descriptor(storage.b, b_tile.fields);
    const arch::TmemAddress d = base.lane(f.d_lane);
    if constexpr (f.scaled()) {
      const arch::TmemAddress sfa = base.column(sfa_column), sfb = base.column(sfb_column);
      arch::tmem_copy<TmemCopy::m32x128b, f.group>(sfa, scale_atom_descriptor(address(storage.sfa).value));
      if constexpr (f.split_sfb()) {
        // Rows 0 to 31 go to lane quarters 0 and 1, rows 32 to 63 to 2 and 3: the halves of B's columns.
        arch::tmem_copy<TmemCopy::m64x128b_01_23, f.group>(sfb, scale_atom_descriptor(address(storage.sfb).value));
      } else {
        arch::tmem_copy<TmemCopy::m32x128b, f.group>(sfb, scale_atom_descriptor(address(storage.sfb).value));
        if constexpr (f.n > 128)
          arch::tmem_copy<TmemCopy::m32x128b, f.group>(sfb.column(4),
                                                       scale_atom_descriptor(address(storage.sfb + 128).value));
      }
      arch::umma_block_scaled<f.kind, f.scales, f.group>(d, a, b, idesc, sfa, sfb, f.accumulate);
    } else if constexpr (f.stationary) {
      arch::umma_ws<f.kind>(d, a, b, idesc, f.accumulate);
    } else if constexpr (f.masked) {
      uint32_t disabled[4 * f.group];
      WARPLOOM_UNROLL
      for (int i = 0; i < 4 * f.group; ++i) disabled[i] = disabled_word(static_cast<uint32_t>(i));
      arch::umma_masked<f.kind, f.group>(d, a, b, idesc, f.accumulate, disabled);
    } else if constexpr (f.scale_input != 0) {
      arch::umma_scaled_input<f.kind, f.group, f.scale_input>(d, a, b, idesc, f.accumulate);
    } else {
      arch::umma<f.kind, f.group>(d, a, b, idesc, f.accumulate);
    }
  }

  static WARPLOOM_FN void run(const Params& params) noexcept {
    Storage& storage = arch::shared<Storage>();
    const uint32_t rank = f.group == 2 ? arch::cluster_rank() : 0;
    copy_words<threads>(storage.a, params.a + rank * a_words);
    copy_words<threads>(storage.b, params.b + rank * b_words);
    if constexpr (f.scaled()) {
      copy_words<threads>(storage.sfa, params.sfa + rank * 128);
      copy_words<threads>(storage.sfb, params.sfb + rank * sfb_words);
    }
    begin_tmem<f.group>(storage);
    const arch::TmemAddress base{arch::load_shared(&storage.slot)};
    fill_tmem<d_columns>(base, params.d + rank * 128 * d_columns);
    if constexpr (f.a_in_tmem) fill_tmem<8>(base.column(a_column), params.a_tmem + rank * 128 * 8);
    meet<Storage>();
    if (arch::thread_index() == 0 && rank == 0) {
      if constexpr (f.a_in_tmem)
        issue(storage, base, base.column(a_column).lane(f.d_lane));
      else
        issue(storage, base, descriptor(storage.a, a_tile.fields));
      commit_all<f.group>(storage);
    }
    arch::mbarrier_wait(address(&storage.done), 1);
    arch::tcgen05_fence_after();
    // The upper half of a 16-bit accumulator's word is nobody's.
    dump_tmem<d_columns>(base, params.out + rank * 128 * d_columns, f.d_type == 0 ? 0xffffu : ~0u);
    end_tmem<f.group>(storage);
  }
};

// ---- tcgen05.cp, and shift

template <TmemCopy shape, Expand expand, int group>
struct CopyProbe : Probe<128> {
  static constexpr char name[] = "tcgen05.cp";
  static constexpr TmemCopy form = shape;
  static constexpr uint32_t columns = 8, words = 2048;  ///< rows in groups of 8, 16-byte units 4 KiB apart
  static constexpr uint32_t unit_step = 4096;
  struct Params {
    const uint32_t* source;  ///< [CTA]
    const uint32_t* before;  ///< [CTA][lane][column]
    uint32_t* out;
  };
  struct alignas(1024) Storage {
    uint32_t source[words];
    arch::Mbarrier done;
    uint32_t slot;
  };

  static WARPLOOM_FN void run(const Params& params) noexcept {
    Storage& storage = arch::shared<Storage>();
    const uint32_t rank = group == 2 ? arch::cluster_rank() : 0;
    copy_words<threads>(storage.source, params.source + rank * words);
    begin_tmem<group>(storage);
    const arch::TmemAddress base{arch::load_shared(&storage.slot)};
    fill_tmem<columns>(base, params.before + rank * 128 * columns);
    meet<Storage>();
    if (arch::thread_index() == 0 && rank == 0) {
      const SmemDescriptor source = encode_smem_descriptor({.start = address(storage.source).value,
                                                            .leading_byte_offset = unit_step,
                                                            .stride_byte_offset = 128,
                                                            .base_offset = 0,
                                                            .swizzle = Swizzle::none});
      arch::tmem_copy<shape, group, expand>(base, source);
      commit_all<group>(storage);
    }
    arch::mbarrier_wait(address(&storage.done), 1);
    arch::tcgen05_fence_after();
    dump_tmem<columns>(base, params.out + rank * 128 * columns);
    end_tmem<group>(storage);
  }
};

struct ShiftProbe : Probe<128> {
  static constexpr char name[] = "tcgen05.shift";
  static constexpr uint32_t columns = 16;
  struct Params {
    const uint32_t* before;
    uint32_t* out;
  };
  struct Storage {
    arch::Mbarrier done;
    uint32_t slot;
  };
  static WARPLOOM_FN void run(const Params& params) noexcept {
    Storage& storage = arch::shared<Storage>();
    begin_tmem<1>(storage);
    const arch::TmemAddress base{arch::load_shared(&storage.slot)};
    fill_tmem<columns>(base, params.before);
    meet<Storage>();
    if (arch::thread_index() == 0) {
      arch::tmem_shift_down<1>(base.column(8).lane(32));
      commit_all<1>(storage);
    }
    arch::mbarrier_wait(address(&storage.done), 1);
    arch::tcgen05_fence_after();
    dump_tmem<columns>(base, params.out);
    end_tmem<1>(storage);
  }
};

// ---- tcgen05.ld and st: registers that one shape loads, then tensor memory after the same shape stored

enum class TmemMove : uint8_t { m32x32b, m16x64b, m16x128b, m16x256b, m16x32bx2 };

template <TmemMove shape, int count, bool packed>
struct TensorMoveProbe : Probe<128> {
  static constexpr char name[] = "tcgen05.ld";
  static constexpr TmemMove form = shape;
  static constexpr uint32_t columns = 128;
  static constexpr int registers = count, offset = 40;
  static constexpr bool halves = packed;
  struct Params {
    const uint32_t* before;  ///< [lane][column]
    uint32_t* loaded;        ///< [thread][register]
    uint32_t* out;           ///< [lane][column]
  };
  struct Storage {
    arch::Mbarrier done;
    uint32_t slot;
  };

  static WARPLOOM_FN void load(arch::Fragment<uint32_t, count>& to, arch::TmemAddress from) noexcept {
    if constexpr (shape == TmemMove::m32x32b)
      arch::tmem_load_32x32b<count, packed>(to, from);
    else if constexpr (shape == TmemMove::m16x64b)
      arch::tmem_load_16x64b<count, packed>(to, from);
    else if constexpr (shape == TmemMove::m16x128b)
      arch::tmem_load_16x128b<count, packed>(to, from);
    else if constexpr (shape == TmemMove::m16x256b)
      arch::tmem_load_16x256b<count, packed>(to, from);
    else
      arch::tmem_load_16x32bx2<offset, count, packed>(to, from);
  }
  static WARPLOOM_FN void store(arch::TmemAddress to, const uint32_t (&from)[count]) noexcept {
    if constexpr (shape == TmemMove::m32x32b)
      arch::tmem_store_32x32b<count, packed>(to, from);
    else if constexpr (shape == TmemMove::m16x64b)
      arch::tmem_store_16x64b<count, packed>(to, from);
    else if constexpr (shape == TmemMove::m16x128b)
      arch::tmem_store_16x128b<count, packed>(to, from);
    else if constexpr (shape == TmemMove::m16x256b)
      arch::tmem_store_16x256b<count, packed>(to, from);
    else
      arch::tmem_store_16x32bx2<offset, count, packed>(to, from);
  }

  static WARPLOOM_FN void run(const Params& params) noexcept {
    Storage& storage = arch::shared<Storage>();
    begin_tmem<1>(storage);
    const arch::TmemAddress base{arch::load_shared(&storage.slot)};
    fill_tmem<columns>(base, params.before);
    const arch::TmemAddress quarter = base.lane(32 * arch::warp_index());
    arch::Fragment<uint32_t, count> loaded;
    load(loaded, quarter);
    arch::tmem_wait_load();
    uint32_t values[count];
    WARPLOOM_UNROLL
    for (int i = 0; i < count; ++i) {
      const uint32_t at = arch::thread_index() * count + static_cast<uint32_t>(i);
      arch::store_global(params.loaded + at, loaded[i]);
      values[i] = pattern(at + 5000);
    }
    store(quarter, values);
    arch::tmem_wait_store();
    // What a packed store leaves in upper halves is not specified.
    dump_tmem<columns>(base, params.out, packed ? 0xffffu : ~0u);
    end_tmem<1>(storage);
  }
};

}  // namespace warploom::inline WARPLOOM_MACHINE::examples
