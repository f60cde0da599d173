// The table's conversions (PTX ISA, "cvt").
#include "ptx/emit_body.hpp"
#include "ptx/forms.hpp"

namespace warploom::ptx {
namespace {

#define ROUND "{rn,rz,rm,rp}"
#define WHOLE_ROUND "{rni,rzi,rmi,rpi}"
#define INTEGER "{u8,s8,u16,s16,u32,s32,u64,s64}"

constexpr Form rows[] = {
    {"cvt." INTEGER "." INTEGER, "d.0 a", "static_cast<$F>($1)"},
    {"cvt.sat." INTEGER "." INTEGER, "d.0 a", "cvt_sat<$F>($1)"},
    {"cvt." ROUND ".ftz?.sat?.f32." INTEGER, "d.0 a", "int_to_f32<$R, $(sat)>($1)"},
    {"cvt." ROUND ".sat?.f64." INTEGER, "d.0 a", "int_to_f64<$R, $(sat)>($1)"},
    {"cvt." ROUND ".f16." INTEGER, "d.0 a", "int_to_half<half, $R>($1)"},
    {"cvt." ROUND ".bf16." INTEGER, "d.0 a", "int_to_half<brain, $R>($1)"},
    {"cvt." WHOLE_ROUND ".ftz?.sat?." INTEGER ".f32", "d.0 a", "float_to_int<$F, $R, $(ftz)>($1)"},
    {"cvt." WHOLE_ROUND ".sat?." INTEGER ".f64", "d.0 a", "float_to_int<$F, $R, false>($1)"},
    {"cvt." WHOLE_ROUND ".ftz?.sat?." INTEGER ".f16", "d.0 a", "float_to_int<$F, $R, false>(f16_to_f32($1))"},
    {"cvt." WHOLE_ROUND ".ftz?.sat?." INTEGER ".bf16", "d.0 a", "float_to_int<$F, $R, false>(bf16_to_f32($1))"},
    {"cvt." WHOLE_ROUND ".ftz?.sat?.f32.f32", "d.0 a", "round_f32<$R, $(ftz), $(sat)>($1)"},
    {"cvt." WHOLE_ROUND ".sat?.f64.f64", "d.0 a", "round_f64<$R, $(sat)>($1)"},
    {"cvt." WHOLE_ROUND ".f16.f16", "d.0 a", "round_half<half, $R>($1)"},
    {"cvt." WHOLE_ROUND ".bf16.bf16", "d.0 a", "round_half<brain, $R>($1)"},
    {"cvt.ftz?.sat?.f32.f32", "d.0 a", "clamped<$(sat)>(flushed<$(ftz)>($1))"},
    {"cvt.sat?.f64.f64", "d.0 a", "clamped<$(sat)>($1)"},
    {"cvt." ROUND ".ftz?.sat?.f32.f64", "d.0 a", "f64_to_f32<$R, $(ftz), $(sat)>($1)"},
    {"cvt.ftz?.sat?.f64.f32", "d.0 a", "f32_to_f64<$(ftz), $(sat)>($1)"},
    {"cvt.ftz?.sat?.f32.f16", "d.0 a", "f16_to_float<$(ftz), $(sat)>($1)"},
    {"cvt.ftz?.sat?.f32.bf16", "d.0 a", "bf16_to_float<$(ftz), $(sat)>($1)"},
    {"cvt.sat?.f64.f16", "d.0 a", "f32_to_f64<false, $(sat)>(f16_to_f32($1))"},
    {"cvt.sat?.f64.bf16", "d.0 a", "f32_to_f64<false, $(sat)>(bf16_to_f32($1))"},
    {"cvt." ROUND ".ftz?.relu?.satfinite?.sat?.f16.f32", "d.0 a",
     "f32_to_half<$R, $(ftz), $(relu), $(satfinite), $(sat)>($1)"},
    {"cvt." ROUND ".relu?.satfinite?.bf16.f32", "d.0 a", "f32_to_brain<$R, $(relu), $(satfinite)>($1)"},
    {"cvt.rn.f16.f64", "d.0 a", "f32_to_f16(to_odd_f32($1))"},
    {"cvt.rn.bf16.f64", "d.0 a", "f32_to_bf16(to_odd_f32($1))"},
    {"cvt.rn.bf16.f16", "d.0 a", "f32_to_bf16(f16_to_f32($1))"},
    {"cvt.rn.f16.bf16", "d.0 a", "f32_to_f16(bf16_to_f32($1))"},
    {"cvt.{rn,rz}.relu?.satfinite?.f16x2.f32", "d.0 a a",
     "f32_to_half<$R, false, $(relu), $(satfinite), false>($2) | static_cast<u32>(f32_to_half<$R, false, $(relu), "
     "$(satfinite), false>($1)) << 16"},
    {"cvt.{rn,rz}.relu?.satfinite?.bf16x2.f32", "d.0 a a",
     "f32_to_brain<$R, $(relu), $(satfinite)>($2) | static_cast<u32>(f32_to_brain<$R, $(relu), $(satfinite)>($1)) << "
     "16"},
    {"cvt.{rn,rz}.relu?.satfinite?.tf32.f32", "d.0 a", "tf32_of<$R, $(relu), $(satfinite)>($1)"},
    {"cvt.rna.satfinite?.tf32.f32", "d.0 a", "arch::to_tf32<Rounding::nearest_away>($1)"},

    // FP8 and narrower, two at a time: the second operand goes to the lower bits
    {"cvt.rn.satfinite.relu?.{e4m3x2,e5m2x2,e2m3x2,e3m2x2,e2m1x2}.f32", "d.0 a a", "arch::pack<$E, $(relu)>($2, $1)"},
    {"cvt.rn.satfinite.relu?.{e4m3x2,e5m2x2}.f16x2", "d.0 a", "arch::pack_halves<$E, $(relu)>($1)"},
    {"cvt.rn.relu?.f16x2.{e4m3x2,e5m2x2,e2m3x2,e3m2x2,e2m1x2}", "d.0 a", "halves_of<$E, $(relu)>($1)"},
    {"cvt.{rz,rp}.satfinite?.ue8m0x2.f32", "d.0 a a", "scales_of<$R, $(satfinite)>($2, $1)"},
    {"cvt.{rz,rp}.satfinite?.ue8m0x2.bf16x2", "d.0 a", "scales_of_brains<$R, $(satfinite)>($1)"},
    {"cvt.rn.bf16x2.ue8m0x2", "d.0 a", "arch::unpack_ue8m0($1)"},
    {"cvt.pack.sat.{u16,s16}.s32", "d.u32 a a", {}, emit_cvt_pack},
    {"cvt.pack.sat.{u8,s8,u4,s4,u2,s2}.s32.b32", "d.u32 a.s32 a.s32 a.u32", {}, emit_cvt_pack},
};

}  // namespace
std::span<const Form> conversion_forms() { return rows; }
}  // namespace warploom::ptx
