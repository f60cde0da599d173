// What a run leaves to the machine, as text: who goes first, when asynchronous work completes, what a chip may refuse.
// A run is a function of kernel, inputs and this; every report prints it, and the command line takes it back.
//
//   Schedule::parse("random:7f3a")                       // threads and completions at random, seed 0x7f3a
//   Schedule::parse("lazy:0:skew=1:faults=timeout")      // CTA 1 last, polls that answer no
//   Schedule::parse("eager:hold=0.3:refuse=0.5")         // points 3 and 5 of cluster 0 other than by themselves
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "warploom/types/result.hpp"

namespace warploom::loom {

/// When asynchronous work completes: at once; only when nothing else can run; at random; or as harmfully as the rules
/// allow (writes land early, reads happen late).
enum class Policy : uint8_t { eager, lazy, random, adversarial };
const char* to_string(Policy policy);

/// What a chip may do at any time, done at every opportunity.
enum class Fault : uint8_t {
  clc,        ///< launch control refuses although work is left
  timeout,    ///< every second poll of an mbarrier that has completed says no
  multicast,  ///< copies to other CTAs than the issuer's land when nothing else can happen
};
inline constexpr Fault all_faults[] = {Fault::clc, Fault::timeout, Fault::multicast};
const char* to_string(Fault fault);

/// At a point where a thread finds out something that depends on the schedule (Outcome::points).
enum class Choice : uint8_t {
  go,      ///< as it comes
  hold,    ///< it waits there until somebody else has done what it would find out, or nobody can
  refuse,  ///< the answer is no
};

/// Point `point` of cluster `cluster`, counted as they come.
struct Decision {
  uint32_t cluster = 0;
  uint32_t point = 0;
  Choice choice = Choice::hold;

  friend bool operator==(const Decision&, const Decision&) = default;
};

/// Text form `policy[:seed][:skew=cta][:faults=clc,timeout,multicast][:hold=cluster.point,...][:refuse=...]`, seed in
/// hex.
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

}  // namespace warploom::loom
