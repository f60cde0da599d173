// What the mutation hook does to an operation, and which operations have which mutations.
#include "loom/observe/mutation_hook.hpp"

#include <fmt/format.h>

#include "loom/exec/cluster.hpp"

namespace warploom::loom {

Mutated mutate(Cluster& cluster, const char* operation, Pc pc, const Barrier* object) {
  const Options& options = *cluster.launch().options;
  if (!options.record_sites && !options.mutation) return {};
  const uint64_t key = reinterpret_cast<uintptr_t>(pc) * 31 + reinterpret_cast<uintptr_t>(operation);
  const auto [entry, added] = cluster.mutation.index.try_emplace(key, cluster.mutation.sites.size());
  if (added) {
    SiteEntry site{.operation = operation, .pc = pc, .object = {}, .executions = 0, .mutated = false};
    if (object != nullptr && object->ring != nullptr)
      site.object = fmt::format("{}{}", object->ring, object->side == 0 ? ".full" : object->side == 1 ? ".empty" : "");
    if (options.mutation)
      site.mutated = Site{.operation = operation, .object = site.object, .at = cluster.location_from_fiber(pc)}.key() ==
                     options.mutation->site;
    cluster.mutation.sites.push_back(std::move(site));
  }
  SiteEntry& site = cluster.mutation.sites[entry->second];
  ++site.executions;
  if (!site.mutated) return {};
  const int64_t execution = cluster.mutation.mutated_executions++;
  if (options.mutation->only >= 0 && options.mutation->only != execution) return {};
  switch (options.mutation->kind) {
    case MutationKind::drop: return {.times = 0};
    case MutationKind::twice: return {.times = 2};
    case MutationKind::count_plus: return {.count = 1};
    case MutationKind::count_minus: return {.count = -1};
    case MutationKind::bytes_plus: return {.bytes = 16};
    case MutationKind::bytes_minus: return {.bytes = -16};
    case MutationKind::flip_parity: return {.flip_parity = true};
    case MutationKind::wrong_stage: return {.wrong_stage = true};
  }
  return {};
}

std::vector<MutationKind> mutations_of(std::string_view operation) {
  using enum MutationKind;
  if (operation == "mbarrier.init") return {drop, twice, count_plus, count_minus};
  if (operation == "mbarrier.arrive" || operation == "mbarrier.arrive_drop")
    return {drop, twice, count_plus, count_minus, wrong_stage};
  if (operation == "mbarrier.wait" || operation == "mbarrier.test_wait") return {drop, flip_parity, wrong_stage};
  if (operation.find("_tx") != std::string_view::npos) return {drop, twice, bytes_plus, bytes_minus, wrong_stage};
  if (operation == "tcgen05.commit" || operation == "cp.async.bulk.tensor" || operation == "cp.async.mbarrier.arrive" ||
      operation == "clusterlaunchcontrol.try_cancel" || operation == "st.async" || operation == "cp.async.bulk" ||
      operation == "cp.reduce.async.bulk")
    return {drop, twice, wrong_stage};
  if (operation == "bar.sync" || operation == "bar.arrive") return {drop, twice, count_plus, count_minus, wrong_stage};
  if (operation == "barrier.cluster.arrive") return {drop, twice};
  if (operation == "wgmma.wait_group") return {drop, count_plus};
  return {drop};
}

std::string Site::key() const {
  return fmt::format("{}@{}@{}:{}@{}:{}", operation, object, at.user.file, at.user.line, at.library.file,
                     at.library.line);
}

}  // namespace warploom::loom
