// The table's asynchronous copies, tensor maps and cluster launch control (PTX ISA, "Asynchronous copy").
#include "ptx/emit_body.hpp"
#include "ptx/forms.hpp"

namespace warploom::ptx {
namespace {

#define DIMENSIONS "{1d,2d,3d,4d,5d}"
#define HINT ".L2::cache_hint?"

constexpr Form rows[] = {
    {"cp.async.bulk.tensor." DIMENSIONS ".{cta_group::1,cta_group::2}?.{shared::cluster,shared::cta}.global.{tile,"
     "im2col,tile::gather4}?.mbarrier::complete_tx::bytes.multicast::"
     "cluster?.{cta_group::1,cta_group::2}?" HINT,
     "m m m v.b16? a.u16? a.b64?",
     {},
     emit_tensor_copy,
     "tma_load"},
    {"cp.async.bulk.tensor." DIMENSIONS ".global.shared::cta.{tile,im2col_no_offs,tile::scatter4}?.bulk_group" HINT,
     "m m a.b64?",
     {},
     emit_tensor_copy,
     "tma_store"},
    {"cp.reduce.async.bulk.tensor." DIMENSIONS
     ".global.shared::cta.{add,min,max,inc,dec,and,or,xor}.{tile,im2col_no_offs}?.bulk_group" HINT,
     "m m a.b64?",
     {},
     emit_tensor_copy,
     "tma_reduce"},
    {"cp.async.bulk.prefetch.tensor." DIMENSIONS ".L2.global.{tile,im2col,tile::gather4}?" HINT,
     "m v.b16? a.b64?",
     {},
     emit_tensor_copy,
     "tma_prefetch"},
    {"cp.async.bulk.{shared::cluster,shared::cta}.global.mbarrier::complete_tx::bytes.multicast::cluster?" HINT,
     "m m a.u32 m a.u16? a.b64?",
     {},
     emit_bulk_copy,
     "bulk_load"},
    {"cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes",
     "m m a.u32 m",
     {},
     emit_bulk_copy,
     "bulk_send"},
    {"cp.async.bulk.global.shared::cta.bulk_group" HINT ".cp_mask?",
     "m m a.u32 a.b64? a.u16?",
     {},
     emit_bulk_copy,
     "bulk_store"},
    {"cp.async.bulk.prefetch.L2.global" HINT, "m a.u32 a.b64?", {}, emit_bulk_copy, "bulk_prefetch"},
    {"cp.reduce.async.bulk.global.shared::cta.bulk_group" HINT
     ".{add,min,max,inc,dec,and,or,xor}.noftz?.{u32,s32,u64,s64,b32,b64,f32,f64,f16,bf16}",
     "m m a.u32 a.b64?",
     {},
     emit_bulk_reduce,
     "bulk_store"},
    {"cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.{add,min,max,inc,dec,and,or,xor}.{"
     "u32,s32,u64,b32}",
     "m m a.u32 m",
     {},
     emit_bulk_reduce,
     "bulk_send"},
    {"cp.async.bulk.commit_group", "", {}, emit_bulk_group, "bulk_commit_group"},
    {"cp.async.bulk.wait_group.read?", "i", {}, emit_bulk_group, "bulk_wait_group"},

    {"cp.async.{ca,cg}.{shared,shared::cta}.global.L2::cache_hint?.{L2::64B,L2::128B,L2::256B}?",
     "m m i a? a.b64?",
     {},
     emit_cp_async,
     "cp_async"},
    {"cp.async.commit_group", "", {}, emit_cp_async, "cp_async_commit_group"},
    {"cp.async.wait_group", "i", {}, emit_cp_async, "cp_async_wait_group"},
    {"cp.async.wait_all", "", {}, emit_cp_async, "cp_async_wait_group"},
    {"cp.async.mbarrier.arrive.noinc?.{shared,shared::cta}?.b64", "m", {}, emit_cp_async, "cp_async_mbarrier_arrive"},

    {"tensormap.replace.tile.{global_address,rank,elemtype,interleave_layout,swizzle_mode,swizzle_atomicity,fill_mode}."
     "{shared,shared::"
     "cta}.b1024.{b32,b64}",
     "m a",
     {},
     emit_tensor_map,
     "tensor_map_replace"},
    {"tensormap.replace.tile.{box_dim,global_dim,global_stride,element_stride}.{shared,shared::cta}.b1024.{b32,b64}",
     "m i a",
     {},
     emit_tensor_map,
     "tensor_map_replace"},
    {"tensormap.cp_fenceproxy.global.{shared,shared::cta}.tensormap::generic.release.{cta,cluster,gpu,sys}.sync."
     "aligned",
     "m m i",
     {},
     emit_tensor_map,
     "publish_tensor_map"},

    {"clusterlaunchcontrol.try_cancel.async.{shared,shared::cta}?.mbarrier::complete_tx::bytes.multicast::cluster::all?"
     ".b128",
     "m m",
     {},
     emit_launch_control,
     "clc_try_cancel"},
    {"clusterlaunchcontrol.query_cancel.is_canceled.pred.b128", "P a", {}, emit_launch_control, "clc_is_canceled"},
    {"clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128",
     "V.b32 a",
     {},
     emit_launch_control,
     "clc_first_cta"},
    {"clusterlaunchcontrol.query_cancel.{get_first_ctaid::x,get_first_ctaid::y,get_first_ctaid::z}.b32.b128",
     "d.b32 a",
     {},
     emit_launch_control,
     "clc_first_cta"},
};

}  // namespace
std::span<const Form> copy_forms() { return rows; }
}  // namespace warploom::ptx
