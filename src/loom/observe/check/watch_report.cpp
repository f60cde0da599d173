// From a conflict or a broken rule about phases to a finding that says both sides, what is missing, and the likely fix.
#include <fmt/format.h>

#include <string_view>

#include "loom/exec/cluster.hpp"
#include "loom/isa/mbarrier.hpp"
#include "loom/observe/check/watch.hpp"

namespace warploom::loom::check {
namespace {

struct Words {
  const char* code = "";
  std::string why;
  std::string fix;
};

bool is(std::string_view operation, std::string_view name) { return operation == name; }

/// Two accesses to tensor memory that nothing orders: what would, by the rules of hardware.md §4.5.
Words tensor_race(std::string_view first, std::string_view second) {
  if (is(first, "tcgen05.st"))
    return {
        "RACE-TMEM", "nothing orders the two, for no tcgen05.wait::st of the warp that stores comes before",
        "after the stores tmem_wait_store(), then tcgen05_fence_before() and the arrival that the second waits for"};
  if (is(first, "tcgen05.ld"))
    return {"RACE-TMEM", "nothing orders the two, for no tcgen05.wait::ld of the warp that loads comes before",
            "after the loads tmem_wait_load(), then tcgen05_fence_before() and the arrival that the second waits for"};
  if (is(first, "tcgen05.mma") && is(second, "tcgen05.mma"))
    return {"RACE-TMEM",
            "nothing orders the two: products follow each other only if one thread issues them on the same accumulator",
            "one thread issues both, or the second comes after a wait for a commit of the first (hardware.md §4.5)"};
  if (is(first, "tcgen05.mma") && is(second, "tcgen05.cp"))
    return {"RACE-TMEM", "nothing orders the two: a tcgen05.cp may overtake the products before it",
            "the copy comes after a wait for a commit of the product (hardware.md §4.5)"};
  return {};
}

/// Ordered, and the first made through the generic proxy: what the async proxy needs beside that.
Words no_proxy_fence(std::string_view first) {
  if (is(first, "cp.async") || is(first, "st.async") || is(first, "red.async"))
    return {
        "PROXY",
        fmt::format("they are ordered, but {} writes through the generic proxy and the second goes through the async "
                    "proxy, and no thread that knows the first to be over executes fence.proxy.async in between",
                    first),
        "a thread that has waited for it executes fence_proxy_async_shared() before it issues the second, or "
        "synchronises with the thread that does"};
  if (first.find("shared::cluster") != std::string_view::npos)
    return {"PROXY",
            "they are ordered, but one goes through the async proxy, and the thread that made the other executes no "
            "fence.proxy.async that is about other CTAs' memory before it synchronises",
            "the thread executes fence_proxy_async() before it arrives: fence.proxy.async.shared::cta "
            "(fence_proxy_async_shared) is about its own CTA only"};
  return {"PROXY",
          "they are ordered, but one goes through the async proxy, and the thread that made the other executes no "
          "fence.proxy.async before it synchronises",
          "every thread that made such an access executes fence_proxy_async_shared() before it arrives or "
          "synchronises; a fence of the thread that issues the second does not cover the others"};
}

Words uninitialised_tensor(const Conflict& conflict, std::string_view second) {
  if (conflict.accumulates)
    return {"UNINIT-TMEM", "it adds to an accumulator that nobody has written",
            "the first product of a tile overwrites its accumulator (accumulate = false)"};
  if (is(second, "tcgen05.mma"))
    return {"UNINIT-TMEM", "nobody has written this operand (A or scale factors)",
            "tcgen05.cp by the same thread, or tcgen05.st with its wait and the fences, comes before the product"};
  return {"UNINIT-TMEM", "nobody has written what is read",
          "a product or tcgen05.st writes these lanes and columns first; lanes that disable-output-lane names stay as "
          "they are"};
}

Words words_for(const Conflict& conflict, bool tensor, std::string_view first, std::string_view second) {
  switch (conflict.kind) {
    case Conflict::Kind::race:
      if (tensor)
        if (Words words = tensor_race(first, second); words.code[0] != '\0') return words;
      return {tensor ? "RACE-TMEM" : "RACE-SMEM", "nothing orders the two",
              conflict.later_writes && !conflict.earlier_writes
                  ? "the second must wait for a barrier at which whoever reads arrives after the read (of a copy or "
                    "a tensor core: at which its completion arrives)"
                  : "the second waits for a barrier at which the first, or its completion, arrives"};
    case Conflict::Kind::no_proxy_fence: return no_proxy_fence(first);
    case Conflict::Kind::not_visible:
      return {"NOT-VISIBLE", "the first is over, but nothing makes its writes visible to the second",
              "wait for the barrier that the write itself completes on, or pass it on with an arrival that releases to "
              "the cluster"};
    case Conflict::Kind::no_tensor_fence:
      return {"TMEM-FENCE", "they are ordered, but without the tcgen05 fences that carry the order to tensor memory",
              "tcgen05_fence_before() before the arrival or barrier, tcgen05_fence_after() after the wait"};
    case Conflict::Kind::uninitialised:
      if (tensor) return uninitialised_tensor(conflict, second);
      return {"UNINIT-SMEM", "nobody has written what is read", "load or store these bytes before they are read"};
    case Conflict::Kind::update_order:
      return {"RACE-SMEM", "nothing orders the two, and an operation of scope .cta sees none of another CTA's threads",
              "an operation on memory that several CTAs of the cluster use has scope cluster, or a wider one"};
  }
  return {};
}

const char* proxy_text(Proxy proxy) {
  switch (proxy) {
    case Proxy::generic: return "";
    case Proxy::async: return ", async proxy";
    case Proxy::tensor: return ", tensor core";
  }
  return "";
}

}  // namespace

OtherSide WatchNotes::side_of(const Record& record, bool writes) const {
  const Site& site = sites_[record.site];
  std::string what = fmt::format("{} {}{}", site.operation, writes ? "writes" : "reads", proxy_text(record.proxy));
  if (!site.object.empty()) what += fmt::format(", for {}", site.object);
  return {std::move(what), site.warp, record.lanes != 0 ? record.lanes : site.lanes, site.pc};
}

Record WatchNotes::placed(Record record, const Shadow& shadow, uint32_t offset) const {
  if (record.gathered)
    record.site = units_[static_cast<size_t>(&shadow - shared_.data())][offset / LineSet::unit_bytes].site;
  return record;
}

const Barrier* WatchNotes::slot_barrier(const Shadow& shadow, uint32_t offset) const {
  const std::map<uint32_t, Slot>& slots = slots_[static_cast<size_t>(&shadow - shared_.data())];
  auto slot = slots.upper_bound(offset);
  if (slot == slots.begin()) return nullptr;
  --slot;
  const auto& [begin, known] = *slot;
  if (offset >= begin + known.bytes || known.barrier == nullptr || known.barrier->ring == nullptr) return nullptr;
  return known.barrier;
}

std::string WatchNotes::slot_of(const Shadow& shadow, uint32_t offset) const {
  const Barrier* const barrier = slot_barrier(shadow, offset);
  return barrier == nullptr ? std::string() : fmt::format(" (ring {}, slot {})", barrier->ring, barrier->stage);
}

/// Where the warp that still reads a slot gave it back, if it did.
std::optional<OtherSide> WatchNotes::release_of(const Shadow& shadow, const Conflict& conflict) const {
  const Barrier* const full = slot_barrier(shadow, conflict.at);
  if (conflict.kind != Conflict::Kind::race || conflict.earlier_writes || full == nullptr || full->side != 0) return {};
  const Barrier* const empty = isa::find_barrier(*full->cta, full->offset + full->stages * 8);
  if (empty == nullptr || empty->side != 1) return {};
  const Warp* const reader = sites_[conflict.earlier.site].warp;
  for (const auto* signals : {&empty->current, &empty->previous})
    for (const Signal& signal : *signals)
      if (signal.warp == reader && signal.arrivals > 0)
        return OtherSide{
            fmt::format("gives slot {} of ring {} back, too early if the read comes after it", full->stage, full->ring),
            reader, signal.lanes, signal.pc};
  return {};
}

void WatchNotes::report(Pc pc, const Warp& warp, const Conflict& found, const Shadow* shared) {
  const bool tensor = shared == nullptr;
  Conflict conflict = found;
  if (!tensor) conflict.earlier = placed(conflict.earlier, *shared, conflict.at);
  const Site& later = sites_[conflict.later.site];
  Words words = words_for(conflict, tensor, sites_[conflict.earlier.site].operation, later.operation);
  const std::string place =
      tensor ? fmt::format("column {} of tensor memory", conflict.at / tmem_group_lanes % tmem_column_count)
             : fmt::format("shared memory at 0x{:x}{}", conflict.at, slot_of(*shared, conflict.at));
  const std::string what = fmt::format("{} {} {}{}", later.operation, conflict.later_writes ? "writes" : "reads", place,
                                       later.object.empty() ? "" : fmt::format(" (for {})", later.object));
  const uint32_t lanes = conflict.later.lanes != 0 ? conflict.later.lanes : later.lanes;
  if (conflict.kind == Conflict::Kind::uninitialised)
    return stop(cluster_, &warp, lanes, pc, words.code, fmt::format("{}, and {}", what, words.why), {words.fix}, {});
  const Site& earlier = sites_[conflict.earlier.site];
  std::string message = fmt::format("{}, which {} {}: {}", what, earlier.operation,
                                    conflict.earlier_writes ? "writes" : "reads", words.why);
  std::vector<OtherSide> sides{side_of(conflict.earlier, conflict.earlier_writes)};
  if (!tensor)
    if (std::optional<OtherSide> release = release_of(*shared, conflict)) sides.push_back(std::move(*release));
  // An arrival that tells nothing may be all that orders the two.
  const bool untold = conflict.kind == Conflict::Kind::not_visible ||
                      (conflict.kind == Conflict::Kind::no_proxy_fence && !conflict.earlier_writes);
  if (const size_t from = earlier.warp == nullptr ? mute_.size() : agent(*earlier.warp).warp;
      untold && from < mute_.size() && mute_[from].pc != nullptr) {
    const Mute& mute = mute_[from];
    sides.push_back({text_of(mute), earlier.warp, mute.lanes, mute.pc});
    words.fix = fmt::format(
        "the arrival releases to the cluster (mbarrier_arrive<Scope::cluster>, cluster_arrive), and {}",
        conflict.later.proxy == Proxy::async ? "a fence.proxy.async of the thread that made the first comes before it"
                                             : "the wait acquires from it (mbarrier_wait<Scope::cluster>)");
  }
  const bool equal_stores = conflict.kind == Conflict::Kind::race && !tensor && conflict.earlier_writes &&
                            conflict.later_writes && conflict.later.same && !conflict.later.updates() &&
                            !conflict.earlier.updates();
  stop(cluster_, &warp, lanes, pc, words.code, std::move(message), {words.fix}, std::move(sides),
       equal_stores ? Concern::equal_stores : Concern::any);
}

std::string WatchNotes::text_of(const Mute& mute) const {
  if (mute.barrier == cluster_barrier_)
    return "arrives at the cluster barrier with .relaxed, which tells nothing of what its threads did";
  return fmt::format(
      "arrives at {} of cta {} with the scope of its own CTA (release.cta), which tells that CTA nothing of "
      "what its threads did",
      name_of(mute.barrier), barriers_[mute.barrier].barrier->cta->rank);
}

std::string WatchNotes::name_of(Order::BarrierId id) const {
  const BarrierNotes& notes = barriers_[id];
  return notes.barrier != nullptr ? notes.barrier->name() : notes.name;
}

void WatchNotes::report(const Order::Violation& violation) {
  const std::string barrier = name_of(violation.barrier);
  std::string message, fix;
  const char* code = "PHASE-AMBIG";
  switch (violation.rule) {
    case PhaseRule::arrival_early:
      message = fmt::format(
          "an arrival of phase {} of {} is not ordered behind the end of phase {}: in another "
          "schedule it counts for that one",
          violation.phase, barrier, static_cast<int64_t>(violation.phase) - 1);
      fix = "who arrives again first waits for the phase before, or for something that only happens after it";
      break;
    case PhaseRule::expect_late:
      message = fmt::format(
          "bytes are announced for phase {} of {} after its last arrival may have come: in another "
          "schedule the phase completes without them",
          violation.phase, barrier);
      fix = "announce the bytes before, or with, an arrival of the same phase (mbarrier_arrive_expect_tx)";
      break;
    case PhaseRule::wait_early:
      message = fmt::format(
          "a wait for phase {} of {} may begin before phase {} has ended: its parity then says it "
          "is over already",
          violation.phase, barrier, static_cast<int64_t>(violation.phase) - 1);
      fix = "a waiter passes every phase of its barrier, or is ordered behind the one it leaves out";
      break;
    case PhaseRule::wait_late:
      message = fmt::format(
          "phase {} of {} may end before this wait for {} has passed: its parity then says it is not over yet",
          violation.phase + 1, barrier, phase_text(violation.phase + 1));
      fix = "who completes the next phase first learns, through another barrier, that the waiter has passed";
      break;
    case PhaseRule::test_answered:
      message = fmt::format(
          "this test for {} of {} may come when another phase of that parity is the last to be complete: the answer is "
          "then about that one",
          phase_text(violation.phase + 1), barrier);
      fix = "a test asks for the phase under way or the one before, and nobody completes two more before it";
      break;
    case PhaseRule::increment_late:
      message = fmt::format(
          "cp.async.mbarrier.arrive raises the pending count of phase {} of {} after its last arrival may have come: "
          "in "
          "another schedule the phase completes without it",
          violation.phase, barrier);
      fix = "count the arrival in mbarrier.init and use the .noinc form, or arrive once more after it";
      break;
    case PhaseRule::may_be_last:
      code = "ARRIVE-OVERFLOW";
      message = fmt::format(
          "mbarrier.arrive.noComplete of phase {} of {} is the last arrival in another schedule; it must leave some to "
          "others",
          violation.phase, barrier);
      fix = "some arrival of the phase is ordered behind it, by program order or through another barrier";
      break;
    case PhaseRule::byte_range:
      code = "TX-RANGE";
      message = fmt::format(
          "the byte count of phase {} of {} leaves its range of +-1048575 when its signals come in another order",
          violation.phase, barrier);
      fix = "announce no more than 1048575 bytes at a time, or order the announcements behind bytes that have landed";
      break;
  }
  const Stamp& by = violation.by;
  if (by.slot < order_.warps())
    return stop(cluster_, &warp_of(by.slot), by.lane == whole_slot ? ~0u : 1u << by.lane, violation.at, code,
                std::move(message), {fix}, {});
  const Thread* issuer = delivering_ != nullptr ? delivering_->issuer : nullptr;
  stop(cluster_, issuer != nullptr ? issuer->warp : nullptr, issuer != nullptr ? 1u << issuer->id.lane : ~0u,
       violation.at, code, std::move(message), {fix}, {});
}

}  // namespace warploom::loom::check
