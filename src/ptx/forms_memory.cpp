// The table's loads, stores, atomics and addresses (PTX ISA, "Data Movement", "Parallel Synchronization").
#include "ptx/emit_body.hpp"
#include "ptx/forms.hpp"

namespace warploom::ptx {
namespace {

#define ANY "{b8,u8,s8,b16,u16,s16,b32,u32,s32,f32,b64,u64,s64,f64,b128}"
#define SPACE "{global,shared,shared::cta,shared::cluster,local,param,param::entry,param::func,const}?"
#define CACHE ".{ca,cg,cs,lu,cv,wb,wt}?.nc?.L1::*?.L2::*?.L2::*?.L2::*?"
#define SCOPE "{cta,cluster,gpu,sys}"

constexpr Form rows[] = {
    {"ld.weak?." SPACE CACHE ".{v2,v4,v8}?." ANY, "V m a.b64?", {}, emit_load, "check_global"},
    {"ldu.global.{v2,v4}?." ANY, "V m", {}, emit_load, "check_global"},
    {"ld.volatile." SPACE ".{v2,v4,v8}?." ANY, "V m", {}, emit_load, "load_ordered_global"},
    {"ld.mmio?.{relaxed,acquire}." SCOPE "." SPACE ".L1::*?.L2::*?.L2::*?.L2::*?.{v2,v4,v8}?." ANY,
     "V m a.b64?",
     {},
     emit_load,
     "load_ordered_global"},
    {"st.weak?." SPACE CACHE ".{v2,v4,v8}?." ANY, "m v a.b64?", {}, emit_store, "check_global"},
    {"st.volatile." SPACE ".{v2,v4,v8}?." ANY, "m v", {}, emit_store, "store_ordered_global"},
    {"st.mmio?.{relaxed,release}." SCOPE "." SPACE ".L1::*?.L2::*?.{v2,v4,v8}?." ANY,
     "m v a.b64?",
     {},
     emit_store,
     "store_ordered_global"},
    {"st.async.weak?.shared::cluster?.mbarrier::complete_tx::bytes.{v2,v4}?.{b32,u32,s32,f32,b64,u64,s64,f64}",
     "m v m",
     {},
     emit_store_async,
     "store_async"},
    {"red.async.relaxed?.cluster?.shared::cluster?.mbarrier::complete_tx::bytes.{inc,dec,min,max,add,and,or,xor}.{u32,"
     "s32,u64,b32}",
     "m a m",
     {},
     emit_reduce_async,
     "reduce_async"},

    {"atom.{relaxed,acquire,release,acq_rel}?." SCOPE "?.{global,shared,shared::cta,shared::cluster}?.{add,min,max,inc,"
     "dec,and,or,xor,exch}.noftz?.L2::cache_hint?.{v2,v4,v8}?."
     "{u32,s32,u64,s64,b32,b64,b128,f32,f64,f16,f16x2,bf16,bf16x2}",
     "V m v a.b64?",
     {},
     emit_atomic,
     "atomic_global"},
    {"atom.{relaxed,acquire,release,acq_rel}?." SCOPE
     "?.{global,shared,shared::cta,shared::cluster}?.cas.L2::cache_hint?.{b16,b32,b64,b128}",
     "d m a a a.b64?",
     {},
     emit_atomic,
     "atomic_global"},
    {"red.{relaxed,release}?." SCOPE "?.{global,shared,shared::cta,shared::cluster}?.{add,min,max,inc,dec,and,or,xor}."
     "noftz?.L2::cache_hint?.{v2,v4,v8}?."
     "{u32,s32,u64,s64,b32,b64,f32,f64,f16,f16x2,bf16,bf16x2}",
     "m v a.b64?",
     {},
     emit_atomic,
     "atomic_global"},

    {"cvta.{global,local,shared,shared::cta,shared::cluster,const,param,param::entry}.u64",
     "d a",
     {},
     emit_cvta,
     "generic_address"},
    {"cvta.to.{global,local,shared,shared::cta,shared::cluster,const,param,param::entry}.u64",
     "d a",
     {},
     emit_cvta,
     "window_address"},
    {"isspacep.{global,local,shared,shared::cta,shared::cluster,const,param,param::entry}",
     "P a.u64",
     {},
     emit_isspacep,
     "space_of"},
    {"mapa.shared::cluster?.{u32,u64}", "d a a.u32", {}, emit_mapa, "map_to_rank"},
    {"getctarank.shared::cluster?.{u32,u64}", "d.u32 a", {}, emit_getctarank, "rank_of"},

    // hints
    {"prefetch.{global,local}?.{L1,L2,L2::evict_last,L2::evict_normal}", "m", {}, emit_nothing},
    {"prefetch.{const,param}?.tensormap", "m", {}, emit_nothing},
    {"prefetchu.L1", "m", {}, emit_nothing},
    {"discard.global?.L2", "m i", {}, emit_nothing},
    {"applypriority.global?.L2::evict_normal", "m i", {}, emit_nothing},
    {"createpolicy.fractional.L2::*.L2::*?.b64", "d a.f32?", "u64{0}"},
    {"createpolicy.cvt.L2.b64", "d a", "u64{0}"},
    {"createpolicy.range.global?.L2::*.L2::*?.b64", "d m a.u32 a.u32", "u64{0}"},
};

}  // namespace
std::span<const Form> memory_forms() { return rows; }
}  // namespace warploom::ptx
