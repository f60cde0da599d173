// From lines of PTX to lines of the source, with the functions that were inlined there.
#include "ptx/source_lines.hpp"

#include <gtest/gtest.h>

#include "loom/report/origins.hpp"

namespace warploom::ptx {
namespace {

const std::string text = R"(.version 8.0
.target sm_90
.address_size 64
.file 1 "/home/me/kernel.cu"
.file 2 "/opt/cutlass/include/cute/arch/copy.hpp"
.visible .entry k()
{
  .reg .b32 %r<4>;
  .loc 1 12 3
  mov.u32 %r1, 1;
  .loc 2 40 5, function_name $L__info_string0, inlined_at 1 14 7
  mov.u32 %r2, 2;
  .loc 1 20 1
  ret;
}
.section .debug_str
{
$L__info_string0:
.b8 95,90,51,112,117,116,118,0
}
)";

TEST(SourceLines, ALineComesFromWhereLocSays) {
  const SourceLines lines(text, "k.ptx");
  const auto plain = lines.at(10);
  ASSERT_EQ(plain.size(), 1u);
  EXPECT_EQ(plain[0].file, "/home/me/kernel.cu");
  EXPECT_EQ(plain[0].line, 12u);
  EXPECT_EQ(plain[0].function, "k");
  EXPECT_TRUE(lines.at(9).empty());  // a directive
  EXPECT_TRUE(lines.at(99).empty());
}

TEST(SourceLines, AnInlinedLineHasItsCallers) {
  const auto chain = SourceLines(text, "k.ptx").at(12);
  ASSERT_EQ(chain.size(), 2u);
  EXPECT_EQ(chain[0].file, "/opt/cutlass/include/cute/arch/copy.hpp");
  EXPECT_EQ(chain[0].line, 40u);
  EXPECT_EQ(chain[0].function, "put");
  EXPECT_EQ(chain[1].line, 14u);
  EXPECT_EQ(loom::inline_chain(chain), "inlined: arch/copy.hpp:40, from me/kernel.cu:14");
}

TEST(SourceLines, AReportNamesTheKernelsLineAndNotTheWrappers) {
  const auto chain = SourceLines(text, "k.ptx").at(12);
  const loom::Location at = loom::location_of_origin("/home/me/k.ptx", 12, chain);
  EXPECT_EQ(at.user.file, "me/kernel.cu");
  EXPECT_EQ(at.user.line, 14u);
  EXPECT_EQ(at.library.file, "me/k.ptx");
  EXPECT_EQ(at.library.line, 12u);
  // Without line information the line of the PTX is all there is.
  EXPECT_EQ(loom::location_of_origin("/home/me/k.ptx", 12, {}).user.line, 12u);
}

TEST(SourceLines, TextThatIsNoPtxHasNone) { EXPECT_TRUE(SourceLines("frob", "k.ptx").at(1).empty()); }

}  // namespace
}  // namespace warploom::ptx
