// The relay of examples/ on the loom: right, it runs clean under every kind of schedule and shows its trace points;
// with each planted error it is reported: a wrong count before the first wait, missing bytes with the role, ring and
// counts that the GPU's watchdog must report too.
#include <gtest/gtest.h>

#include "../../examples/loom_machine.hpp"
#include "../../examples/relay_run.hpp"

namespace warploom::examples {
namespace {

constexpr const char* schedules[] = {"eager", "lazy", "adversarial", "random:1", "random:2", "lazy:5", "adversarial:6"};

template <Planted planted>
std::string trouble_of(const char* schedule) {
  const Result<loom::Schedule> parsed = loom::Schedule::parse(schedule);
  EXPECT_TRUE(parsed);
  LoomMachine machine(*parsed);
  Comparison words;
  run_relay<planted>(machine, 2, words);
  if (machine.trouble().empty()) {
    EXPECT_EQ(words.got, words.want);
  }
  return machine.trouble();
}

template <Planted planted>
void expect_report(const char* code, std::initializer_list<const char*> words) {
  for (const char* schedule : schedules) {
    SCOPED_TRACE(schedule);
    const std::string text = trouble_of<planted>(schedule);
    EXPECT_NE(text.find(code), std::string::npos) << text;
    for (const char* word : words)
      EXPECT_NE(text.find(word), std::string::npos) << "no \"" << word << "\" in\n" << text;
  }
}

TEST(Relay, RunsClean) {
  for (const char* schedule : schedules) EXPECT_EQ(trouble_of<Planted::nothing>(schedule), "") << schedule;
}
TEST(Relay, OneArrivalTooManyExpectedFromThreads) {
  expect_report<Planted::full_count>("RING-ARGUMENT", {"output is given 65 as its producer arrivals", "say 64"});
}
TEST(Relay, OneArrivalTooManyExpectedFromConsumers) {
  expect_report<Planted::empty_count>("RING-ARGUMENT", {"input is given 3 as its consumer arrivals", "say 2"});
}
TEST(Relay, MoreBytesArmedThanLoaded) {
  expect_report<Planted::bytes>("DEADLOCK", {"square", "input.full[0]", "1/1 arrived"});
}

TEST(Relay, TracePointsAreEvents) {
  using Kernel = Relay<Planted::nothing>;
  LoomMachine machine;
  Comparison words;
  machine.record_events();
  run_relay<Planted::nothing>(machine, 2, words);
  ASSERT_EQ(machine.trouble(), "");
  size_t spans = 0, instants = 0;
  for (const loom::Event& event : machine.events().events) {
    if (event.kind == loom::EventKind::span) ++spans;
    if (event.kind == loom::EventKind::instant) ++instants;
  }
  EXPECT_EQ(spans, 2 * Kernel::turns * Kernel::Square::warps);
  EXPECT_EQ(instants, 2u);
}

}  // namespace
}  // namespace warploom::examples
