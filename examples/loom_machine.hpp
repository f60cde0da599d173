// The loom as the cases see it: memory, tensor maps and launches. gpu/gpu_machine.cuh has the same members.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

#include "check.hpp"
#include "warploom/loom/launch.hpp"
#include "warploom/loom/tensor_map.hpp"

namespace warploom::inline WARPLOOM_MACHINE::examples {

class LoomMachine {
 public:
  explicit LoomMachine(const loom::Schedule& schedule = {}, loom::Chip chip = loom::Chip::sm90) : chip_(chip) {
    options_.schedule = schedule;
  }

  void reset() {
    blocks_.clear();
    tensors_.clear();
    trouble_.clear();
  }
  const std::string& trouble() const { return trouble_; }
  void use(loom::Numerics numerics) { options_.numerics = numerics; }
  /// Launches run under the checker from here on.
  void check() { options_.check = true; }
  /// Launches keep their events from here on; events() are the last one's.
  void record_events() { options_.record_events = true; }
  const loom::EventLog& events() const { return events_; }

  /// Memory of the machine, with these contents.
  template <class T>
  T* memory(const std::vector<T>& contents, bool writable = false) {
    const size_t bytes = contents.size() * sizeof(T);
    blocks_.push_back(std::make_unique<Block[]>((bytes + sizeof(Block) - 1) / sizeof(Block)));
    std::byte* block = blocks_.back()[0].bytes;
    std::memcpy(block, contents.data(), bytes);
    tensors_.push_back(
        {block, bytes, writable ? loom::Access::write : loom::Access::read, writable ? "output" : "input"});
    return reinterpret_cast<T*>(block);
  }
  template <class T>
  std::vector<T> read(const T* memory, size_t count) {
    return std::vector<T>(memory, memory + count);
  }

  TensorMap encode(const TensorMapArgs& args) {
    Result<TensorMap> map = loom::encode_tensor_map(args, chip_);
    if (!map) fail("tensor map: " + map.error());
    return map ? *map : TensorMap{};
  }

  template <class Kernel>
  void launch(const Shape& shape, const typename Kernel::Params& params) {
    if (!trouble_.empty()) return;
    const loom::LaunchConfig config{.kernel = Kernel::name,
                                    .grid = shape.grid,
                                    .cluster = shape.cluster,
                                    .threads = shape.threads,
                                    .shared_bytes = sizeof(typename Kernel::Storage),
                                    .talks_across_clusters = talks<Kernel>()};
    loom::Options options = options_;
    if (options.schedule.skew >= static_cast<int>(shape.cluster.count())) options.schedule.skew = -1;  // no such CTA
    loom::Outcome outcome = loom::launch(config, &entry<Kernel>, &params, tensors_, options);
    if (!outcome.ok()) fail(to_text(outcome.report));
    events_ = std::move(outcome.events);
  }

 private:
  struct alignas(128) Block {
    std::byte bytes[128];
  };

  template <class Kernel>
  static constexpr bool talks() {
    if constexpr (requires { Kernel::talks_across_clusters; })
      return Kernel::talks_across_clusters;
    else
      return false;
  }
  template <class Kernel>
  static void entry(const void* params) {
    Kernel::run(*static_cast<const typename Kernel::Params*>(params));
    asm volatile("" ::: "memory");  // no tail call: a report finds the line from the return address
  }
  void fail(const std::string& text) {
    if (trouble_.empty()) trouble_ = text;
  }

  loom::Chip chip_;
  loom::Options options_;
  std::vector<std::unique_ptr<Block[]>> blocks_;
  std::vector<loom::TensorRef> tensors_;
  loom::EventLog events_;
  std::string trouble_;
};

}  // namespace warploom::inline WARPLOOM_MACHINE::examples
