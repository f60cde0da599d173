// The table's tensor cores and tensor memory (PTX ISA, "wgmma", "tcgen05", "ldmatrix").
#include "ptx/emit_body.hpp"
#include "ptx/forms.hpp"

namespace warploom::ptx {
namespace {

#define GROUP "{cta_group::1,cta_group::2}"
#define LANES "{16x64b,16x128b,16x256b,32x32b,16x32bx2}.{x1,x2,x4,x8,x16,x32,x64,x128}"

constexpr Form rows[] = {
    {"ldmatrix.sync.aligned.m8n8.{x1,x2,x4}.trans?.{shared,shared::cta}?.b16",
     "V.b32 m",
     {},
     emit_matrix_move,
     "load_matrix"},
    {"ldmatrix.sync.aligned.{x1,x2,x4}.trans?.m8n8.{shared,shared::cta}?.b16",
     "V.b32 m",
     {},
     emit_matrix_move,
     "load_matrix"},
    {"stmatrix.sync.aligned.m8n8.{x1,x2,x4}.trans?.{shared,shared::cta}?.b16",
     "m v.b32",
     {},
     emit_matrix_move,
     "store_matrix"},
    {"stmatrix.sync.aligned.{x1,x2,x4}.trans?.m8n8.{shared,shared::cta}?.b16",
     "m v.b32",
     {},
     emit_matrix_move,
     "store_matrix"},

    {"wgmma.fence.sync.aligned", "", {}, emit_wgmma_sync, "post_wgmma_fence"},
    {"wgmma.commit_group.sync.aligned", "", {}, emit_wgmma_sync, "post_wgmma_commit"},
    {"wgmma.wait_group.sync.aligned", "i", {}, emit_wgmma_sync, "wgmma_wait_group"},
    {"wgmma.mma_async.sync.aligned.m64n*.{f32,f16}.{bf16,f16,tf32,e4m3,e5m2}.{bf16,f16,tf32,e4m3,e5m2}",
     "C.b32 R.b32 a.b64 p i? i? i? i?",
     {},
     emit_wgmma,
     "post_wgmma"},
    {"wgmma.mma_async.sync.aligned.m64n*.satfinite?.s32.{s8,u8}.{s8,u8}",
     "C.b32 R.b32 a.b64 p",
     {},
     emit_wgmma,
     "post_wgmma"},
    {"wgmma.mma_async.sync.aligned.m64n*.s32.{s8,u8}.{s8,u8}.satfinite",
     "C.b32 R.b32 a.b64 p",
     {},
     emit_wgmma,
     "post_wgmma"},

    {"tcgen05.alloc." GROUP ".sync.aligned.{shared,shared::cta}?.b32", "m a.u32", {}, emit_tmem, "tmem_alloc"},
    {"tcgen05.dealloc." GROUP ".sync.aligned.b32", "a a.u32", {}, emit_tmem, "tmem_dealloc"},
    {"tcgen05.relinquish_alloc_permit." GROUP ".sync.aligned", "", {}, emit_tmem, "tmem_relinquish"},
    {"tcgen05.wait::ld.sync.aligned", "", {}, emit_tmem, "tmem_wait_load"},
    {"tcgen05.wait::st.sync.aligned", "", {}, emit_tmem, "tmem_wait_store"},
    {"tcgen05.fence::before_thread_sync", "", {}, emit_tmem, "tcgen05_fence"},
    {"tcgen05.fence::after_thread_sync", "", {}, emit_tmem, "tcgen05_fence"},
    {"tcgen05.shift." GROUP ".down", "m", {}, emit_tmem, "tmem_shift_down"},
    {"tcgen05.commit." GROUP ".mbarrier::arrive::one.{shared::cluster,shared::cta}?.multicast::cluster?.b64",
     "m a.u16?",
     {},
     emit_tmem,
     "umma_commit"},
    {"tcgen05.ld.sync.aligned." LANES ".pack::16b?.b32", "D m i?", {}, emit_tmem_load, "tmem_load"},
    {"tcgen05.st.sync.aligned." LANES ".unpack::16b?.b32", "m i? v", {}, emit_tmem_store, "tmem_store"},
    {"tcgen05.cp." GROUP ".{128x256b,128x128b,4x256b}.b8x16?.{b6x16_p32,b4x16_p64}?",
     "m a.b64",
     {},
     emit_umma_copy,
     "tmem_copy"},
    {"tcgen05.cp." GROUP ".64x128b.{warpx2::02_13,warpx2::01_23}.b8x16?.{b6x16_p32,b4x16_p64}?",
     "m a.b64",
     {},
     emit_umma_copy,
     "tmem_copy"},
    {"tcgen05.cp." GROUP ".32x128b.warpx4.b8x16?.{b6x16_p32,b4x16_p64}?", "m a.b64", {}, emit_umma_copy, "tmem_copy"},
    {"tcgen05.mma." GROUP ".{kind::f16,kind::tf32,kind::f8f6f4,kind::i8}.collector::*?",
     "m a.b64 a.b64 a.u32 v.b32? p i?",
     {},
     emit_umma,
     "umma"},
    {"tcgen05.mma.ws.cta_group::1.{kind::f16,kind::tf32,kind::f8f6f4,kind::i8}.collector::*?",
     "m a.b64 a.b64 a.u32 p a.b64?",
     {},
     emit_umma,
     "umma"},
    {"tcgen05.mma." GROUP ".{kind::mxf8f6f4,kind::mxf4,kind::mxf4nvf4}.block_scale.{scale_vec::1X,scale_vec::2X,scale_"
     "vec::4X,block16,block32}?.collector::*?",
     "m a.b64 a.b64 a.u32 m m p",
     {},
     emit_umma,
     "umma"},
};

}  // namespace
std::span<const Form> tensor_forms() { return rows; }
}  // namespace warploom::ptx
