// One prepared problem: what run, mutate and demo have in common, whichever kernel it is for.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.hpp"
#include "cli/tell.hpp"
#include "warploom/kernels/gemm_data.hpp"
#include "warploom/loom/verdict.hpp"

namespace warploom::cli {

constexpr int64_t largest_extent = 1 << 24;  // of m, n, k and the batch

class Session {
 public:
  /// Checks the arguments and makes the data, or says in a sentence what is wrong.
  static Result<std::unique_ptr<Session>> prepare(const RunArguments& arguments);
  virtual ~Session() = default;

  virtual Result<loom::Outcome> launch(const loom::Options& options) = 0;
  /// Every element.
  virtual GemmData::Accuracy compare() const = 0;
  virtual bool correct(const GemmData::Accuracy& accuracy) const = 0;
  virtual std::string config() const = 0;
  virtual std::string target() const = 0;
  virtual int64_t m() const = 0;
  virtual int64_t n() const = 0;
  virtual int64_t k() const = 0;
  virtual int64_t batch() const { return 1; }
  /// Of sessions that can: what the planner had to say, "" otherwise.
  virtual std::string plan() const { return {}; }
  /// The configuration that the planner would have taken, were it built; "" where it is.
  virtual std::string instead_of() const { return {}; }
  /// Writes D where the arguments want it.
  virtual Trouble save() const { return {}; }

  loom::Options options() const;
  /// Kernel, problem and data in words: what another run must share to be the same.
  virtual std::vector<loom::Part> parts() const = 0;

 protected:
  Session(RunArguments arguments, loom::Schedule schedule)
      : arguments_(std::move(arguments)), schedule_(std::move(schedule)) {}

  RunArguments arguments_;
  loom::Schedule schedule_;
};

/// Microseconds and device of a session that runs on the GPU; `launch` only runs on the loom.
struct GpuRun {
  double microseconds = 0;
  std::string device = {};
};

/// gemm and blockwise-fp8, on either chip (cli/gemm_session.cpp).
class GemmSession : public Session {
 public:
  static Result<std::unique_ptr<Session>> prepare(const RunArguments& arguments, loom::Schedule schedule);
  static ChipLimits chip_of(const RunArguments& arguments);
  /// "" or why there is no GPU to run on.
  static std::string why_no_gpu();

  Result<loom::Outcome> launch(const loom::Options& options) override;
  Result<GpuRun> run_on_gpu();
  GemmData::Accuracy compare() const override {
    // The options name the loom's numerics; a GPU has its own.
    return data_.compare({&plan_, target() == "gpu" ? loom::Numerics::exact : options().numerics});
  }
  bool correct(const GemmData::Accuracy& accuracy) const override { return data_.acceptable(accuracy); }
  std::string config() const override { return plan_.config->key; }
  std::string target() const override { return arguments_.on; }
  int64_t m() const override { return data_.spec().m; }
  int64_t n() const override { return data_.spec().n; }
  int64_t k() const override { return data_.spec().k; }
  int64_t batch() const override { return data_.spec().batch; }
  std::string plan() const override { return plan_.why; }
  std::string instead_of() const override { return plan_.instead_of == nullptr ? "" : plan_.instead_of->key; }
  Trouble save() const override;
  std::vector<loom::Part> parts() const override;
  const GemmPlan& chosen() const { return plan_; }

 private:
  GemmSession(const RunArguments& arguments, loom::Schedule schedule, GemmData data)
      : Session(arguments, std::move(schedule)), data_(std::move(data)) {}

  GemmData data_;
  GemmPlan plan_;
  std::string tensors_;  ///< a hash of the file they come from
};

/// Where a kernel is at home: where the configuration that is asked for is, or gemm on Hopper, the other on Blackwell.
std::string default_target(const RunArguments& arguments);
/// The option that chose the data.
inline const char* fill_option(const RunArguments& arguments) { return arguments.gave("--mode") ? "--mode" : "--data"; }
Result<Fill> fill_of(const RunArguments& arguments);
/// What the arguments describe, or a sentence.
Result<GemmDataSpec> spec_of(const RunArguments& arguments);
/// The problem of a spec, at addresses that nobody may touch: for planning.
GemmProblem described(const GemmDataSpec& spec);
/// "MUTATION@SITE" with SITE a number in `sites`, or a sentence.
Result<loom::Mutation> parse_mutation(const std::string& text, const std::vector<loom::Site>& sites);
std::string describe(const loom::Site& site);

}  // namespace warploom::cli
