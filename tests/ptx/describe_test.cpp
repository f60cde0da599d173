#include "ptx/describe.hpp"

#include <gtest/gtest.h>

#include "ptx/texts.hpp"
#include "support/json.hpp"

namespace warploom::ptx {
namespace {

std::string no_copies(const Module&, const Instruction& instruction) {
  return instruction.op().base() == "cp" ? "copies are not supported" : "";
}

TEST(PtxDescribe, TellsWhatIsInAModule) {
  const Module module = parsed(sample);
  const std::string text = describe(module, no_copies);
  for (const char* line : {
           "test.ptx: PTX 9.0 for sm_90a, 1 kernel, 1 function, ",
           "\nkernel kernel\n  parameters     3 in 196 bytes\n       +0  kernel_0: .u64, pointer to global\n      +64  "
           "kernel_1: 128 bytes, aligned to 64\n",
           "\n  shared memory  64 bytes\n",
           "\n  launch         at most 384 x 1 x 1 threads\n                 at least 1 CTAs on an SM\n                "
           " at most 168 registers\n",
           "\n                 clusters of 2 x 1 x 1 CTAs\n",
           "\n  mbarrier       1 loops that wait, 0 single tests\n",
           "\nfunction helper\n  parameters     2 in 32 bytes\n",
           "\n        1  shfl.sync.idx.b32\n",
           "\nnot supported\n  test.ptx:59: "
           "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes: copies are not supported\n",
       })
    EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
  EXPECT_NE(describe(module, {}).find("\neverything in it is supported\n"), std::string::npos);
  EXPECT_EQ(demangled("_Z1fv"), "f()");
}

TEST(PtxDescribe, CountsSharedMemoryOfCalledFunctions) {
  const Module module = parsed(
      ".version 9.0\n.target sm_90a\n.shared .align 8 .b8 used[12];\n.shared .b8 unused[100];\n.extern .shared .b8 "
      "more[];\n"
      ".func f { .reg .b32 r; .shared .align 8 .b8 own[8]; mov.b32 r, used; mov.b32 r, own; mov.b32 r, more; ret; "
      "}\n.entry k { call f; ret; }\n.entry l { ret; }\n");
  const ModuleFacts facts = facts_of(module, {});
  ASSERT_EQ(facts.functions.size(), 3U);
  EXPECT_EQ(facts.functions[0].static_shared, 24U);
  EXPECT_TRUE(facts.functions[0].dynamic_shared);
  EXPECT_EQ(facts.functions[1].static_shared, 0U);
}

TEST(PtxDescribe, IsJsonForPrograms) {
  const test::json json = test::parse_json(describe_json(parsed(sample), no_copies));
  EXPECT_EQ(json["target"], "sm_90a");
  EXPECT_EQ(json["functions"][0]["parameters"][1]["offset"], 64);
  EXPECT_EQ(json["functions"][0]["launch_bounds"]["maxntid"], (std::vector<int>{384, 1, 1}));
  EXPECT_EQ(json["unsupported"][0]["line"], 59);
  EXPECT_EQ(json["forms"]["ret"], 2);
  // A file's name may be any bytes.
  const Result<Module> module = parse(".version 9.0\n.target sm_90a\n.entry k { ret; }", "\xff.ptx");
  ASSERT_TRUE(module);
  EXPECT_EQ(test::parse_json(describe_json(*module, {}))["file"], "\xef\xbf\xbd.ptx");
}

}  // namespace
}  // namespace warploom::ptx
