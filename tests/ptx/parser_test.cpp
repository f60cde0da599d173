#include "ptx/parser.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "ptx/texts.hpp"

namespace warploom::ptx {
namespace {

using Kind = Operand::Kind;

const Variable& variable_of(const Module& module, std::string_view name) {
  for (const Variable& variable : module.variables)
    if (variable.name == name) return variable;
  ADD_FAILURE() << name;
  return module.variables.front();
}

const Instruction& first_of(const Function& function, std::string_view opcode) {
  for (const Instruction& instruction : function.body)
    if (instruction.op().text == opcode) return instruction;
  ADD_FAILURE() << opcode;
  return function.body.front();
}

TEST(PtxParser, ModuleAndItsVariables) {
  const Module module = parsed(sample);
  EXPECT_EQ(module.version_major, 9U);
  EXPECT_EQ(module.target, "sm_90a");
  EXPECT_EQ(module.target_number(), 90U);
  ASSERT_EQ(module.target_options.size(), 1U);
  EXPECT_EQ(module.file_name(1), "kernel.cu");
  EXPECT_EQ(module.file_name(2), "include/warp.hpp");

  const Variable& dynamic = variable_of(module, "dynamic");
  EXPECT_TRUE(dynamic.unsized && dynamic.bytes == 0 && dynamic.align == 1024 && dynamic.linkage == Linkage::external);
  const Variable& table = variable_of(module, "table");
  EXPECT_EQ(table.bytes, 16U);
  EXPECT_EQ(table.image, (std::vector<uint8_t>{1, 0, 0, 0, 255, 255}));
  const Variable& halves = variable_of(module, "halves");
  float values[3];
  ASSERT_EQ(halves.image.size(), sizeof values);
  std::memcpy(values, halves.image.data(), sizeof values);
  EXPECT_TRUE(values[0] == 0.5F && values[1] == 1.0F && values[2] == -2.0F);
  const Variable& pointers = variable_of(module, "pointers");
  ASSERT_EQ(pointers.relocations.size(), 2U);
  EXPECT_TRUE(pointers.relocations[0].generic && pointers.relocations[0].addend == 8 &&
              !pointers.relocations[0].is_function);
  EXPECT_EQ(&module.variables[pointers.relocations[0].index], &table);
  EXPECT_TRUE(pointers.relocations[1].is_function && pointers.relocations[1].offset == 8);
  const Variable& pairs = variable_of(module, "pairs");
  EXPECT_TRUE(pairs.bytes == 16 && pairs.vector == 2 && pairs.image.size() == 16);
  EXPECT_TRUE(variable_of(module, "managed").managed);
  EXPECT_EQ(variable_of(module, "tile").function, 3U);
}

TEST(PtxParser, KernelHeads) {
  const Module module = parsed(sample);
  const Function* kernel = module.find("kernel");
  ASSERT_NE(kernel, nullptr);
  EXPECT_TRUE(kernel->entry && kernel->defined && kernel->linkage == Linkage::visible);
  ASSERT_EQ(kernel->parameters.size(), 3U);
  EXPECT_TRUE(kernel->parameters[0].points_to == Space::global && kernel->parameters[0].align == 8);
  EXPECT_TRUE(kernel->parameters[1].offset == 64 && kernel->parameters[1].bytes == 128 && kernel->parameters[1].array);
  EXPECT_EQ(kernel->parameters[2].offset, 192U);
  EXPECT_EQ(kernel->parameter_bytes, 196U);
  EXPECT_EQ(kernel->directives.maxntid, (Triple{384, 1, 1}));
  EXPECT_EQ(kernel->directives.reqnctapercluster, (Triple{2, 1, 1}));
  EXPECT_EQ(kernel->directives.minnctapersm, 1U);
  EXPECT_EQ(kernel->directives.maxnreg, 168U);
  EXPECT_TRUE(kernel->directives.explicitcluster);
  ASSERT_EQ(kernel->pragmas.size(), 1U);
  const Function* helper = module.find("helper");
  ASSERT_NE(helper, nullptr);
  EXPECT_TRUE(helper->parameters[0].in_register && helper->parameters[0].register_index == 0);
  EXPECT_EQ(helper->body[0].operands[1].parts[0].kind, Kind::parameter);
  EXPECT_EQ(helper->body[2].operands[0].parts[0].kind, Kind::result);
  EXPECT_TRUE(module.find("__assertfail")->directives.noreturn);
  EXPECT_FALSE(module.find("vprintf")->defined);
}

TEST(PtxParser, Operands) {
  const Module module = parsed(sample);
  const Function& kernel = *module.find("kernel");
  EXPECT_EQ(first_of(kernel, "mov.u32").operands[1].name, "%tid.x");
  // Blanks between the parts of an opcode do not matter.
  const Instruction& load = first_of(kernel, "ld.param.u64");
  EXPECT_TRUE(load.op().is("ld", "param") && load.op().last_type() == Type::u64);
  EXPECT_TRUE(load.operands[1].is(Kind::address) && load.operands[1].parts[0].is(Kind::parameter));
  const Operand& parameter = first_of(kernel, "mov.b64").operands[1];
  EXPECT_TRUE(parameter.is(Kind::parameter) && parameter.index == 1 && parameter.offset == 64);
  EXPECT_EQ(kernel.body[3].operands[1].offset, -16);
  const Instruction& compare = first_of(kernel, "setp.lt.u32");
  EXPECT_TRUE(compare.operands[0].is(Kind::pair) && compare.operands[0].parts.size() == 2 &&
              compare.operands[3].negated);
  const Instruction& copy =
      first_of(kernel, "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes");
  ASSERT_EQ(copy.operands[1].parts.size(), 2U);
  EXPECT_TRUE(copy.operands[1].parts[1].is(Kind::vector) && copy.operands[2].offset == 16);
  EXPECT_EQ(first_of(kernel, "add.f32").operands[2].literal, Operand::Literal::f32);
  EXPECT_EQ(first_of(kernel, "add.f32").operands[2].bits, 0xBF800000U);
  EXPECT_EQ(first_of(kernel, "fma.rn.f64").operands[3].bits, 0x3FF8000000000000U);
  EXPECT_EQ(static_cast<int64_t>(first_of(kernel, "shfl.sync.idx.b32").operands[4].bits), -1);
  const Instruction& call = first_of(kernel, "call.uni");
  EXPECT_TRUE(call.operands[0].is(Kind::list) && call.operands[1].is(Kind::function) &&
              call.operands[2].parts.size() == 2);
  EXPECT_TRUE(first_of(kernel, "call").operands[3].is(Kind::prototype) && kernel.prototypes[0].noreturn);
  const Instruction& jump = first_of(kernel, "brx.idx");
  ASSERT_TRUE(jump.operands[1].is(Kind::branch_targets));
  const std::vector<uint32_t>& targets = kernel.branch_targets[jump.operands[1].index].labels;
  ASSERT_EQ(targets.size(), 2U);
  EXPECT_EQ(kernel.labels[targets[0]].name, "$L__BB0_2");
  EXPECT_TRUE(first_of(kernel, "elect.sync").operands[0].parts[0].is(Kind::sink));
  EXPECT_EQ(first_of(kernel, "elect.sync").operands[1].bits, 0xffffffffU);
  EXPECT_EQ(first_of(kernel, "mov.b32").operands[1].bits, 32U);
}

TEST(PtxParser, ScopesHaveTheirOwnRegistersAndLabels) {
  const Module module = parsed(in_kernel(R"(
    .reg .b32 %r<4>;
    .reg .pred P;
    mov.b32 %r1, 1;
    bra A;
    { .reg .b32 %r<2>;
      mov.b32 %r1, 2;
      mov.b32 %r3, %r1;
      bra A;
A:    bra B;
    }
    { mov.b32 %r1, 3; A: @P bra A; }
A:  mov.b32 %r3, %r1;
B:  ret;)"));
  const Function& kernel = module.functions[0];
  const auto reg = [&](uint32_t i, uint32_t operand) { return kernel.body[i].operands[operand].index; };
  EXPECT_NE(reg(0, 0), reg(2, 0));
  EXPECT_EQ(reg(2, 0), reg(3, 1));
  EXPECT_EQ(reg(3, 0), reg(8, 0));  // %r3 of the inner scope is that of the outer: the inner range ends at %r1
  EXPECT_EQ(reg(0, 0), reg(6, 0));
  EXPECT_EQ(reg(0, 0), reg(8, 1));
  const auto target = [&](uint32_t i) { return kernel.labels[kernel.body[i].operands[0].index].target; };
  EXPECT_EQ(target(1), 8U);
  EXPECT_EQ(target(4), 5U);
  EXPECT_EQ(target(5), 9U);
  EXPECT_EQ(target(7), 7U);
}

TEST(PtxParser, LinesLeadThroughInlinedCalls) {
  const Module module = parsed(sample);
  const Function& kernel = *module.find("kernel");
  const Location& inner = module.locations[first_of(kernel, "ld.param.u64").location];
  EXPECT_TRUE(inner.file == 2 && inner.line == 99 && inner.column == 5);
  EXPECT_EQ(inner.function, "");  // label + 5: the end of the string
  const Location& middle = module.locations[inner.inlined_at];
  EXPECT_EQ(middle.function, "_Z1fv");
  EXPECT_EQ(middle.line, 77U);
  const Location& outer = module.locations[middle.inlined_at];
  EXPECT_TRUE(outer.line == 10 && outer.inlined_at == no_index && outer.function.empty());
  EXPECT_EQ(module.locations[first_of(kernel, "setp.lt.u32").location].line, 11U);
}

TEST(PtxParser, DeclarationsAndAliases) {
  const Module module = parsed(
      ".version 8.8\n.target sm_100a\n.func a(.param .b32 x);\n.func b(.param .b32 y)\n;\n"
      ".func a(.param .b32 z) { ret; }\n.alias b, a;\n.extern .global .u32 g;\n.visible .global .u32 g = 7;\n.global "
      ".b8 s[] = {1, 2, 3};\n"
      ".global .u64 list[1] = {list};\n");
  EXPECT_EQ(module.functions.size(), 2U);
  EXPECT_TRUE(module.functions[0].defined && module.functions[0].parameters[0].name == "z");
  EXPECT_EQ(module.functions[1].alias_of, 0U);
  EXPECT_EQ(module.variables.size(), 3U);
  EXPECT_EQ(module.variables[0].image.size(), 4U);
  EXPECT_EQ(module.variables[1].bytes, 3U);
  EXPECT_EQ(module.variables[2].relocations[0].index, 2U);
}

TEST(PtxParser, TextsOfFatBinariesEndInZeros) {
  EXPECT_EQ(parsed(in_kernel("ret;") + std::string(8, '\0')).functions.size(), 1U);
  EXPECT_NE(refusal_of(in_kernel(std::string("ret;\0ret;", 9))), "");
}

TEST(PtxParser, AModuleCanBeMoved) {
  Module first = parsed(in_kernel(".reg .b32 %r<2>; mov.b32 %r1, 1; mov.b32 %r1, 2;"));
  const Module second = std::move(first);
  EXPECT_EQ(second.functions[0].body[0].opcode, second.functions[0].body[1].opcode);
  EXPECT_EQ(second.functions[0].body[0].op().part(1), "b32");
  EXPECT_EQ(second.functions[0].registers[0].name, "%r1");
}

// ---- what is refused, and in which line

struct Wrong {
  const char* body;
  const char* sentence;  ///< behind file and line; its beginning
  uint32_t line = first_line;
};

TEST(PtxParser, RefusalsInKernelsNameTheLine) {
  const Wrong cases[] = {
      {"mov.b32 %r9, 1;", "there is no register called %r9"},
      {".reg .b32 %r<9>; mov.b32 %r9, 1;", "there is no register called %r9"},
      {".reg .b32 %r<9>; mov.b32 %r01, 1;", "there is no register called %r01"},
      {"\n bra L;", "no register, variable, label or function is called L", first_line + 1},
      {"{ L: } \n { bra L; }", "no register, variable, label or function is called L", first_line + 1},
      {"L: \n L: ret;", "the label L is defined twice, first in line 6", first_line + 1},
      {".reg .b32 a;\n.reg .b32 a;", "a is declared twice, first in line 6", first_line + 1},
      {".reg .b32 %r<4>, %r<5>;", "the registers %r are declared twice"},
      {".reg .b32 %r1; @%r1 ret;", "'@' must be followed by a predicate register, which %r1 is not"},
      {".reg .b32 %r1; mov.b32 %r1, !%r1;", "'!' must be followed by a predicate register"},
      {".reg .v2 .b32 v;", "registers that are vectors are not supported"},
      {".reg .b32 .f32 v;", "a declaration has one type"},
      {".local .texref t;", "textures and surfaces are not supported"},
      {"ret", "an operand must come here, not '}'", first_line + 1},
      {".reg .b32 %r1; mov.b32 %r1 1;", "';' must come after an instruction, but here is '1'"},
      {".reg .b32 %r1; mov.b32 %r1, 18446744073709551616;", "'18446744073709551616' is not a number"},
      {".reg .b32 %r1; mov.b32 %r1, 0f3F8000;", "'0f3F8000' is not a number"},
      {".reg .b32 %r1; mov.b32 %r1, 089;", "'089' is not a number"},
      {".reg .b32 %r1; mov.b32 %r1, [];", "an address needs a register, a name or a number"},
      {".reg .b32 %r1; mov.b32 %r1, \"x\";", "an operand must come here, not \"x\""},
      {".reg .b32 %r1; mov.b32 %r1, [%r1+0f3F800000];", "an offset must be a whole number of bytes"},
      {"T: .branchtargets U; U: .branchtargets T; ", "U is no label to branch to"},
      {"C: .calltargets f;", "lists of call targets are not supported"},
      {"%r1: ret;", "'%r1' cannot be the name of a label"},
      {"$x;", "an instruction must come here"},
      {"/* a\n\n*/ // b\n $;", "an instruction must come here", first_line + 3},
      {"ret; /* no end", "a comment that begins with /* does not end"},
      {"ret; `", "a character that PTX does not have"},
      {".pragma \"no end;", "a string does not end in its line"},
      {".loc 1 2;", "a number must come here"},
      {".shared .b32 x = 1;", "only variables in .global and .const have an initial value"},
      {".shared .pred x;", "a predicate lives in registers only"},
      {".shared .align 3 .b32 x;", "an alignment must be a power of two"},
      {".shared .b32 x[1099511627777];", "the size of an array must be a whole number"},
      {".shared .b32 x[1099511627776];", "x is larger than 1 TiB"},
      {".maxntid 1;", "'.maxntid' begins no instruction"},
  };
  for (const Wrong& wrong : cases) {
    const std::string expected = fmt::format("test.ptx:{}: {}", wrong.line, wrong.sentence);
    EXPECT_EQ(refusal_of(in_kernel(wrong.body)).substr(0, expected.size()), expected) << wrong.body;
  }
}

TEST(PtxParser, RefusalsInModulesNameTheLine) {
  const Wrong cases[] = {
      {".global .b32 x[2] = {1, 2, 3};", "x has more values than elements"},
      {".global .b32 x[2][2] = {{1, 2, 3}};", "x has more values than elements"},
      {".global .b32 x[2][2] = {1, {2}};", "the values of x before this brace fill no whole row"},
      {".global .b32 x[2] = {{1}};", "the values of x are nested deeper than its dimensions"},
      {".global .b32 x[2][0];", "only the first dimension of an array may be empty"},
      {".global .b32 x[2][];", "only the first dimension of an array may be left open"},
      {".global .b32 x = y;", "y is no variable and no function"},
      {".global .b64 x;\n.global .b32 y = x;", "an address has 8 bytes", 5},
      {".global .b8 x[2][1000000000] = {{1}, {1}};", "the initial values of this module reach over more than 256 MiB"},
      {".func f { ret; }\n.func f { ret; }", "f has two bodies, the first in line 4", 5},
      {".func f;\n.entry f { ret; }", "f is a kernel in one place and a function in another", 5},
      {".entry k { ret;", "the body of k has no closing brace"},
      {".entry k .maxntid 1 .maxntid 2 { ret; }", "a size is given twice"},
      {".entry k .fast { ret; }", "'.fast' is no directive of a function"},
      {".entry k(.param .b32 x[]) { ret; }", "a parameter needs a size"},
      {".alias a, b;", ".alias needs functions that are declared before it, and a is none"},
      {".target sm_100a", "there is a second .target"},
      {".address_size 32", "addresses of 32 bits are not supported"},
      {".tex .u64 t;", "'.tex' begins no directive"},
      {"ret;", "'ret' begins no directive"},
      {".section .debug_str { .b8 256 }", "a byte of .debug_str must be a whole number of at most 255"},
      {".section .debug_loc { .b8 1", "the section .debug_loc has no closing brace"},
      {".file 70000 \"x\"", "the number of a file must be a whole number of at most 65535"},
  };
  for (const Wrong& wrong : cases) {
    const std::string expected =
        fmt::format("test.ptx:{}: {}", wrong.line == first_line ? 4 : wrong.line, wrong.sentence);
    EXPECT_EQ(refusal_of(std::string(".version 9.0\n.target sm_90a\n.address_size 64\n") + wrong.body)
                  .substr(0, expected.size()),
              expected)
        << wrong.body;
  }
  EXPECT_EQ(refusal_of(""),
            "test.ptx:1: there is no .target: this is not a PTX module (nvcc -ptx -arch=sm_90a writes one)");
  EXPECT_EQ(refusal_of(".version 9\n").substr(0, 30), "test.ptx:1: .version needs a v");
}

// Nothing in a text may cost more than its length: not how deep it nests, how far a name is searched, how many elements
// it promises.
TEST(PtxParser, LongTextsTakeLinearTime) {
  std::string deep(100'000, '{');
  EXPECT_NE(refusal_of(in_kernel(deep)).find("scopes are nested more than 256 deep"), std::string::npos);
  EXPECT_NE(refusal_of(in_kernel("mov " + std::string(100'000, '[') + ";")).find("operands are nested more than"),
            std::string::npos);
  EXPECT_NE(refusal_of(in_kernel("mov _" + std::string(100'000, '|') + "_;")).find("an operand must come here"),
            std::string::npos);
  std::string pairs = "mov _";
  for (int i = 0; i < 100'000; ++i) pairs += "|_";
  EXPECT_NE(refusal_of(in_kernel(pairs + ";")), "");

  std::string scopes = ".reg .b32 %r<1000000000>; .reg .b32 %r1<1000000000>;";
  for (int i = 0; i < 20'000; ++i)
    scopes += fmt::format("{{ .reg .pred P; .reg .b32 %r<{}>; L: @P bra L; @P bra M; mov.b32 %r1{}, 1; }}\n", i, i);
  const Module module = parsed(in_kernel(scopes + "M: ret;"));
  EXPECT_EQ(module.functions[0].body.size(), 60'001U);
  EXPECT_EQ(module.functions[0].labels.size(), 20'001U);
}

}  // namespace
}  // namespace warploom::ptx
