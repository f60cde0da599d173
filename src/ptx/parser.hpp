// Reads PTX text into a Module. Used by whatever translates, describes or launches PTX.
//
//   Result<Module> module = parse(text, "gemm.ptx");
//   if (!module) puts(module.error().c_str());   // gemm.ptx:17: no register, variable or label is called %r9
//
// Any bytes may be handed over: what is no PTX is refused with its line. The time is linear in the length of the text.
#pragma once

#include <string>
#include <string_view>

#include "ptx/module.hpp"
#include "warploom/types/result.hpp"

namespace warploom::ptx {

/// `name` is what errors call the text: a file's name.
Result<Module> parse(std::string_view text, std::string_view name);

}  // namespace warploom::ptx
