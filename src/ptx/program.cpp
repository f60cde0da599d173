#include "ptx/program.hpp"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <utility>

#include "ptx/emit.hpp"
#include "ptx/parser.hpp"
#include "ptx/source_lines.hpp"
#include "warploom/loom/native.hpp"

namespace warploom::ptx {
namespace {

// Compiling takes seconds for ten thousand instructions, and a text has about 30 bytes for each.
constexpr size_t small_text = size_t{192} << 10;

const abi::Kernel* kernel_of(const abi::Module& module, std::string_view name) {
  for (uint32_t i = 0; i < module.kernel_count; ++i)
    if (module.kernels[i].name == name) return &module.kernels[i];
  return nullptr;
}

uint64_t volume(const Dim3& d) { return uint64_t{d.x} * d.y * d.z; }
Dim3 triple(const uint32_t (&t)[3]) { return {t[0], t[1], t[2]}; }
bool given(const Dim3& d) { return d.x != 0; }
bool same(const Dim3& a, const Dim3& b) { return a.x == b.x && a.y == b.y && a.z == b.z; }
std::string text_of(const Dim3& d) { return fmt::format("{}x{}x{}", d.x, d.y, d.z); }

Dim3 cluster_of(const abi::Kernel& kernel, const LaunchRequest& request) {
  if (given(request.cluster)) return request.cluster;
  const Dim3 required = triple(kernel.required_cluster);
  return given(required) ? required : Dim3{1, 1, 1};
}

}  // namespace

Program::Program(std::string text, std::string name)
    : text_(std::make_shared<const std::string>(std::move(text))), name_(std::move(name)) {
  register_source_lines(name_, text_);
}

Result<const abi::Kernel*> Program::kernel(std::string_view name) {
  return no_throw([&]() -> Result<const abi::Kernel*> {
    for (const LoadedObject& object : objects_)
      if (const abi::Kernel* found = kernel_of(*object.module, name)) return found;
    const bool all = text_->size() <= small_text;
    const std::string only = all ? std::string() : std::string(name);
    const Translation translation{.name = name_, .of = {*text_, name_, only}, .source = [&]() -> Result<std::string> {
                                    const Result<Module> module = parse(*text_, name_);
                                    if (!module) return module.why();
                                    EmitOptions options;
                                    if (!all) options.kernels = {only};
                                    return emit(*module, options);
                                  }};
    if (const auto known = refused_.find(name); known != refused_.end()) return known->second;
    Result<LoadedObject> object = load(translation);
    if (!object) return refused_.emplace(name, object.why()).first->second;
    const abi::Kernel* const found = kernel_of(*object->module, name);
    if (found == nullptr) {
      std::string there;
      for (uint32_t i = 0; i < object->module->kernel_count; ++i)
        there += fmt::format("{}{}", i == 0 ? "" : ", ", object->module->kernels[i].name);
      return Error{fmt::format("{} has no kernel '{}'; it has {}", name_, name, there.empty() ? "none" : there),
                   ErrorCode::not_found};
    }
    join_variables(*object->module);
    objects_.push_back(std::move(*object));
    return found;
  });
}

/// Objects of several kernels go by the memory of the first that has a variable.
void Program::join_variables(const abi::Module& module) {
  // Another program of the same text may have loaded it: then it is in use.
  static std::mutex mutex;
  static auto& settled = *new std::set<const abi::Module*>;
  const std::lock_guard lock(mutex);
  if (!settled.insert(&module).second) return;
  std::vector<abi::Variable> known = variables();
  std::vector<bool> own(module.variable_count, true);
  for (uint32_t i = 0; i < module.variable_count; ++i) {
    const abi::Variable& variable = module.variables[i];
    for (const abi::Variable& other : known) {
      if (std::string_view(other.name) != variable.name || other.bytes != variable.bytes) continue;
      *variable.place = *other.place;
      own[i] = false;
    }
  }
  for (uint32_t i = 0; i < module.relocation_count; ++i) {
    const abi::Relocation& relocation = module.relocations[i];
    if (!own[relocation.variable]) continue;
    const auto address = reinterpret_cast<uint64_t>(*module.variables[relocation.target].place) +
                         static_cast<uint64_t>(relocation.addend);
    std::memcpy(static_cast<std::byte*>(*module.variables[relocation.variable].place) + relocation.offset, &address,
                sizeof(address));
  }
}

std::vector<abi::Variable> Program::variables() const {
  std::vector<abi::Variable> all;
  for (const LoadedObject& object : objects_)
    for (uint32_t i = 0; i < object.module->variable_count; ++i) {
      const abi::Variable& variable = object.module->variables[i];
      if (std::none_of(all.begin(), all.end(),
                       [&](const abi::Variable& known) { return *known.place == *variable.place; }))
        all.push_back(variable);
    }
  return all;
}

std::string Program::why_no_partial_warp(const abi::Kernel& kernel, const Dim3& block) const {
  if (volume(block) % 32 == 0) return {};
  const Result<Module> module = parse(*text_, name_);
  if (!module) return module.error();
  static constexpr std::string_view of_whole_warps[] = {"bar",   "barrier", "shfl",  "vote",     "match",    "redux",
                                                        "elect", "mma",     "wgmma", "ldmatrix", "stmatrix", "tcgen05"};
  for (const Function& function : module->functions) {
    if (function.entry && function.name != kernel.name) continue;  // what is called may be called by this one
    for (const Instruction& instruction : function.body) {
      const std::string_view base = instruction.op().base();
      if (std::find(std::begin(of_whole_warps), std::end(of_whole_warps), base) == std::end(of_whole_warps)) continue;
      return fmt::format(
          "{} is launched with blocks of {} threads, which are no whole warps, and {}:{} executes {}; the loom runs "
          "such "
          "a kernel in blocks of a multiple of 32 threads",
          shown_kernel_name(kernel.name), volume(block), name_, instruction.line, instruction.op().text);
    }
  }
  return {};
}

std::string why_no_launch(const abi::Kernel& kernel, const LaunchRequest& request) {
  constexpr uint64_t most_threads = 1024, most_shared = 232448, most_cluster = 16, most_x = 0x7fffffff, most_yz = 65535;
  const std::string name = shown_kernel_name(kernel.name);
  const uint64_t threads = volume(request.block);
  if (volume(request.grid) == 0 || threads == 0) return fmt::format("{}: a grid or a block of nothing", name);
  if (threads > most_threads || request.block.z > 64)
    return fmt::format("{}: a block has up to {} threads, and up to 64 along z, not {}", name, most_threads,
                       text_of(request.block));
  if (request.grid.x > most_x || request.grid.y > most_yz || request.grid.z > most_yz)
    return fmt::format("{}: a grid of {} is larger than any chip takes", name, text_of(request.grid));
  const Dim3 required = triple(kernel.required_threads);
  if (given(required) && !same(required, request.block))
    return fmt::format("{} is compiled for blocks of {} threads (.reqntid), not {}", name, text_of(required),
                       text_of(request.block));
  const Dim3 most = triple(kernel.max_threads);
  if (given(most) && threads > volume(most))
    return fmt::format("{} is compiled for up to {} threads (.maxntid, __launch_bounds__), not {}", name, volume(most),
                       threads);
  const Dim3 cluster = cluster_of(kernel, request), of_kernel = triple(kernel.required_cluster);
  if (given(of_kernel) && !same(of_kernel, cluster))
    return fmt::format("{} is compiled for clusters of {} (.reqnctapercluster, __cluster_dims__), not {}", name,
                       text_of(of_kernel), text_of(cluster));
  if (volume(cluster) == 0 || volume(cluster) > most_cluster)
    return fmt::format("{}: a cluster has 1 to {} CTAs, not {}", name, most_cluster, text_of(cluster));
  if (request.grid.x % cluster.x != 0 || request.grid.y % cluster.y != 0 || request.grid.z % cluster.z != 0)
    return fmt::format("{}: a grid of {} is not made of clusters of {}", name, text_of(request.grid), text_of(cluster));
  const uint64_t shared = uint64_t{kernel.dynamic_offset} + request.dynamic_shared;
  if (std::max<uint64_t>(shared, kernel.static_shared) > most_shared)
    return fmt::format("{}: a CTA has up to {} bytes of shared memory, and {} of its own and {} of the launch are more",
                       name, most_shared, kernel.static_shared, request.dynamic_shared);
  if (request.parameters.size() != kernel.parameter_bytes)
    return fmt::format("{} takes {} bytes of parameters, not {}", name, kernel.parameter_bytes,
                       request.parameters.size());
  return {};
}

PreparedLaunch::PreparedLaunch(Program& program, const abi::Kernel& kernel, const LaunchRequest& request,
                               std::span<const loom::TensorRef> tensors)
    : kernel_(&kernel), name_(shown_kernel_name(kernel.name)), tensors_(tensors.begin(), tensors.end()) {
  constexpr size_t alignment = 128;  // of tensor maps, twice
  memory_ = std::make_unique<std::byte[]>(request.parameters.size() + 2 * alignment);
  const auto begin = reinterpret_cast<uintptr_t>(memory_.get());
  std::byte* const block = memory_.get() + ((begin + alignment - 1) / alignment * alignment - begin);
  if (!request.parameters.empty()) std::memcpy(block, request.parameters.data(), request.parameters.size());
  for (const abi::Variable& variable : program.variables())
    if (variable.bytes > 0)
      tensors_.push_back({*variable.place, variable.bytes,
                          variable.space == abi::VariableSpace::constant ? loom::Access::read : loom::Access::write,
                          variable.name});
  const Dim3 cluster = cluster_of(kernel, request);
  const uint32_t shared =
      std::max(kernel.static_shared, request.dynamic_shared == 0 ? 0 : kernel.dynamic_offset + request.dynamic_shared);
  launch_ = {.parameters = block,
             .parameter_bytes = kernel.parameter_bytes,
             .block = {request.block.x, request.block.y, request.block.z},
             .cluster = {cluster.x, cluster.y, cluster.z},
             .dynamic_shared = request.dynamic_shared,
             .total_shared = shared,
             .processors = request.processors};
  config_ = {.kernel = name_.c_str(),
             .grid = request.grid,
             .cluster = cluster,
             .threads = static_cast<uint32_t>((volume(request.block) + 31) / 32 * 32),
             .shared_bytes = shared,
             .launch_control = kernel.uses_launch_control,
             .talks_across_clusters = kernel.talks_across_clusters,
             .registers = kernel.max_registers};
  partial_ = {kernel.entry, &launch_, static_cast<uint32_t>(volume(request.block))};
}

namespace {

/// What every lane runs where the last warp is not whole: those that are not there have nothing to do.
void enter_partial_warp(const void* parameters) {
  const auto& partial = *static_cast<const PreparedLaunch::PartialWarp*>(parameters);
  if (loom::native::self().thread < partial.threads) partial.entry(partial.launch);
}

}  // namespace

loom::GridLaunch PreparedLaunch::grid() const {
  if (partial_.threads == config_.threads) return {config_, kernel_->entry, &launch_, tensors_};
  return {config_, &enter_partial_warp, &partial_, tensors_};
}

loom::Outcome launch(Program& program, const abi::Kernel& kernel, const LaunchRequest& request,
                     std::span<const loom::TensorRef> tensors, const loom::Options& options) {
  loom::Outcome none;
  none.refused = true;
  const auto refuse = [&](std::string sentence, ErrorCode code) {
    none.refusal = code;
    none.report.kernel = shown_kernel_name(kernel.name);
    none.report.findings.push_back({.code = "LAUNCH", .message = std::move(sentence)});
    return none;
  };
  return no_throw<loom::Outcome>(
      [&] {
        if (std::string reason = why_no_launch(kernel, request); !reason.empty())
          return refuse(std::move(reason), ErrorCode::bad_argument);
        const PreparedLaunch prepared(program, kernel, request, tensors);
        const loom::GridLaunch grid = prepared.grid();
        return loom::launch(grid.config, grid.entry, grid.params, grid.tensors, options);
      },
      [&](Error error) { return refuse(std::move(error.message), error.code); });
}

std::string shown_kernel_name(const char* mangled) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(::abi::__cxa_demangle(mangled, nullptr, nullptr, &status),
                                                         &std::free);
  if (name == nullptr) return mangled;
  // "void gemm<128>(float const*)": neither what it returns nor what it takes.
  std::string_view text = name.get();
  int depth = 0;
  size_t begin = 0, end = text.size();
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '<') ++depth;
    if (c == '>') --depth;
    if (depth != 0) continue;
    if (c == ' ') begin = i + 1;
    if (c == '(' && text.substr(i, 21) != "(anonymous namespace)") {
      end = i;
      break;
    }
    if (c == '(') i += 20;
  }
  return std::string(text.substr(begin, end - begin));
}

}  // namespace warploom::ptx
