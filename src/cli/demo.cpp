#include <fmt/format.h>

#include <algorithm>

#include "cli/session.hpp"
#include "cli/tell.hpp"
#include "cli/terminal.hpp"

namespace warploom::cli {
namespace {

void heading(int act, const char* text, bool color) {
  say("\n{}{}. {}{}\n\n", color ? "\033[1m" : "", act, text, color ? "\033[0m" : "");
}

}  // namespace

int demo() {
  const bool color = terminal().color;
  RunArguments arguments;
  arguments.kernel = "blockwise-fp8";
  arguments.m = 768;
  arguments.n = 256;
  arguments.k = 1664;
  arguments.beta = 0.5f;
  arguments.config = "e4m3-blocks-128x128-2sm-2x1";
  arguments.sms = 4;
  Result<std::unique_ptr<Session>> prepared = Session::prepare(arguments);
  if (!prepared) return bad(prepared, false);
  Session* const session = prepared->get();

  heading(1, "A Blackwell GEMM on this CPU", color);
  say("blockwise FP8, D = A * B^T + 0.5 * C, {} x {} x {}, CTA pairs (2-SM), three tiles per pair.\n"
      "Its rings and contexts: InputTilePipeline feeds the tensor core, OutputTilePipeline hands each K block's\n"
      "accumulator to the epilogue (EpilogueKContext), EpiLoadPipeline brings C; MmaWarpContext and "
      "EpilogueWarpContext\n"
      "own tensor memory.\n\n",
      arguments.m, arguments.n, arguments.k);
  loom::Options options = session->options();
  options.record_events = true;
  options.record_sites = true;
  Result<loom::Outcome> outcome = session->launch(options);
  if (!outcome) return bad(outcome, false);
  if (outcome->refused) return refused(*outcome, false);
  if (!outcome->ok()) {
    put(to_text(outcome->report));
    return finding;
  }
  say("{}", render_timeline(outcome->events, {.cluster = 0, .width = 90, .color = color}));
  const GemmData::Accuracy accuracy = session->compare();
  const bool correct = session->correct(accuracy);
  say("\n{}: against double, the largest error is {:.2g} of the largest value and diff is {:.1e} (bf16 rounding "
      "alone: 1.4e-06)\n",
      correct ? "correct" : "WRONG", accuracy.max_rel_error, accuracy.diff);

  heading(2, "The same kernel with one release dropped", color);
  const auto site = std::find_if(outcome->sites.begin(), outcome->sites.end(), [](const loom::Site& candidate) {
    return candidate.operation == "mbarrier.arrive" && candidate.object == "input.empty";
  });
  if (site == outcome->sites.end()) {
    say("the kernel has no such release\n");
    return 1;
  }
  say("The epilogue no longer tells the load warp that it has read the scales of a slot. On a GPU this is a silent\n"
      "hang. Here:\n\n");
  loom::Options broken = session->options();
  broken.mutation = loom::Mutation{site->key(), loom::MutationKind::drop};
  Result<loom::Outcome> report = session->launch(broken);
  if (!report) return bad(report, false);
  if (report->refused) return refused(*report, false);
  say("{}", to_text(report->report));

  heading(3, "What to try next", color);
  say("  build/bin/warploom run blockwise-fp8 --m 300 --n 520 --k 1000 --beta 1 --policy adversarial\n"
      "  build/bin/warploom run blockwise-fp8 --m 384 --n 128 --k 1152 --sms 2 --timeline --config "
      "e4m3-blocks-128x64-1sm-1x2\n"
      "  build/bin/warploom mutate blockwise-fp8\n\n");
  return correct && !report->ok() ? 0 : 1;
}

}  // namespace warploom::cli
