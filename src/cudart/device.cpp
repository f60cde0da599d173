#include "cudart/device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace warploom::cudart {
namespace {

Settings settings_or_exit() {
  Result<Settings> settings = Settings::from_environment();
  if (settings) return std::move(*settings);
  std::fprintf(stderr, "warploom: %s\n", settings.error().c_str());
  constexpr int bad_input = 2;
  std::_Exit(bad_input);
}

std::string name_of_program() {
  std::error_code nothing_there;
  const std::string name = std::filesystem::read_symlink("/proc/self/exe", nothing_there).filename().string();
  return name.empty() ? "program" : name;
}

Dim3 dim(const Extent3& e) { return {e.x, e.y, e.z}; }

}  // namespace

Device::Device() : settings(settings_or_exit()), reporter(settings) {
  std::atexit([] {
    const Locked device;
    device->settle();
    device->chip();
    device->reporter.end();
  });
}

Device& Device::instance() {
  static auto& device = *new Device;  // never destroyed: programs call the runtime from their own destructors
  return device;
}

// ---- what the program consists of

Binary* Device::add_binary(const void* wrapper) {
  binaries_.push_back({.wrapper = wrapper});
  return &binaries_.back();
}

void Device::look_at(Binary& binary) {
  if (binary.looked_at) return;
  binary.looked_at = true;
  Result<std::vector<ptx::Image>> images = ptx::images_of_registered(binary.wrapper);
  if (images)
    binary.images = std::move(*images);
  else
    binary.error = images.error();
}

uint32_t Device::chip() {
  if (chip_ != 0) return chip_;
  chip_ = settings.chip;
  if (chip_ == 0) {
    std::vector<ptx::Image> targets;
    for (Binary& binary : binaries_) {
      look_at(binary);
      for (const ptx::Image& image : binary.images)
        targets.push_back({.architecture = image.architecture, .feature = image.feature});
    }
    chip_ = ptx::chip_for(targets);
  }
  reporter.began(chip_);
  return chip_;
}

ptx::Program* Device::program_of(Binary& binary) {
  if (binary.program != nullptr) return binary.program.get();
  look_at(binary);
  if (!binary.error.empty()) return nullptr;
  const ptx::Image* const image = ptx::choose(binary.images, chip());
  if (image == nullptr) {
    std::string targets;
    for (const ptx::Image& one : binary.images) targets += (targets.empty() ? "" : ", ") + one.target();
    binary.error = fmt::format("the program has PTX for {}, and the loom is an sm_{}a; compile with -arch=sm_{}a",
                               targets, chip(), chip());
    return nullptr;
  }
  Result<std::string> listing = ptx::write_listing(image->text, name_of_program());
  if (!listing) {
    binary.error = listing.error();
    return nullptr;
  }
  binary.program = std::make_unique<ptx::Program>(image->text, *listing);
  binary.images.clear();
  return binary.program.get();
}

void Device::add_function(Binary* binary, const void* stub, const char* name) {
  functions_[stub] = {.binary = binary, .name = name};
}

void Device::add_symbol(Binary* binary, const void* stub, const char* name, size_t bytes) {
  symbols_[stub] = {binary, name, bytes};
}

Function* Device::function(const void* stub) {
  const auto found = functions_.find(stub);
  return found == functions_.end() ? nullptr : &found->second;
}

Result<const ptx::abi::Kernel*> Device::kernel(Function& function) {
  ptx::Program* const program = program_of(*function.binary);
  if (program == nullptr) return Error{function.binary->error, ErrorCode::unsupported};
  const size_t before = program->objects().size();
  Result<const ptx::abi::Kernel*> kernel = program->kernel(function.name);
  for (size_t i = before; i < program->objects().size(); ++i) {
    if (program->objects()[i].was_kept) continue;
    compile_seconds_ += program->objects()[i].seconds;
    reporter.compiled(function.name, program->objects()[i].seconds);
  }
  return kernel;
}

