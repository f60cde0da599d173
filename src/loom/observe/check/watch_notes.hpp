// What all parts of the checker share: the places in the source that operations come from, the barriers, the shadows of
// memory, the points at which the schedule decides, and the words of a report.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "loom/observe/check/order.hpp"
#include "loom/observe/check/recorder.hpp"
#include "loom/observe/check/shadow.hpp"
#include "warploom/loom/launch.hpp"
#include "warploom/loom/report.hpp"

namespace warploom::loom {

struct AsyncOp;
struct Barrier;
struct BulkGroup;
class Cluster;
struct CopyGroup;
struct Cta;
struct NamedBarrier;
struct Thread;
struct TmemAccess;
struct Warp;
struct WgmmaInstruction;

/// The other side of a finding, before its place becomes a line.
struct OtherSide {
  std::string what;
  const Warp* warp = nullptr;  ///< null: `agents`, of a cluster that is gone
  uint32_t lanes = 0;
  const void* pc = nullptr;
  Agents agents = {};
};

namespace check {

using Pc = const void*;
using WorkRef = std::shared_ptr<const Work>;

class WatchNotes {
 public:
  struct PointNote {
    Pc pc = nullptr;
    const char* operation = "";
    Decision decision;
    bool may_hold = false, may_refuse = false;
    bool matters = false;  ///< another schedule may have it come out differently
  };
  struct Asked {
    uint64_t phases = 0;    ///< completed phases that it asks for
    bool by_token = false;  ///< of a token: it may be asked while that phase is the current one or the last
  };
  /// Something that nothing can be decided about.
  void depends(Pc pc, const char* operation);
  std::span<const PointNote> points() const { return points_; }

 protected:
  explicit WatchNotes(Cluster& cluster);

  struct Site {
    Pc pc = nullptr;
    const Warp* warp = nullptr;
    uint32_t lanes = ~0u;
    const char* operation = "";
    std::string object;   ///< "input.full[2]"
    uint32_t global = 0;  ///< its number there; 0: none
    /// Of a thread's stores: what the thread knew, by its tick, since its warp met.
    std::vector<std::pair<uint32_t, KnowledgeRef>> stores = {};
  };
  struct BarrierNotes {
    const Barrier* barrier = nullptr;
    std::string name = {};  ///< of one that is no mbarrier
    std::optional<Stamp> init = {}, fenced = {};
    Pc init_at = nullptr;
    const Warp* ended_by = nullptr;  ///< mbarrier.inval: who, by which lane, and where
    uint32_t ended_lane = 0;
    Pc ended_at = nullptr;
    std::vector<uint32_t> known_to[2] = {};  ///< lanes of each warp to whom it is usable: in its CTA, from elsewhere
    struct Test {
      Stamp stamp;
      size_t point = 0;
      Asked asked;
      Pc pc = nullptr;
    };
    std::vector<Test> tests = {};  ///< that another phase may still end before
  };
  /// The number of a warp's first thread in the cluster.
  static size_t first_thread(const Warp& warp);
  Agent agent(const Thread& thread) const;
  Agent agent(const Warp& warp, uint8_t lane = 0) const;
  const Warp& warp_of(uint32_t slot) const;
  /// `object`: the barrier that is told of its end.
  uint32_t site(Pc pc, const Warp& warp, uint32_t lanes, const char* operation, const Barrier* object = nullptr);
  static uint32_t rank_of(const Cta& cta);
  /// Do the two see each other? An atomic of scope .cta sees those of its own CTA.
  [[nodiscard]] bool in_scope(const Record& a, const Record& b) const;
  size_t add_point(Pc pc, const char* operation, const Decision& decision);
  void report(Pc pc, const Warp& warp, const Conflict& conflict, const Shadow* shared);
  void report(const Order::Violation& violation);
  std::string name_of(Order::BarrierId id) const;
  /// " (ring input, slot 2)", where a copy into these bytes completes on a barrier of a ring.
  [[nodiscard]] std::string slot_of(const Shadow& shadow, uint32_t offset) const;
  [[nodiscard]] const Barrier* slot_barrier(const Shadow& shadow, uint32_t offset) const;
  [[nodiscard]] std::optional<OtherSide> release_of(const Shadow& shadow, const Conflict& conflict) const;
  [[nodiscard]] OtherSide side_of(const Record& record, bool writes) const;
  /// The record with the place of the store that wrote these bytes.
  [[nodiscard]] Record placed(Record record, const Shadow& shadow, uint32_t offset) const;
  Cluster& cluster_;
  uint32_t warps_per_cta_;
  Order order_;
  std::vector<Shadow> shared_, tensor_;  ///< one per CTA
  std::vector<Site> sites_;
  std::unordered_map<uint64_t, uint32_t> site_index_;
  std::array<std::pair<uint64_t, uint32_t>, 256> recent_sites_ = {};
  std::vector<BarrierNotes> barriers_;
  /// Where copies to a CTA land, and the barrier they complete on: [CTA][offset].
  struct Slot {
    uint32_t bytes = 0;
    const Barrier* barrier = nullptr;
  };
  std::vector<std::map<uint32_t, Slot>> slots_;
  Order::BarrierId cluster_barrier_ = 0;
  /// Units of a CTA's shared memory: by which store they were written last, of those that were gathered; and by which
  /// stmatrix, counted through the run.
  struct Unit {
    uint32_t site = 0, instruction = 0;
  };
  std::vector<std::vector<Unit>> units_;
  const AsyncOp* delivering_ = nullptr;
  /// Of a warp: its latest arrival that told nothing of what its threads had written.
  struct Mute {
    Pc pc = nullptr;
    uint32_t lanes = 0;
    Order::BarrierId barrier = 0;
  };
  std::vector<Mute> mute_;  ///< by warp
  void note_mute(uint32_t warp, const Mute& mute) {
    if (mute_.size() <= warp) mute_.resize(warp + 1);
    mute_[warp] = mute;
  }
  /// What it did, for a report: every arrival notes one, and few are told.
  std::string text_of(const Mute& mute) const;
  std::vector<PointNote> points_;
  Recorder* recorder_ = nullptr;  ///< of tests of the checker
};

}  // namespace check
}  // namespace warploom::loom
