// The table's control flow, warp instructions and barriers of threads (PTX ISA, "Control Flow", "Parallel
// Synchronization and Communication").
#include "ptx/emit_body.hpp"
#include "ptx/forms.hpp"

namespace warploom::ptx {
namespace {

constexpr Form rows[] = {
    {"bra.uni?", "l", {}, emit_branch},
    {"ret.uni?", "", {}, emit_return},
    {"exit", "", {}, emit_return},
    {"trap", "", {}, emit_trap, "ptx_trap"},
    {"brkpt", "", {}, emit_trap, "ptx_trap"},
    {"call.uni?", "c c? c? c?", {}, emit_call},
    {"nanosleep.u32", "a", {}, emit_sleep, "ptx_yield"},
    {"pmevent.mask?", "i", {}, emit_nothing},

    {"elect.sync", "dP.b32 a.b32", {}, emit_elect, "elect"},
    {"shfl.sync.{idx,bfly,up,down}.b32", "dP a a.u32 a.u32 a.u32", {}, emit_shfl, "shuffle"},
    {"vote.sync.{any,all,uni}.pred", "P p a.u32", {}, emit_vote, "vote"},
    {"vote.sync.ballot.b32", "d.b32 p a.u32", {}, emit_vote, "vote"},
    {"match.{any,all}.sync.{b32,b64}", "dP.b32 a a.u32", {}, emit_match, "match_any"},
    {"redux.sync.{add,min,max}.{u32,s32}", "d a a.u32", {}, emit_redux, "redux"},
    {"redux.sync.{and,or,xor}.b32", "d a a.u32", {}, emit_redux, "redux"},
    {"redux.sync.{min,max}.abs?.NaN?.f32", "d a a.u32", {}, emit_redux, "redux"},
    {"activemask.b32", "d", {}, emit_activemask, "active_mask"},

    {"bar.warp.sync", "a.u32", {}, emit_bar_warp, "syncwarp"},
    {"bar.cta?.{sync,arrive}", "a.u32 a.u32?", {}, emit_bar, "bar_sync"},
    {"barrier.cta?.{sync,arrive}.aligned?", "a.u32 a.u32?", {}, emit_bar, "bar_sync"},
    {"bar.cta?.red.popc.u32", "d a.u32 a.u32? p", {}, emit_bar_red, "bar_reduce"},
    {"bar.cta?.red.{and,or}.pred", "P a.u32 a.u32? p", {}, emit_bar_red, "bar_reduce"},
    {"barrier.cta?.red.popc.aligned?.u32", "d a.u32 a.u32? p", {}, emit_bar_red, "bar_reduce"},
    {"barrier.cta?.red.{and,or}.aligned?.pred", "P a.u32 a.u32? p", {}, emit_bar_red, "bar_reduce"},
    {"barrier.cluster.arrive.{release,relaxed}?.aligned?", "", {}, emit_cluster_barrier, "cluster_arrive"},
    {"barrier.cluster.wait.acquire?.aligned?", "", {}, emit_cluster_barrier, "cluster_wait"},
    {"griddepcontrol.{wait,launch_dependents}", "", {}, emit_grid_dependency, "grid_dependency_wait"},
    {"setmaxnreg.{inc,dec}.sync.aligned.u32", "i", {}, emit_registers, "set_max_registers"},

    {"fence.{sc,acq_rel,acquire,release}.{cta,cluster,gpu,sys}", "", {}, emit_fence, "fence"},
    {"membar.{cta,gl,sys}", "", {}, emit_fence, "fence"},
    {"fence.mbarrier_init.release.cluster", "", {}, emit_fence, "fence_mbarrier_init"},
    {"fence.proxy.alias", "", {}, emit_nothing},
    {"fence.proxy.async.{global,shared::cta,shared::cluster}?", "", {}, emit_fence, "fence_proxy_async"},
    {"fence.proxy.async::generic.{acquire,release}.sync_restrict::shared::cluster.cluster",
     "",
     {},
     emit_fence,
     "fence_proxy_async"},
    {"fence.proxy.async::generic.{acquire,release}.sync_restrict::shared::cta.cluster",
     "",
     {},
     emit_fence,
     "fence_proxy_async"},
    {"fence.proxy.tensormap::generic.acquire.{cta,cluster,gpu,sys}", "m i", {}, emit_fence, "acquire_tensor_map"},
    {"fence.proxy.tensormap::generic.release.{cta,cluster,gpu,sys}", "", {}, emit_nothing},
    {"fence.acquire.sync_restrict::shared::cluster.cluster", "", {}, emit_fence, "fence_shared"},
    {"fence.release.sync_restrict::shared::cta.cluster", "", {}, emit_fence, "fence_shared"},
};

}  // namespace
std::span<const Form> control_forms() { return rows; }
}  // namespace warploom::ptx
