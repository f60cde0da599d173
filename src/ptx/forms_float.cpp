// The table's floating-point instructions (PTX ISA, "Floating Point", "Half Precision").
#include "ptx/emit_body.hpp"
#include "ptx/forms.hpp"

namespace warploom::ptx {
namespace {

#define ROUND "{rn,rz,rm,rp}"
#define COMPARE "{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}"

constexpr Form rows[] = {
    {"add." ROUND "?.ftz?.sat?.f32", "d a a", "add_f32<$R, $(ftz), $(sat)>($1, $2)"},
    {"sub." ROUND "?.ftz?.sat?.f32", "d a a", "sub_f32<$R, $(ftz), $(sat)>($1, $2)"},
    {"mul." ROUND "?.ftz?.sat?.f32", "d a a", "mul_f32<$R, $(ftz), $(sat)>($1, $2)"},
    {"fma." ROUND ".ftz?.sat?.f32", "d a a a", "fma_f32<$R, $(ftz), $(sat)>($1, $2, $3)"},
    {"mad." ROUND ".ftz?.sat?.f32", "d a a a", "fma_f32<$R, $(ftz), $(sat)>($1, $2, $3)"},
    {"add." ROUND "?.f64", "d a a", "add_f64<$R>($1, $2)"},
    {"sub." ROUND "?.f64", "d a a", "sub_f64<$R>($1, $2)"},
    {"mul." ROUND "?.f64", "d a a", "mul_f64<$R>($1, $2)"},
    {"fma." ROUND ".f64", "d a a a", "fma_f64<$R>($1, $2, $3)"},
    {"mad." ROUND ".f64", "d a a a", "fma_f64<$R>($1, $2, $3)"},
    {"add." ROUND "?.ftz?.f32x2", "d.b a.b a.b", "add_f32x2<$R, $(ftz)>($1, $2)"},
    {"sub." ROUND "?.ftz?.f32x2", "d.b a.b a.b", "sub_f32x2<$R, $(ftz)>($1, $2)"},
    {"mul." ROUND "?.ftz?.f32x2", "d.b a.b a.b", "mul_f32x2<$R, $(ftz)>($1, $2)"},
    {"fma." ROUND ".ftz?.f32x2", "d.b a.b a.b a.b", "fma_f32x2<$R, $(ftz)>($1, $2, $3)"},
    {"div." ROUND ".ftz?.f32", "d a a", "div_f32<$R, $(ftz)>($1, $2)"},
    {"div.approx.ftz?.f32", "d a a", "div_approx_f32<$(ftz)>($1, $2)"},
    {"div.full.ftz?.f32", "d a a", "div_full_f32<$(ftz)>($1, $2)"},
    {"div." ROUND ".f64", "d a a", "div_f64<$R>($1, $2)"},
    {"rcp." ROUND ".ftz?.f32", "d a", "rcp_f32<$R, $(ftz)>($1)"},
    {"rcp." ROUND ".f64", "d a", "rcp_f64<$R>($1)"},
    {"rcp.approx.ftz?.f32", "d a", "rcp_approx_f32<$(ftz)>($1)"},
    {"rcp.approx.ftz.f64", "d a", "rcp_approx_f64($1)"},
    {"sqrt." ROUND ".ftz?.f32", "d a", "sqrt_f32<$R, $(ftz)>($1)"},
    {"sqrt." ROUND ".f64", "d a", "sqrt_f64<$R>($1)"},
    {"sqrt.approx.ftz?.f32", "d a", "sqrt_approx_f32<$(ftz)>($1)"},
    {"rsqrt.approx.ftz?.f32", "d a", "rsqrt_f32<$(ftz)>($1)"},
    {"rsqrt.approx.ftz?.f64", "d a", "rsqrt_approx_f64($1)"},
    {"ex2.approx.ftz?.f32", "d a", "ex2_f32<$(ftz)>($1)"},
    {"lg2.approx.ftz?.f32", "d a", "lg2_f32<$(ftz)>($1)"},
    {"sin.approx.ftz?.f32", "d a", "sin_f32<$(ftz)>($1)"},
    {"cos.approx.ftz?.f32", "d a", "cos_f32<$(ftz)>($1)"},
    {"tanh.approx.f32", "d a", "tanh_approx($1)"},
    {"abs.ftz?.f32", "d a", "abs_f32<$(ftz)>($1)"},
    {"neg.ftz?.f32", "d a", "neg_f32<$(ftz)>($1)"},
    {"abs.f64", "d.b a.b", "$1 & ~(1ull << 63)"},
    {"neg.f64", "d.b a.b", "$1 ^ 1ull << 63"},
    {"copysign.f32", "d a a", "copysign_f32($1, $2)"},
    {"copysign.f64", "d a a", "copysign_f64($1, $2)"},
    {"testp.{finite,infinite,number,notanumber,normal,subnormal}.{f32,f64}", "P a", "is_$M($1)"},
    {"min.ftz?.NaN?.xorsign.abs.f32", "d a a", "min_f32<$(ftz), $(NaN), true>($1, $2)"},
    {"max.ftz?.NaN?.xorsign.abs.f32", "d a a", "max_f32<$(ftz), $(NaN), true>($1, $2)"},
    {"min.ftz?.NaN?.f32", "d a a a?", {}, emit_min_max_f32},
    {"max.ftz?.NaN?.f32", "d a a a?", {}, emit_min_max_f32},
    {"min.f64", "d a a", "min_f64($1, $2)"},
    {"max.f64", "d a a", "max_f64($1, $2)"},

    // halves
    {"add.rn?.ftz?.sat?.{f16,bf16}", "d a a", "add_half<$H, $(ftz), $(sat)>($1, $2)"},
    {"sub.rn?.ftz?.sat?.{f16,bf16}", "d a a", "sub_half<$H, $(ftz), $(sat)>($1, $2)"},
    {"mul.rn?.ftz?.sat?.{f16,bf16}", "d a a", "mul_half<$H, $(ftz), $(sat)>($1, $2)"},
    {"fma.rn.ftz?.sat?.{f16,bf16}", "d a a a", "fma_half<$H, $(ftz), $(sat)>($1, $2, $3)"},
    {"fma.rn.ftz?.relu.{f16,bf16}", "d a a a", "fma_relu_half<$H, $(ftz), false>($1, $2, $3)"},
    {"add.rn?.ftz?.sat?.{f16x2,bf16x2}", "d a a", "pairs<add_half<$H, $(ftz), $(sat)>>($1, $2)"},
    {"sub.rn?.ftz?.sat?.{f16x2,bf16x2}", "d a a", "pairs<sub_half<$H, $(ftz), $(sat)>>($1, $2)"},
    {"mul.rn?.ftz?.sat?.{f16x2,bf16x2}", "d a a", "pairs<mul_half<$H, $(ftz), $(sat)>>($1, $2)"},
    {"fma.rn.ftz?.sat?.{f16x2,bf16x2}", "d a a a", "pairs<fma_half<$H, $(ftz), $(sat)>>($1, $2, $3)"},
    {"fma.rn.ftz?.relu.{f16x2,bf16x2}", "d a a a", "pairs<fma_relu_half<$H, $(ftz), false>>($1, $2, $3)"},
    {"min.ftz?.NaN?.xorsign.abs.{f16,bf16}", "d a a", "min_half<$H, $(ftz), $(NaN), true>($1, $2)"},
    {"max.ftz?.NaN?.xorsign.abs.{f16,bf16}", "d a a", "max_half<$H, $(ftz), $(NaN), true>($1, $2)"},
    {"min.ftz?.NaN?.{f16,bf16}", "d a a", "min_half<$H, $(ftz), $(NaN), false>($1, $2)"},
    {"max.ftz?.NaN?.{f16,bf16}", "d a a", "max_half<$H, $(ftz), $(NaN), false>($1, $2)"},
    {"min.ftz?.NaN?.xorsign.abs.{f16x2,bf16x2}", "d a a", "pairs<min_half<$H, $(ftz), $(NaN), true>>($1, $2)"},
    {"max.ftz?.NaN?.xorsign.abs.{f16x2,bf16x2}", "d a a", "pairs<max_half<$H, $(ftz), $(NaN), true>>($1, $2)"},
    {"min.ftz?.NaN?.{f16x2,bf16x2}", "d a a", "pairs<min_half<$H, $(ftz), $(NaN), false>>($1, $2)"},
    {"max.ftz?.NaN?.{f16x2,bf16x2}", "d a a", "pairs<max_half<$H, $(ftz), $(NaN), false>>($1, $2)"},
    {"abs.ftz?.{f16,bf16}", "d a", "abs_half<$H, $(ftz)>($1)"},
    {"neg.ftz?.{f16,bf16}", "d a", "neg_half<$H, $(ftz)>($1)"},
    {"abs.ftz?.{f16x2,bf16x2}", "d a", "pairs<abs_half<$H, $(ftz)>>($1)"},
    {"neg.ftz?.{f16x2,bf16x2}", "d a", "pairs<neg_half<$H, $(ftz)>>($1)"},
    {"ex2.approx.ftz?.{f16,bf16}", "d a", "ex2_half<$H, $(ftz)>($1)"},
    {"ex2.approx.ftz?.{f16x2,bf16x2}", "d a", "pairs<ex2_half<$H, $(ftz)>>($1)"},
    {"tanh.approx.{f16,bf16}", "d a", "tanh_half<$H>($1)"},
    {"tanh.approx.{f16x2,bf16x2}", "d a", "pairs<tanh_half<$H>>($1)"},

    // comparisons
    {"setp." COMPARE ".ftz?.{f32,f16}", "PP a a", {}, emit_setp},
    {"setp." COMPARE ".{f64,bf16}", "PP a a", {}, emit_setp},
    {"setp." COMPARE ".{and,or,xor}.ftz?.{f32,f16}", "PP a a p", {}, emit_setp},
    {"setp." COMPARE ".{and,or,xor}.{f64,bf16}", "PP a a p", {}, emit_setp},
    {"setp." COMPARE ".ftz?.f16x2", "PP a a", {}, emit_setp},
    {"setp." COMPARE ".bf16x2", "PP a a", {}, emit_setp},
    {"setp." COMPARE ".{and,or,xor}.ftz?.f16x2", "PP a a p", {}, emit_setp},
    {"setp." COMPARE ".{and,or,xor}.bf16x2", "PP a a p", {}, emit_setp},
    {"set." COMPARE ".ftz?.{u32,s32,f32}.{f32,f16}", "d.0 a a", {}, emit_set},
    {"set." COMPARE ".{u32,s32,f32}.{f64,bf16}", "d.0 a a", {}, emit_set},
    {"set." COMPARE ".{and,or,xor}.ftz?.{u32,s32,f32}.{f32,f16}", "d.0 a a p", {}, emit_set},
    {"set." COMPARE ".{and,or,xor}.{u32,s32,f32}.{f64,bf16}", "d.0 a a p", {}, emit_set},
};

}  // namespace
std::span<const Form> float_forms() { return rows; }
}  // namespace warploom::ptx
