// The checker's part for memory: accesses of threads and warps to shared and global memory, compared with those before.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "loom/observe/check/footprint.hpp"
#include "loom/observe/check/global_memory.hpp"
#include "loom/observe/check/watch_notes.hpp"

namespace warploom::loom::check {

class WatchMemory : public WatchNotes {
 public:
  void synchronise(const Warp& warp, uint32_t mask);
  /// `value`: what a store is about to write, where that is known.
  void access(Thread& thread, Pc pc, const Cta& owner, uint32_t offset, uint32_t bytes, bool write,
              const char* operation, const void* value = nullptr);
  /// By all lanes of a warp together, which have met: stmatrix, ldmatrix, tcgen05.alloc.
  void access(const Warp& warp, Pc pc, std::span<const uint32_t> offsets, uint32_t bytes, bool write,
              const char* operation);
  /// A tensor map in global memory is written, and released with that or not. Its moment, for those who fence.
  Stamp map_changed(Thread& thread, Pc pc, const TensorMap* map, bool released);
  /// fence.proxy.tensormap, and the use of a map: plain stores to it need both fences, too.
  Stamp map_release(Thread& thread);
  Stamp map_acquire(Thread& thread, const TensorMap* map);
  void map_used(Thread& thread, Pc pc, const TensorMap& map);
  /// Is that moment over, in every schedule, when the thread comes here?
  bool knows(const Thread& thread, const Stamp& moment) const;
  void global_access(Thread& thread, Pc pc, const void* begin, size_t bytes, bool write, const void* value = nullptr);
  void fence_proxy_global(Thread& thread);
  void bulk_committed(const Thread& thread, const BulkGroup& group);
  /// For the end of all but the latest `pending` groups.
  void bulk_waited(const Thread& thread, uint32_t pending);
  /// What this cluster touched, where clusters cannot talk; null otherwise.
  std::unique_ptr<GlobalMemory> take_global() { return std::move(own_global_); }
  /// An operation that sees what others have done to the object before it. `of_launch`: also those of other clusters.
  struct VisitOf {
    const void* object = nullptr;
    uint32_t bytes = 0;
    Update update = Update::answers;
    const char* operation = "";
    bool of_launch = false;
  };

 protected:
  explicit WatchMemory(Cluster& cluster);

  /// What a warp writes with one stmatrix after the other, or a thread with one 16-byte store after the other, while
  /// nothing else happens to it or to shared memory: tiles are whole lines once it is done, and checked as such. Every
  /// other event settles it first.
  struct Stores {
    struct One {
      Pc pc = nullptr;
      Record record;
      uint32_t offset = 0;
    };
    const Warp* warp = nullptr;
    uint32_t lanes = 0;     ///< all of them, or one
    std::vector<One> each;  ///< units of 16 bytes
    LineSet lines;

