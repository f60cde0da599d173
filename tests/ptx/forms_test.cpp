// The table of forms: what it lists it finds, what it lacks it refuses with a sentence.
#include "ptx/forms.hpp"

#include <gtest/gtest.h>

#include "loom/observe/check/operations.hpp"
#include "ptx/emit.hpp"
#include "ptx/parser.hpp"

namespace warploom::ptx {
namespace {

Opcode opcode_of(std::string_view text) {
  Opcode opcode;
  for (size_t dot = text.find('.'); dot != text.npos; dot = text.find('.')) {
    opcode.parts.push_back(text.substr(0, dot));
    text.remove_prefix(dot + 1);
  }
  opcode.parts.push_back(text);
  return opcode;
}

TEST(Forms, FindWhatTheyList) {
  size_t spelled = 0;
  for (const Form& form : forms()) {
    EXPECT_NE(form.code.empty(), form.emit == nullptr) << form.pattern << ": code or an emitter";
    const std::vector<std::string> all = spellings(form.pattern);
    ASSERT_FALSE(all.empty()) << form.pattern;
    for (size_t i = 0; i < all.size(); i += 1 + all.size() / 50) {
      const Opcode opcode = opcode_of(all[i]);
      ++spelled;
      EXPECT_TRUE(matches(form.pattern, opcode)) << all[i];
      const Form* found = find_form(opcode);
      ASSERT_NE(found, nullptr) << all[i];
      EXPECT_EQ(found->emit, form.emit) << all[i] << " is also " << found->pattern;
    }
  }
  EXPECT_GT(spelled, 3000u);
}

TEST(Forms, NameOperationsOfTheMachine) {
  for (const Form& form : forms())
    if (!form.operation.empty()) {
      EXPECT_TRUE(loom::check::has_row(form.operation)) << form.pattern << ": " << form.operation;
    }
}

TEST(Forms, TakeNoOther) {
  for (const char* text : {"add.u8", "add", "add.u32.u32", "add.rn.u32", "fma.f32", "tex.1d.v4.f32.s32",
                           "wgmma.mma_async.sync.aligned.m64n8k16.f64.f64.f64", "setp.lo.f32"})
    EXPECT_EQ(find_form(opcode_of(text)), nullptr) << text;
}

/// The text of a kernel with that one instruction.
std::string kernel_with(const std::string& instruction) {
  return ".version 8.8\n.target sm_90a\n.address_size 64\n.shared .align 8 .b8 tile[64];\n"
         ".visible .entry k(.param .u64 p) {\n.reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .pred %p<4>; .reg .b128 "
         "%q<2>;\n" +
         instruction + "\nret;\n}\n";
}
std::string error_of(const std::string& instruction) {
  const Result<Module> module = parse(kernel_with(instruction), "k.ptx");
  if (!module) return "parser: " + module.error();
  const Result<std::string> code = emit(*module);
  return code ? "" : code.error();
}

TEST(Emit, RefusesWithFileAndLine) {
  EXPECT_EQ(error_of("tex.1d.v4.s32.s32 {%r1, %r2, %r3, %r4}, [%rd1, {%r5}];"),
            "k.ptx:7: tex.1d.v4.s32.s32: textures are not translated");
  EXPECT_EQ(error_of("frobnicate.u32 %r1, %r2;"),
            "k.ptx:7: frobnicate.u32: the translator has no such instruction, or not in this form");
  EXPECT_EQ(error_of("add.u32 %r1, %r2;"), "k.ptx:7: add.u32: these operands are not what this instruction takes");
  EXPECT_EQ(error_of("mov.b32 %r1, %q1;"), "k.ptx:7: %q1 is a register of type .b128, and the instruction reads .b32");
}

TEST(Emit, WritesWhatItReads) {
  const auto code_of = [](const std::string& instruction) {
    const Result<Module> module = parse(kernel_with(instruction), "k.ptx");
    EXPECT_TRUE(module) << module.error();
    const Result<std::string> code = emit(*module);
    EXPECT_TRUE(code) << code.error();
    return code ? *code : std::string();
  };
  EXPECT_NE(code_of("@!%p1 add.u32 %r1, %r2, -1;").find("if (!qp1_"), std::string::npos);
  EXPECT_NE(code_of("@!%p1 add.u32 %r1, %r2, -1;").find("+ 4294967295u"), std::string::npos);
  EXPECT_NE(code_of("add.u32 %r1, %r2, 1;").find("#line 7 \"k.ptx\""), std::string::npos);
  EXPECT_NE(code_of("mov.u32 %r1, tile;").find("shared_variable(0)"), std::string::npos);
  EXPECT_NE(code_of("atom.global.add.u32 %r1, [%rd1], 1;").find("true, 2}"), std::string::npos)
      << "an atomic on global memory talks across clusters";
}

TEST(Emit, LaysOutSharedMemory) {
  const std::string text =
      ".version 8.8\n.target sm_90a\n.address_size 64\n.shared .align 4 .b8 a[20];\n.shared .align 16 .b8 b[32];\n"
      ".extern .shared .align 128 .b8 dynamic[];\n.shared .align 4 .b8 others[4096];\n"
      ".visible .entry k() {\n.reg .b32 %r<8>;\nmov.u32 %r1, a;\nmov.u32 %r2, b;\nmov.u32 %r3, dynamic;\nret;\n}\n";
  const Result<Module> module = parse(text, "k.ptx");
  ASSERT_TRUE(module) << module.error();
  const KernelFacts facts = facts_of(*module, *module->find("k"));
  EXPECT_EQ(facts.static_shared, 64u) << "what the kernel cannot reach takes no room";
  EXPECT_EQ(facts.dynamic_offset, 128u);
  EXPECT_EQ(facts.dynamic_align, 128u);
}

}  // namespace
}  // namespace warploom::ptx
