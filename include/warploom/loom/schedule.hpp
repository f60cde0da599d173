// What a run leaves to the machine, as text: who goes first, when asynchronous work completes, what a chip may refuse.
// A run is a function of kernel, inputs and this; every report prints it, and the command line takes it back.
//
//   Schedule::parse("random:7f3a")                       // threads and completions at random, seed 0x7f3a
//   Schedule::parse("lazy:0:skew=1:faults=timeout")      // CTA 1 last, polls that answer no
//   Schedule::parse("eager:hold=0.3:refuse=0.5")         // points 3 and 5 of cluster 0 other than by themselves
//   Schedule::parse("eager:order=0.2.17")                // the threads at the word of point 2 in their 17th order
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "warploom/types/result.hpp"

namespace warploom::loom {
#pragma GCC visibility push(default)  // the shared library exports what is declared here

/// When asynchronous work completes: at once; only when nothing else can run; at random; or as harmfully as the rules
/// allow (writes land early, reads happen late).
enum class Policy : uint8_t { eager, lazy, random, adversarial };
const char* to_string(Policy policy);

/// What a chip may do at any time, done at every opportunity.
enum class Fault : uint8_t {
  clc,        ///< launch control refuses although work is left
  timeout,    ///< every second poll of an mbarrier that has completed says no
  multicast,  ///< copies to other CTAs than the issuer's land when nothing else can happen
  test,       ///< a test of an mbarrier that may come too early says no, up to `most_denials` times in a row
};
inline constexpr Fault all_faults[] = {Fault::clc, Fault::timeout, Fault::multicast, Fault::test};
const char* to_string(Fault fault);

/// How often a test for the same phase says no without giving others time: more often than bounded loops try.
inline constexpr uint32_t most_denials = 64;

/// At a point where a thread finds out something that depends on the schedule (Outcome::points).
enum class Choice : uint8_t {
  go,      ///< as it comes
  hold,    ///< it waits there until somebody else has done what it would find out, or nobody can
  refuse,  ///< the answer is no
  deny,    ///< of a test: no, here and to the same question of the thread, up to `most_denials` times
  order,   ///< threads that come to its object from here on go in the order that Decision::order names
};

/// Point `point` of cluster `cluster`, counted as they come. Clusters of dependent grids are counted on.
struct Decision {
  uint32_t cluster = 0;
  uint32_t point = 0;
  Choice choice = Choice::hold;
  /// Of Choice::order. Whenever nothing else can run, one of the `count` threads that wait at the object goes on: the
  /// (order % count)-th, and order becomes order / count. So 0 to count! - 1 are all orders of as many threads.
  uint32_t order = 0;

  friend bool operator==(const Decision&, const Decision&) = default;
};

/// Text form `policy[:seed][:skew=cta][:faults=clc,timeout,multicast,test][:hold=cluster.point,...][:refuse=...]
/// [:deny=...][:order=cluster.point.order,...]`, seed in hex.
struct Schedule {
  Policy policy = Policy::eager;
  uint64_t seed = 0;
  int skew = -1;        ///< this CTA of every cluster runs only when no other can; -1: none
  uint32_t faults = 0;  ///< one bit each
  std::vector<Decision> decisions = {};

  bool has(Fault fault) const { return (faults >> static_cast<uint32_t>(fault) & 1) != 0; }
  void add(Fault fault) { faults |= 1u << static_cast<uint32_t>(fault); }

  std::string text() const;
  static Result<Schedule> parse(std::string_view text);

  friend bool operator==(const Schedule&, const Schedule&) = default;
};

#pragma GCC visibility pop
}  // namespace warploom::loom