Result<std::byte*> Device::symbol(const void* stub, size_t* bytes) {
  const auto found = symbols_.find(stub);
  if (found == symbols_.end()) return Error{"this is no __device__ or __constant__ variable", ErrorCode::not_found};
  const Symbol& symbol = found->second;
  *bytes = symbol.bytes;
  const auto look = [&]() -> std::byte* {
    if (symbol.binary->program == nullptr) return nullptr;
    for (const ptx::abi::Variable& variable : symbol.binary->program->variables())
      if (symbol.name == variable.name) return static_cast<std::byte*>(*variable.place);
    return nullptr;
  };
  if (std::byte* place = look()) return place;
  // Its memory comes with the code of a kernel of the same file.
  std::string why = "no kernel of its file is compiled for this chip";
  for (auto& [stub_of, function] : functions_) {
    if (function.binary != symbol.binary) continue;
    const Result<const ptx::abi::Kernel*> loaded = kernel(function);
    if (!loaded) why = loaded.error();
    if (std::byte* place = look()) return place;
    if (loaded && symbol.binary->program->objects().size() >= 2) break;  // not in any of them
  }
  return Error{fmt::format("the variable {} has no memory: {}", symbol.name, why), ErrorCode::not_found};
}

// ---- launches

Result<ptx::LaunchRequest> Device::request_of(Function& function, const ptx::abi::Kernel& kernel,
                                              const LaunchConfiguration& c, void** arguments, Status& status) {
  status = Status::invalid_value;
  ptx::LaunchRequest request{.grid = dim(c.grid), .block = dim(c.block), .processors = settings.processors};
  request.cluster = dim(function.cluster);
  for (unsigned i = 0; i < c.attribute_count; ++i) {
    const LaunchAttribute& attribute = c.attributes[i];
    if (attribute.id == AttributeId::cluster_dimension) request.cluster = dim(attribute.cluster);
    if (attribute.id == AttributeId::cooperative && attribute.number != 0) {
      status = Status::not_supported;
      return Error{
          "a cooperative launch (grid.sync) needs all CTAs at a time; the loom runs one cluster after the other"};
    }
  }
  if (c.dynamic_shared > function.dynamic_shared)
    return Error{
        fmt::format("{} is launched with {} bytes of dynamic shared memory, and may have {}; "
                    "cudaFuncSetAttribute(..., cudaFuncAttributeMaxDynamicSharedMemorySize, {}) allows more",
                    ptx::shown_kernel_name(kernel.name), c.dynamic_shared, function.dynamic_shared, c.dynamic_shared)};
  constexpr unsigned portable_cluster = 8;
  if (request.cluster.count() > portable_cluster && !function.non_portable_cluster) {
    status = Status::invalid_cluster_size;
    return Error{
        fmt::format("{} is launched with clusters of {} CTAs; more than {} need "
                    "cudaFuncAttributeNonPortableClusterSizeAllowed",
                    ptx::shown_kernel_name(kernel.name), request.cluster.count(), portable_cluster)};
  }
  request.dynamic_shared = static_cast<uint32_t>(c.dynamic_shared);
  request.parameters.resize(kernel.parameter_bytes);
  for (uint32_t i = 0; i < kernel.parameter_count; ++i) {
    const ptx::abi::Parameter& parameter = kernel.parameters[i];
    std::memcpy(request.parameters.data() + parameter.offset, arguments[i], parameter.bytes);
  }
  status = Status::invalid_configuration;
  if (std::string reason = ptx::why_no_launch(kernel, request); !reason.empty()) return Error{reason};
  status = Status::not_supported;
  if (std::string reason = function.binary->program->why_no_partial_warp(kernel, request.block); !reason.empty()) {
    reporter.not_translated(reason);
    return Error{reason};
  }
  status = Status::success;
  return request;
}

