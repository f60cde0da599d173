// One prepared problem on the loom: what run, mutate and demo have in common.
#pragma once

#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "warploom/kernels/blockwise_fp8_data.hpp"

namespace warploom::cli {

class Session {
 public:
  /// Checks the arguments and makes the data, or says in a sentence what is wrong.
  static Result<Session> prepare(const RunArguments& arguments);

  Result<loom::Outcome> launch(const loom::Options& options);
  /// A full check when that is quick, else as many rows as are.
  BlockwiseFP8Data::Accuracy compare() const;
  bool correct(const BlockwiseFP8Data::Accuracy& accuracy) const;
  loom::Options options() const;

  const RunArguments& arguments() const { return arguments_; }
  const std::string& config() const { return config_; }

 private:
  Session(const RunArguments& arguments, std::string config, loom::Schedule schedule, Fill fill)
      : arguments_(arguments),
        config_(std::move(config)),
        schedule_(schedule),
        data_(static_cast<int>(arguments.m), static_cast<int>(arguments.n), static_cast<int>(arguments.k), fill,
              arguments.data_seed),
        fill_(fill) {}

  RunArguments arguments_;
  std::string config_;
  loom::Schedule schedule_;
  BlockwiseFP8Data data_;
  Fill fill_;
};

/// "ALTERATION@SITE" with SITE a number in `sites`, or a sentence.
Result<loom::Mutation> parse_mutation(const std::string& text, const std::vector<loom::Site>& sites);
std::string describe(const loom::Site& site);

}  // namespace warploom::cli
