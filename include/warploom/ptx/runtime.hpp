// What translated PTX is made of. The emitter (src/ptx/emit.hpp) writes C++ that includes this header alone; it is
// installed, because programs are translated where they run. One example, of `add.ftz.f32 %f3, %f1, %f2;`:
//
//   f3 = U(add_f32<Round::nearest, true>(F(f1), F(f2)));
#pragma once

#include "warploom/ptx/conversions.hpp"
#include "warploom/ptx/tensors.hpp"