Status Device::launch(const void* stub, const LaunchConfiguration& configuration, void** arguments) {
  if (failed_ != Status::success) return failed_;
  Function* const called = function(stub);
  if (called == nullptr) return report(Status::invalid_device_function);
  const Result<const ptx::abi::Kernel*> found = kernel(*called);
  if (!found) {
    reporter.not_translated(found.error());
    return report(called->binary->program == nullptr ? Status::no_kernel_image : Status::invalid_ptx);
  }
  Status status = Status::success;
  Result<ptx::LaunchRequest> request = request_of(*called, **found, configuration, arguments, status);
  if (!request) return refuse(status, request.error());
  // A programmatic dependent overlaps with the launch before it; any other follows it.
  const auto* const attributes = configuration.attributes;
  const bool depends = std::any_of(attributes, attributes + configuration.attribute_count, [](const auto& attribute) {
    return attribute.id == AttributeId::programmatic_serialization && attribute.number != 0;
  });
  if (!depends)
    if (const Status before = settle(); before != Status::success) return before;
  pending_.push_back({called, *found, std::move(*request)});
  return Status::success;
}

Status Device::settle() {
  if (pending_.empty()) return failed_;
  std::vector<Pending> launches = std::move(pending_);
  pending_.clear();
  run(std::move(launches));
  return failed_;
}

void Device::run(std::vector<Pending> launches) {
  loom::Options options;
  options.schedule = settings.schedule;
  options.check = settings.check;
  options.foreign = !settings.strict;
  options.workers = settings.workers;
  options.numerics = settings.numerics;
  options.seconds_limit = settings.seconds;
  options.processors = settings.processors;
  options.suppressed = settings.suppressed;
  options.record_sites = settings.sites;
  options.record_events = settings.timeline;
  const auto is_mutated = [&](const Pending& one) { return settings.mutated_kernel == one.function->name; };
  if (settings.mutation && std::any_of(launches.begin(), launches.end(), is_mutated))
    options.mutation = settings.mutation;

  const std::vector<loom::TensorRef> tensors = memory.tensors();
  std::deque<ptx::PreparedLaunch> prepared;
  std::vector<loom::GridLaunch> grids;
  for (const Pending& one : launches) {
    prepared.emplace_back(*one.function->binary->program, *one.kernel, one.request, tensors);
    grids.push_back(prepared.back().grid());
  }
  const auto start = std::chrono::steady_clock::now();
  std::vector<loom::Outcome> outcomes;
  if (grids.size() == 1)
    outcomes.push_back(loom::launch(grids[0].config, grids[0].entry, grids[0].params, grids[0].tensors, options));
  else
    outcomes = loom::launch_dependent(grids, options);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  for (size_t i = 0; i < outcomes.size(); ++i) {
    const loom::LaunchConfig& config = grids[i].config;
    reporter.ran({.kernel = launches[i].function->name,
                  .grid = config.grid,
                  .block = launches[i].request.block,
                  .cluster = config.cluster,
                  .shared_bytes = config.shared_bytes,
                  .seconds = seconds / static_cast<double>(outcomes.size()),
                  .compile_seconds = compile_seconds_,
                  .ptx = launches[i].function->binary->program->name()},
                 outcomes[i]);
    compile_seconds_ = 0;
    if (!outcomes[i].ok()) failed_ = Status::launch_failure;
  }
}

// ---- errors

Status Device::report(Status status) {
  if (status != Status::success) last_ = status;
  return status;
}

Status Device::refuse(Status status, const std::string& sentence) {
  reporter.trouble(sentence);
  return report(status);
}

Status Device::take_last_error() {
  const Status status = last_error();
  last_ = Status::success;
  return status;
}

void Device::unsupported(const std::string& call, const std::string& instead) {
  settle();
  reporter.unsupported(fmt::format("the program calls {}, which the loom's CUDA runtime does not have{}{}", call,
                                   instead.empty() ? "" : "; ", instead));
  reporter.end();
  std::fflush(nullptr);
  constexpr int could_not = 3;
  std::_Exit(could_not);
}

}  // namespace warploom::cudart
