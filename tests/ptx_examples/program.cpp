// The cases of the examples with kernels from PTX: `name hash ok` for each, as the native programs print it. The hashes
// must be those of examples/gpu/expected_hashes.txt, whichever front end a kernel came by.
//
//   ptx_examples hopper_gemm hopper_gemm.ptx [schedule] [checked] [case ...]
#include "ptx/program.hpp"

#include <cxxabi.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <typeinfo>

#include "arch_check_cases.hpp"
#include "blackwell_gemm_cases.hpp"
#include "hopper_gemm_cases.hpp"
#include "loom_machine.hpp"
#include "mma_epilogue_cases.hpp"
#include "per_k_epilogue_cases.hpp"
#include "ptx/parser.hpp"
#include "residual_add_cases.hpp"
#include "tcgen05_check_cases.hpp"
#include "two_readers_cases.hpp"
#include "two_stage_copy_cases.hpp"
#include "warploom/loom/report.hpp"
#include "wgmma_check_cases.hpp"

namespace warploom::inline WARPLOOM_MACHINE::examples {

/// LoomMachine, with the kernels of a PTX text: the one whose name has that of the kernel's type.
class PtxMachine : public LoomMachine {
 public:
  PtxMachine(ptx::Program& program, const std::vector<std::string>& kernels, const loom::Options& options,
             loom::Chip chip)
      : LoomMachine(options.schedule, chip), program_(program), kernels_(kernels), options_(options) {}

  void reset() {
    LoomMachine::reset();
    tensors_.clear();
    trouble_.clear();
  }
  const std::string& trouble() const { return trouble_; }

  template <class T>
  T* memory(const std::vector<T>& contents, bool writable = false) {
    T* const block = LoomMachine::memory(contents, writable);
    tensors_.push_back({block, contents.size() * sizeof(T), writable ? loom::Access::write : loom::Access::read,
                        writable ? "output" : "input"});
    return block;
  }

  template <class Kernel>
  void launch(const Shape& shape, const typename Kernel::Params& params) {
    if (!trouble_.empty()) return;
    std::string type = "<" + readable(typeid(Kernel).name());
    type += type.back() == '>' ? " >(" : ">(";
    for (const std::string& name : kernels_) {
      if (readable(name.c_str()).find(type) == std::string::npos) continue;
      const Result<const ptx::abi::Kernel*> kernel = program_.kernel(name);
      if (!kernel) return fail(kernel.error());
      ptx::LaunchRequest request{.grid = shape.grid,
                                 .block = {shape.threads, 1, 1},
                                 .cluster = shape.cluster,
                                 .dynamic_shared = sizeof(typename Kernel::Storage)};
      request.parameters.resize(sizeof(params));
      std::memcpy(request.parameters.data(), &params, sizeof(params));
      loom::Options options = options_;
      if (options.schedule.skew >= static_cast<int>(shape.cluster.count())) options.schedule.skew = -1;
      const loom::Outcome outcome = ptx::launch(program_, **kernel, request, tensors_, options);
      if (!outcome.ok()) fail(to_text(outcome.report));
      return;
    }
    fail("no kernel has " + type + " in its name");
  }

 private:
  void fail(const std::string& text) { trouble_ = text; }
  /// As C++ has it, with everything in the loom's namespace.
  static std::string readable(const char* mangled) {
    char* const text = abi::__cxa_demangle(mangled, nullptr, nullptr, nullptr);
    std::string name = text == nullptr ? mangled : text;
    std::free(text);
    for (size_t at = name.find("::on_gpu::"); at != std::string::npos; at = name.find("::on_gpu::", at))
      name.replace(at, 10, "::on_loom::");
    // nvcc spells trailing members of a structure that are zero.
    for (const std::string_view zero : {", 0u}", ", (warploom::ScaleType)0}"})
      for (size_t at = name.find(zero); at != std::string::npos; at = name.find(zero)) name.erase(at, zero.size() - 1);
    return name;
  }

  ptx::Program& program_;
  const std::vector<std::string>& kernels_;
  loom::Options options_;
  std::vector<loom::TensorRef> tensors_;
  std::string trouble_;
};

}  // namespace warploom::inline WARPLOOM_MACHINE::examples

int main(int argc, char** argv) {
  using namespace warploom;
  using namespace warploom::examples;
  if (argc < 3) {
    std::fprintf(stderr, "usage: ptx_examples <example> <its PTX> [schedule] [plain|checked] [case ...]\n");
    return 2;
  }
  const std::string example = argv[1];
  std::ifstream file(argv[2]);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const Result<ptx::Module> module = ptx::parse(text, argv[2]);
  const auto schedule = loom::Schedule::parse(argc > 3 ? argv[3] : "eager");
  if (!module || !schedule) {
    std::fprintf(stderr, "%s\n", (module ? schedule.error() : module.error()).c_str());
    return 2;
  }
  std::vector<std::string> kernels;
  for (const ptx::Function& function : module->functions)
    if (function.entry) kernels.emplace_back(function.name);
  loom::Options options;
  options.schedule = *schedule;
  options.check = argc > 4 && argv[4] == std::string("checked");
  const std::vector<std::string> names(argv + std::min(argc, 5), argv + argc);
  ptx::Program program(text, argv[2]);
  PtxMachine machine(program, kernels, options, module->target_number() >= 100 ? loom::Chip::sm100 : loom::Chip::sm90);
  if (example == "hopper_gemm") return run_all(machine, hopper_gemm_cases<PtxMachine>(), names);
  if (example == "blackwell_gemm") return run_all(machine, blackwell_gemm_cases<PtxMachine>(), names);
  if (example == "two_stage_copy") return run_all(machine, two_stage_copy_cases<PtxMachine>(), names);
  if (example == "two_readers") return run_all(machine, two_readers_cases<PtxMachine>(), names);
  if (example == "residual_add") return run_all(machine, residual_add_cases<PtxMachine>(), names);
  if (example == "mma_epilogue") return run_all(machine, mma_epilogue_cases<PtxMachine>(), names);
  if (example == "per_k_epilogue") return run_all(machine, per_k_epilogue_cases<PtxMachine>(), names);
  if (example == "tcgen05_check") return run_all(machine, tcgen05_check_cases<PtxMachine>(), names);
  if (example == "arch_check") return run_all(machine, arch_check_cases<PtxMachine>(), names);
  if (example == "wgmma_check") return run_all(machine, wgmma_check_cases<PtxMachine>(), names);
  std::fprintf(stderr, "no example is called %s\n", example.c_str());
  return 2;
}
