// One PTX text as a program: its kernels, translated and compiled when they are first asked for, and its variables.
//
//   Program program(text, "/home/me/gemm.ptx");
//   Result<const abi::Kernel*> kernel = program.kernel("_Z4gemmPKfS0_Pf");
//   Outcome outcome = launch(program, **kernel, {.grid = {4}, .block = {128}, .parameters = bytes}, tensors, options);
//
// Reports name the lines of the text, and the lines of the source that its .loc directives give (loom/origins.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/compile.hpp"
#include "types/no_throw.hpp"
#include "warploom/loom/launch.hpp"
#include "warploom/ptx/abi.hpp"

namespace warploom::ptx {

class Program {
 public:
  /// `name`: the path of the file with the text, as reports call it. Lines are looked up by it, so it must be whole.
  Program(std::string text, std::string name);

  /// Compiled now, if it was not. Of a small text all kernels are, of a large one this one alone.
  Result<const abi::Kernel*> kernel(std::string_view name);
  /// What is compiled by now, and how long that took.
  const std::vector<LoadedObject>& objects() const { return objects_; }
  /// Of what is compiled by now: memory that every launch may touch.
  std::vector<abi::Variable> variables() const;

  /// "" or why a block whose last warp is not whole cannot run: the loom's barriers and warp operations need all lanes.
  std::string why_no_partial_warp(const abi::Kernel& kernel, const Dim3& block) const;

  const std::string& text() const { return *text_; }
  const std::string& name() const { return name_; }

 private:
  void join_variables(const abi::Module& module);

  std::shared_ptr<const std::string> text_;
  std::string name_;
  std::vector<LoadedObject> objects_;
  std::map<std::string, Error, std::less<>> refused_;  ///< kernels that cannot be had: asked for again in loops
};

struct LaunchRequest {
  Dim3 grid = {1, 1, 1};
  Dim3 block = {1, 1, 1};
  Dim3 cluster = {0, 0, 0};  ///< 0: what the kernel asks for, or 1
  uint32_t dynamic_shared = 0;
  std::vector<std::byte> parameters = {};  ///< the block
  uint32_t processors = 16;                ///< %nsmid
};

/// "" or why no chip would take this launch.
std::string why_no_launch(const abi::Kernel& kernel, const LaunchRequest& request);

/// What the loom is handed; holds what the run looks at, and must live as long as it.
class PreparedLaunch {
 public:
  PreparedLaunch(Program& program, const abi::Kernel& kernel, const LaunchRequest& request,
                 std::span<const loom::TensorRef> tensors);
  PreparedLaunch(const PreparedLaunch&) = delete;
  PreparedLaunch& operator=(const PreparedLaunch&) = delete;

  loom::GridLaunch grid() const;

  /// Of a block that is no multiple of a warp: its last lanes are not there.
  struct PartialWarp {
    abi::KernelEntry entry = nullptr;
    const abi::Launch* launch = nullptr;
    uint32_t threads = 0;
  };

 private:
  const abi::Kernel* kernel_;
  std::string name_;
  std::unique_ptr<std::byte[]> memory_;
  std::vector<loom::TensorRef> tensors_;
  abi::Launch launch_ = {};
  PartialWarp partial_ = {};
  loom::LaunchConfig config_ = {};
};

/// One launch, or why there is none.
loom::Outcome launch(Program& program, const abi::Kernel& kernel, const LaunchRequest& request,
                     std::span<const loom::TensorRef> tensors, const loom::Options& options);

/// What the C++ compiler calls a kernel: "gemm<128, 64>" of "_Z4gemmILi128ELi64EEvPKf", as reports name it.
std::string shown_kernel_name(const char* mangled);

}  // namespace warploom::ptx
