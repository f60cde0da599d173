// The table's mbarriers (PTX ISA, "mbarrier").
#include "ptx/emit_body.hpp"
#include "ptx/forms.hpp"

namespace warploom::ptx {
namespace {

#define SHARED "{shared,shared::cta,shared::cluster}?"

constexpr Form rows[] = {
    {"mbarrier.init.{shared,shared::cta}?.b64", "m a.u32", {}, emit_mbarrier, "mbarrier_init"},
    {"mbarrier.inval.{shared,shared::cta}?.b64", "m", {}, emit_mbarrier, "mbarrier_invalidate"},
    {"mbarrier.expect_tx.relaxed?.{cta,cluster}?." SHARED ".b64", "m a.u32", {}, emit_mbarrier, "mbarrier_expect_tx"},
    {"mbarrier.complete_tx.relaxed?.{cta,cluster}?." SHARED ".b64",
     "m a.u32",
     {},
     emit_mbarrier,
     "mbarrier_complete_tx"},
    {"mbarrier.pending_count.b64", "d.u32 a", {}, emit_mbarrier, "mbarrier_pending_count"},
    {"mbarrier.{arrive,arrive_drop}.{release,relaxed}?.{cta,cluster}?." SHARED ".b64",
     "d? m a.u32?",
     {},
     emit_mbarrier_arrive,
     "mbarrier_arrive"},
    {"mbarrier.{arrive,arrive_drop}.expect_tx.{release,relaxed}?.{cta,cluster}?." SHARED ".b64",
     "d? m a.u32",
     {},
     emit_mbarrier_arrive,
     "mbarrier_arrive_expect_tx"},
    {"mbarrier.{arrive,arrive_drop}.noComplete.{release,relaxed}?.{cta,cluster}?.{shared,shared::cta}?.b64",
     "d m a.u32",
     {},
     emit_mbarrier_arrive,
     "mbarrier_arrive_token"},
    {"mbarrier.{test_wait,try_wait}.{acquire,relaxed}?.{cta,cluster}?.{shared,shared::cta}?.b64",
     "P m a a.u32?",
     {},
     emit_mbarrier_wait,
     "mbarrier_test_token"},
    {"mbarrier.{test_wait,try_wait}.parity.{acquire,relaxed}?.{cta,cluster}?.{shared,shared::cta}?.b64",
     "P m a.u32 a.u32?",
     {},
     emit_mbarrier_wait,
     "mbarrier_wait_parity"},
};

}  // namespace
std::span<const Form> barrier_forms() { return rows; }
}  // namespace warploom::ptx
