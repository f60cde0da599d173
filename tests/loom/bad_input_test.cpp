// What a user may get wrong before or inside a launch: each is answered with one sentence, and the process lives on to
// run the next kernel. (Device-side rules have tests of their own, next to the units they are about.)
#include <functional>
#include <stdexcept>

#include "loom/probe_kernel.hpp"

namespace warploom::loom {
namespace {

using namespace probe;

bool one_sentence(const std::string& text) {
  const bool ends = text.ends_with('.');
  return text.size() > 20 && text.find('\n') == std::string::npos && text.find(". ") == std::string::npos &&
         (ends || std::isalnum(static_cast<unsigned char>(text.back())) != 0 || text.back() == ')');
}

alignas(128) std::array<std::byte, 4096> memory;

TensorMapArgs legal() {
  TensorMapArgs args;
  args.type = TmaType::bf16;
  args.rank = 3;
  args.address = memory.data();
  args.dims = {32, 8, 4, 1, 1};
  args.strides = {64, 512, 16, 16};
  args.box = {16, 4, 2, 1, 1};
  return args;
}

TEST(BadInput, EveryRuleOfATensorMapHasItsSentence) {
  struct Rule {
    std::function<void(TensorMapArgs&)> broken;
    const char* words;
    Chip chip = Chip::sm100;
  };
  const auto im2col = [](TensorMapArgs& args) -> Im2colWindow& {
    args.im2col.emplace();
    args.im2col->channels = 16;
    args.im2col->pixels = 8;
    return *args.im2col;
  };
  const auto packed = [](TensorMapArgs& args) {
    args.type = TmaType::u6_align16;
    args.dims[0] = 256;
    args.box[0] = 128;
    args.strides = {192, 1536, 32, 32};
  };
  const Rule rules[] = {
      {[](TensorMapArgs& a) { a.address = memory.data() + 8; }, "address must be a multiple of 16"},
      {[](TensorMapArgs& a) { a.type = static_cast<TmaType>(16); }, "data type code 16"},
      {[](TensorMapArgs& a) { a.rank = 0; }, "rank is 0"},
      {[](TensorMapArgs& a) { a.rank = 6; }, "rank is 6"},
      {[](TensorMapArgs& a) { a.dims[1] = 0; }, "size of dimension 1 is 0"},
      {[](TensorMapArgs& a) { a.dims[2] = (uint64_t{1} << 32) + 1; }, "size of dimension 2"},
      {[](TensorMapArgs& a) { a.strides[0] = 72; }, "stride of dimension 1 is 72"},
      {[](TensorMapArgs& a) { a.strides[1] = uint64_t{1} << 40; }, "below 2^40"},
      {[](TensorMapArgs& a) { a.box[1] = 0; }, "box size of dimension 1 is 0"},
      {[](TensorMapArgs& a) { a.box[1] = 257; }, "box size of dimension 1 is 257"},
      {[](TensorMapArgs& a) { a.box[0] = 12; }, "row of the box is 24 bytes"},
      {[](TensorMapArgs& a) { a.element_strides[1] = 0; }, "element stride of dimension 1 is 0"},
      {[](TensorMapArgs& a) { a.element_strides[2] = 9; }, "element stride of dimension 2 is 9"},
      {[](TensorMapArgs& a) { a.box = {256, 256, 2, 1, 1}; }, "more than the shared memory"},
      {[](TensorMapArgs& a) { a.interleave = 3; }, "interleave code 3"},
      {[](TensorMapArgs& a) { a.interleave = 1, a.rank = 2; }, "interleaved tensor map needs rank 3"},
      {[](TensorMapArgs& a) { a.interleave = 2, a.address = memory.data() + 16; }, "multiple of 32"},
      {[](TensorMapArgs& a) { a.swizzle = static_cast<Swizzle>(7); }, "swizzle code 7"},
      {[](TensorMapArgs& a) { a.swizzle = Swizzle::b128_atom64; }, "need sm_100", Chip::sm90},
      {[](TensorMapArgs& a) { a.swizzle = Swizzle::b32, a.box[0] = 32; }, "more than the swizzle's span of 32"},
      {[](TensorMapArgs& a) { a.l2_promotion = 4; }, "L2 promotion code 4"},
      {[](TensorMapArgs& a) { a.fill = static_cast<TmaFill>(2); }, "fill code 2"},
      {[](TensorMapArgs& a) { a.fill = TmaFill::nan, a.type = TmaType::u16; }, "NaN only for floating-point"},
      {[&](TensorMapArgs& a) { packed(a); }, "need sm_100", Chip::sm90},
      {[&](TensorMapArgs& a) { packed(a), a.dims[0] = 192; }, "multiple of 128"},
      {[&](TensorMapArgs& a) { packed(a), a.box[0] = 64; }, "it must be 128"},
      {[&](TensorMapArgs& a) { packed(a), a.strides[0] = 208; }, "multiple of 32"},
      {[&](TensorMapArgs& a) { packed(a), a.swizzle = Swizzle::b64; }, "take no swizzle"},
      {[](TensorMapArgs& a) { a.type = TmaType::u4_align8, a.dims[0] = 33, a.box[0] = 32; }, "multiple of 2"},
      {[&](TensorMapArgs& a) { im2col(a), a.rank = 2; }, "im2col tensor map needs 3 to 5"},
      {[&](TensorMapArgs& a) { im2col(a).lower[0] = -32769; }, "corner of the im2col window is -32769"},
      {[&](TensorMapArgs& a) { im2col(a).upper[0] = -8; }, "window is empty along dimension 1"},
      {[&](TensorMapArgs& a) { im2col(a).channels = 264; }, "264 channels"},
      {[&](TensorMapArgs& a) { im2col(a).channels = 4; }, "row of the box is 8 bytes"},
      {[&](TensorMapArgs& a) { im2col(a).pixels = 1025; }, "1025 pixels"},
  };
  ASSERT_TRUE(encode_tensor_map(legal(), Chip::sm90));
  TensorMapArgs args = legal();
  packed(args);
  ASSERT_TRUE(encode_tensor_map(args, Chip::sm100));
  args = legal();
  im2col(args);
  ASSERT_TRUE(encode_tensor_map(args, Chip::sm90));
  for (const Rule& rule : rules) {
    args = legal();
    rule.broken(args);
    const Result<TensorMap> map = encode_tensor_map(args, rule.chip);
    ASSERT_FALSE(map) << rule.words;
    EXPECT_TRUE(contains(map.error(), rule.words)) << map.error();
    EXPECT_TRUE(one_sentence(map.error())) << map.error();
  }
}

/// Runs it, and then a kernel that must still run; returns the sentence.
std::string answer(const LaunchConfig& config, Entry entry, const char* code) {
  Options options;
  options.seconds_limit = 0.2;
  const Outcome outcome = launch(config, entry, nullptr, {}, options);
  EXPECT_TRUE(launch({.threads = 64, .shared_bytes = 1024}, [](const void*) { syncthreads(); }, nullptr, {}).ok());
  if (outcome.report.findings.size() != 1) return "no finding";
  EXPECT_EQ(outcome.report.findings[0].code, code);
  EXPECT_TRUE(one_sentence(outcome.report.findings[0].message)) << outcome.report.findings[0].message;
  return outcome.report.findings[0].message;
}

void nothing(const void*) {}

// The recursion must keep its frames, so that the stack really grows.
[[maybe_unused]] __attribute__((noinline)) int deep(volatile int* depth) {
  volatile char frame[1024];
  frame[0] = static_cast<char>(*depth);
  *depth = *depth + 1;
  return (*depth < 0 ? 0 : deep(depth)) + frame[0];
}

TEST(BadInput, LaunchesAndKernelsThatCannotBe) {
  EXPECT_EQ(answer({.shared_bytes = 228 * 1024}, &nothing, "LAUNCH"),
            "233472 bytes of shared memory per CTA; at most 232448 are possible");
  EXPECT_EQ(answer({.threads = 2048}, &nothing, "LAUNCH"),
            "2048 threads per CTA; a multiple of 32 up to 1024 is possible");
  EXPECT_TRUE(contains(answer(
                           {},
                           [](const void*) {
                             volatile bool for_ever = thread_index() == 3;
                             while (for_ever) {
                             }
                           },
                           "ENDLESS-LOOP"),
                       "a loop does not end"));
  EXPECT_TRUE(contains(answer(
                           {},
                           [](const void*) {
                             if (thread_index() == 3) throw std::runtime_error("no");
                             syncwarp();
                           },
                           "EXCEPTION"),
                       "the kernel threw an exception"));
#if !defined(__SANITIZE_ADDRESS__)  // which has its own word on it
  EXPECT_TRUE(contains(answer(
                           {},
                           [](const void*) {
                             volatile int depth = 0;
                             if (thread_index() == 3) deep(&depth);
                           },
                           "STACK"),
                       "overran its stack"));
#endif
}

// A loop that keeps calling the machine has no need of the wall clock.
TEST(BadInput, EndlessOperations) {
  Options options;
  options.step_limit = 2000;
  const Outcome outcome = launch(
      {},
      [](const void*) {
        for (;;) syncwarp();
      },
      nullptr, {}, options);
  ASSERT_EQ(outcome.report.findings.size(), 1u);
  EXPECT_EQ(outcome.report.findings[0].code, "STEP-LIMIT");
}

// Loops in several threads of several clusters end, too, and the first is reported.
TEST(BadInput, EndlessLoopsEverywhere) {
  Options options;
  options.seconds_limit = 0.1;
  const Outcome outcome = launch(
      {.grid = {3}, .threads = 64},
      [](const void*) {
        volatile bool for_ever = true;
        while (for_ever) {
        }
      },
      nullptr, {}, options);
  ASSERT_EQ(outcome.report.findings.size(), 1u);
  EXPECT_EQ(outcome.report.findings[0].code, "ENDLESS-LOOP");
  EXPECT_EQ(outcome.report.cluster, 0u);
}

}  // namespace
}  // namespace warploom::loom
