#include <gtest/gtest.h>

#include "warploom/loom/launch.hpp"

namespace warploom::loom {
namespace {

TEST(ScheduleText, Forms) {
  EXPECT_EQ(Schedule{}.text(), "eager");
  EXPECT_EQ((Schedule{Policy::random, 0x7f3a}.text()), "random:7f3a");
  EXPECT_EQ((Schedule{Policy::lazy, 0, 1}.text()), "lazy:0:skew=1");
  EXPECT_EQ((Schedule{Policy::adversarial, ~uint64_t{0}, 15}.text()), "adversarial:ffffffffffffffff:skew=15");
}

TEST(ScheduleText, RoundTrip) {
  for (const Policy policy : {Policy::eager, Policy::lazy, Policy::random, Policy::adversarial}) {
    for (const uint64_t seed : {uint64_t{0}, uint64_t{1}, uint64_t{0xdeadbeef}, ~uint64_t{0}}) {
      for (const int skew : {-1, 0, 7}) {
        const Schedule schedule{policy, seed, skew};
        const Result<Schedule> parsed = Schedule::parse(schedule.text());
        ASSERT_TRUE(parsed) << schedule.text();
        EXPECT_EQ(parsed->policy, policy) << schedule.text();
        EXPECT_EQ(parsed->seed, seed) << schedule.text();
        EXPECT_EQ(parsed->skew, skew) << schedule.text();
      }
    }
  }
}

TEST(ScheduleText, SeedAndSkewAreOptional) {
  const Result<Schedule> plain = Schedule::parse("random");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->seed, 0u);
  const Result<Schedule> skewed = Schedule::parse("lazy:skew=1");
  ASSERT_TRUE(skewed);
  EXPECT_EQ(skewed->skew, 1);
  EXPECT_EQ(skewed->seed, 0u);
  const Result<Schedule> upper = Schedule::parse("random:7F3A");
  ASSERT_TRUE(upper);
  EXPECT_EQ(upper->seed, 0x7f3au);
}

TEST(ScheduleText, FaultsAndDecisions) {
  Schedule schedule{Policy::random, 0x1f, 2};
  schedule.add(Fault::multicast);
  schedule.add(Fault::clc);
  schedule.decisions = {{0, 3, Choice::hold}, {2, 17, Choice::hold}, {1, 5, Choice::refuse}};
  EXPECT_EQ(schedule.text(), "random:1f:skew=2:faults=clc,multicast:hold=0.3,2.17:refuse=1.5");
  for (const char* text : {"random:1f:skew=2:faults=clc,multicast:hold=0.3,2.17:refuse=1.5", "eager:hold=0.3",
                           "lazy:faults=timeout", "eager:7:refuse=0.0,4.1", "eager:faults=test:deny=0.2:order=0.5.119",
                           "eager:hold=0.1:refuse=0.2:deny=0.3,1.4:order=0.5.0,2.1.7"}) {
    const Result<Schedule> parsed = Schedule::parse(text);
    ASSERT_TRUE(parsed) << parsed.error();
    EXPECT_EQ(parsed->text(), text);
  }
  EXPECT_EQ(*Schedule::parse(schedule.text()), schedule);
}

TEST(ScheduleText, BadInputNamesTheForms) {
  for (const char* bad : {"",
                          "fast",
                          "Eager",
                          "eager:",
                          "random:0x7f",
                          "random:g",
                          "random:-1",
                          "random:12345678901234567",
                          "lazy:0:",
                          "lazy:0:1",
                          "lazy:skew=",
                          "lazy:skew=16",
                          "lazy:skew=-1",
                          "lazy:0:skew=1:skew=2",
                          "lazy:skew=1x",
                          " eager",
                          "lazy:0:skew=99999999999",
                          "eager:faults=",
                          "eager:faults=clc,clc",
                          "eager:faults=ecc",
                          "eager:hold=3",
                          "eager:hold=0.1,",
                          "eager:hold=.1",
                          "eager:hold=0.-1",
                          "eager:refuse=0.1:hold=0.2",
                          "eager:hold=0.1:hold=0.2",
                          "eager:order=0.1",
                          "eager:order=0.1.",
                          "eager:order=0.1.2.3",
                          "eager:deny=0.1.2",
                          "eager:order=0.1.2:deny=0.1",
                          "eager:faults=clc:7"}) {
    const Result<Schedule> parsed = Schedule::parse(bad);
    ASSERT_FALSE(parsed) << bad;
    EXPECT_NE(parsed.error().find('"' + std::string(bad) + '"'), std::string::npos) << parsed.error();
    EXPECT_NE(parsed.error().find("policy[:seed][:skew=cta]"), std::string::npos) << parsed.error();
    EXPECT_NE(parsed.error().find("eager, lazy, random or adversarial"), std::string::npos) << parsed.error();
    EXPECT_EQ(parsed.error().find('\n'), std::string::npos) << parsed.error();
  }
}

TEST(ScheduleText, Mutations) {
  EXPECT_STREQ(to_string(MutationKind::drop), "drop");
  EXPECT_STREQ(to_string(MutationKind::twice), "twice");
  EXPECT_STREQ(to_string(MutationKind::count_plus), "count+1");
  EXPECT_STREQ(to_string(MutationKind::count_minus), "count-1");
  EXPECT_STREQ(to_string(MutationKind::bytes_plus), "bytes+16");
  EXPECT_STREQ(to_string(MutationKind::bytes_minus), "bytes-16");
  EXPECT_STREQ(to_string(MutationKind::flip_parity), "flip-parity");
  EXPECT_STREQ(to_string(MutationKind::wrong_stage), "wrong-stage");
}

}  // namespace
}  // namespace warploom::loom