    bool go_on(const Warp& who, uint32_t which) const {
      constexpr size_t most = 1024;
      return warp == &who && lanes == which && each.size() < most;
    }
  };
  /// Of one more store of these lanes: what is noted of it, for the caller to fill in where it lies. (A record that is
  /// changed and then copied is waited for by the copy.)
  Record& gather(const Warp& warp, uint32_t lanes, Pc pc, uint32_t offset) {
    gathered_.warp = &warp;
    gathered_.lanes = lanes;
    gathered_.lines.add(offset);
    Stores::One& one = gathered_.each.emplace_back();
    one.pc = pc;
    one.offset = offset;
    return one.record;
  }
  /// May these bytes be those of a live mbarrier?
  bool near_barriers(const Cta& cta, uint32_t offset, uint32_t bytes) const {
    return live_[rank_of(cta)].near(offset, bytes);
  }
  /// Reports an access to the bytes of a live mbarrier by anything but mbarrier operations.
  void spare_barriers(Pc pc, const Warp& warp, const Cta& cta, uint32_t offset, uint32_t bytes, bool write,
                      const Record& record);
  void settle_stores() {
    if (gathered_.warp != nullptr) check_stores();
  }
  void check_stores();
  void touch(Pc pc, const Warp& warp, Shadow& shadow, uint32_t first, uint32_t count, bool write, const Viewpoint& view,
             const Record& record, bool tensor, const Alike* alike = nullptr);
  void touch_shared(Pc pc, const Warp& warp, const Cta& cta, uint32_t offset, uint32_t bytes, bool write,
                    const Viewpoint& view, const Record& record, const Alike* alike = nullptr) {
    settle_stores();
    touch(pc, warp, shared_[rank_of(cta)], offset, bytes, write, view, record, false, alike);
    if (near_barriers(cta, offset, bytes)) spare_barriers(pc, warp, cta, offset, bytes, write, record);
  }
  /// Of a thread's store to its own CTA's memory.
  class AlikeStores;
  void note_store(Agent agent, const Record& store);
  void touch_cells(Pc pc, const Warp& warp, uint32_t first_cta, const std::vector<CellRun>& runs, bool write,
                   const Viewpoint& view, const Record& record);
  void issue_global(const AsyncOp& op, uint32_t at);
  GlobalAccess global_access_of(const Warp& warp, const Stamp& stamp, uint32_t at, Touch touch, Proxy proxy);
  void touch_global(Pc pc, const Warp& warp, const void* begin, size_t bytes, const GlobalAccess& access, uint8_t lane,
                    const Viewpoint& view, const AsyncOp* store = nullptr, bool same = false);
  [[nodiscard]] bool leaves_the_same(const AsyncOp& store, const GlobalConflict& conflict) const;
  /// The moment of a thread's access to shared memory.
  Record record_of(const Thread& thread, const Cta& owner, const Viewpoint& view, uint32_t site);
  /// Two updates of the same bytes that come in either order, and it shows which.
  void updated(const Conflict& conflict, const Shadow& shadow);
  void updated(const GlobalConflict& conflict);
  void updated(const void* word, uint32_t bytes, Pc pc, const char* operation, bool by_thread);
  /// Something that reads, writes or signals in the shared memory of a CTA, and may do so for as long as no thread
  /// there knows that it is over.
  struct Incoming {
    Stamp stamp;
    Pc pc = nullptr;
    const Warp* warp = nullptr;
    uint32_t lanes = 0;
    const char* operation = "";
    const char* code = "EXIT-REMOTE";
    const Barrier* barrier = nullptr;  ///< that is told of its end
  };
  void came_into(const Cta& cta, const Incoming& incoming);
  /// All CTAs whose memory the work reads or writes, or whose barrier it signals.
  void came_into(const AsyncOp& op, const char* operation);
  std::vector<std::vector<Incoming>> incoming_;  ///< into each CTA, that no thread that left it knew of
  /// The live mbarriers of a CTA, by offset, and how many there are in each line of shared memory.
  struct LiveBarriers {
    static constexpr uint32_t line_bytes = 128, most_lines = 8;
    std::map<uint32_t, const Barrier*> at;
    std::vector<uint8_t> lines;

    void add(const Barrier& barrier);
    void remove(const Barrier& barrier);
    /// Whether there could be one among those bytes: asked of every access, so that few lines are looked at.
    bool near(uint32_t offset, uint32_t bytes) const {
      if (bytes > most_lines * line_bytes) return !at.empty();
      const auto end = std::min<size_t>((offset + bytes + line_bytes - 1) / line_bytes, lines.size());
      for (size_t line = offset / line_bytes; line < end; ++line)
        if (lines[line] != 0) return true;
      return false;
    }
  };
  std::vector<LiveBarriers> live_;
  Stores gathered_;
  uint32_t instructions_ = 0;
  bool names_a_unit_twice(const Cta& cta, std::span<const uint32_t> offsets);
  std::vector<bool> released_;  ///< threads of the cluster: by a release fence
  struct Visit {
    Agent agent;
    Stamp stamp;
    size_t point = 0;
    Update update = Update::answers;
  };
  static constexpr uintptr_t visit_unit = 4;  ///< visitors of these bytes come to the same object
  std::unordered_map<uintptr_t, std::vector<Visit>> visits_;
  std::unique_ptr<GlobalMemory> own_global_;
  GlobalMemory* global_ = nullptr;
  std::unordered_map<const Thread*, std::vector<uint32_t>> stores_;  ///< groups that nobody has waited for to the end
};

}  // namespace warploom::loom::check
