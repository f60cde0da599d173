// Who touched which bytes of global memory, and whether the next access is ordered behind them, within a cluster and
// between clusters.
//
// Only what the launch may write is followed. Within a cluster the order is that of order.hpp. Clusters know of each
// other only what atomics have told them: a release at a word, found there by an acquire whose scope reaches it, tells
// all that the releasing thread knew. Such an acquire is a moment of its own cluster: whoever comes after it knows what
// it was told.
//
// A launch whose clusters talk has one of these for all of them (they run one after the other). Of any other launch
// each cluster has one of its own, and what they touched is compared at the end: nothing can order them.
#pragma once

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "loom/observe/check/shadow.hpp"
#include "loom/observe/check/sync_words.hpp"
#include "warploom/loom/launch.hpp"

namespace warploom::loom::check {

/// `atomic`: an atomic, a reduction, or a thread's load or store with an order, as `update` says.
enum class Touch : uint8_t { read, write, atomic };

/// An access, without the lane. Those of the lanes of a warp that nothing came between are one.
struct GlobalAccess {
  uint32_t cluster = 0, cta = 0;
  uint32_t slot = 0, tick = 0;
  uint32_t site = 0;
  uint32_t store = 0;  ///< of a bulk store or reduction: whose group it is in
  Proxy proxy = Proxy::generic;
  Touch touch = Touch::read;
  Update update = Update::none;          ///< of an atomic or a reduction
  MemoryScope scope = MemoryScope::gpu;  ///< of an atomic
  bool by_thread = true;                 ///< the slot is a warp, and the lane counts

  bool writes() const { return touch == Touch::write || (touch == Touch::atomic && check::writes(update)); }
  friend bool operator==(const GlobalAccess&, const GlobalAccess&) = default;
};

struct GlobalConflict {
  enum class Kind : uint8_t {
    race,            ///< nothing orders the two
    not_visible,     ///< ordered, but nothing makes the write seen
    no_proxy_fence,  ///< the second goes through the async proxy, and no fence.proxy.async lies between
    no_map_fence,    ///< the second uses a tensor map, and no pair of fence.proxy.tensormap lies between
    not_waited,      ///< the first is a bulk store that nobody has waited for to its end
    narrow_scope,    ///< two atomics, one of which does not reach the other
    update_order,    ///< no conflict: two updates, and it shows which of them comes first
    equal_stores,    ///< no conflict: the second replaces the first, and a third that equals both may come anywhere
  };
  Kind kind = Kind::race;
  GlobalAccess earlier, later;
  uint8_t earlier_lane = 0, later_lane = 0;
  uintptr_t address = 0;
  uint32_t bytes = 1;   ///< from there on, up to the last that both touch
  bool behind = false;  ///< the first lies behind a store that the second leaves the same as
};

/// Where an access was made, as it can be told when its cluster is gone.
struct GlobalSite {
  const void* pc = nullptr;
  const char* operation = "";
  Agents agents = {};
};

class GlobalMemory {
 public:
  explicit GlobalMemory(std::span<const TensorRef> tensors);

  /// May the launch write there?
  bool follows(const void* begin, const void* end) const;
  /// "d + 0x80": the tensor, and the offset in it.
  std::string place_of(uintptr_t address) const;

  /// Whose eyes an access is looked at with.
  struct View {
    uint32_t cluster = 0;
    const Viewpoint* here = nullptr;
    bool same = false;          ///< a thread's store of the value that is there
    const void* map = nullptr;  ///< the tensor map that is used
  };
  /// True: the two may come in any order, for they leave the same.
  using Report = std::function<bool(const GlobalConflict&)>;

  uint32_t add_site(const void* pc, const char* operation, const Agents& agents);
  const GlobalSite& site(uint32_t index) const { return sites_[index]; }
  /// Bytes from `begin` on are touched. `lane` counts where a thread does it.
  void touch(const std::byte* begin, size_t bytes, const GlobalAccess& access, uint8_t lane, const View& view,
             const Report& report);

  /// Whether one thread makes both, whose order is then that of the program.
  bool of_one_thread(const GlobalAccess& one, const GlobalAccess& two) const;

  /// A group of bulk stores: until it is known to have ended, nothing is ordered behind its writes.
  uint32_t add_store();
  void stored(uint32_t store, const Stamp& waited) { stores_[store] = waited; }

  // ---- what clusters tell each other
  /// All that somebody knows who knows this of its own cluster, which comes first.
  ToldRef known(uint32_t cluster, const KnowledgeRef& own) const;
  SyncWords& words() { return words_; }
  /// At that moment of the cluster all this became known.
  void acquired(uint32_t cluster, const Stamp& at, const ToldRef& told);
  /// Has anybody made an ordinary write that one could be about?
  bool fences_matter() const { return plain_writes_; }
  /// fence.proxy.async by a thread that knew this.
  void proxy_fence(uint32_t cluster, const Stamp& at, const KnowledgeRef& knows);

  /// fence.proxy.tensormap: one that releases, or acquires `map` for the threads of its CTA.
  struct MapFence {
    uint32_t cluster = 0, cta = 0;
    const void* map = nullptr;  ///< null: a release
    Stamp at;
    KnowledgeRef knows;
  };
  void map_fence(const MapFence& fence) { map_fences_.push_back(fence); }

  /// Bytes that two clusters touch, one of them to write, once for each two places; of memories that know of one
  /// cluster each.
  struct Overlap {
    GlobalConflict conflict;
    const GlobalMemory *first = nullptr, *second = nullptr;
  };
  static std::vector<Overlap> overlaps(std::span<const GlobalMemory* const> memories);

 private:
  struct Entry {
    uint32_t access = 0;
    uint16_t bytes = 0;  ///< of the sixteen; of all sixteens of a line
    uint8_t lane = 0;
    bool writes : 1 = false;
    /// What the latest write came over. Another one that leaves the same as that must be ordered behind it, too.
    bool behind : 1 = false;
    /// What an atomic or a reduction came over. Others that are not ordered with that one must be ordered behind it.
    bool covered : 1 = false;
    /// A bulk store that another thread's leaves the same as, in either order.
    bool equalled : 1 = false;

    friend bool operator==(const Entry&, const Entry&) = default;
  };
  using Entries = boost::container::small_vector<Entry, 2>;
  static constexpr uintptr_t line_bytes = 128, unit_bytes = 16, page_bytes = 4096;
  static constexpr uintptr_t line_units = line_bytes / unit_bytes;
  /// Of a line: one list for all of it until a part is touched.
  struct Lists {
    Entries whole;
    std::unique_ptr<Entries[]> units;
  };
  /// Most are written once, as a whole.
  struct Line {
    Entry only;          ///< of no bytes: nobody has touched it, or there are lists
    uint32_t lists = 0;  ///< their number; 0: none
  };
  struct Page {
    Line lines[page_bytes / line_bytes];
  };
  static constexpr uintptr_t chunk_pages = 512;
  struct Chunk {
    Page* pages[chunk_pages] = {};
  };
  /// Pages that may be written, one after the other.
  struct Region {
    uintptr_t first = 0, last = 0;  ///< pages, the last one included
    std::vector<std::unique_ptr<Chunk>> chunks;
  };
  struct Writable {
    uintptr_t begin = 0, end = 0;
    const char* name = "";
  };
  struct Acquire {
    Stamp at;
    ToldRef told;
  };
  struct Fence {
    uint32_t cluster = 0;
    Stamp at;
    KnowledgeRef knows;
  };
  struct Run {
    uintptr_t begin = 0, end = 0;
    uint32_t access = 0;
    uint8_t lane = 0;
    bool writes = false;
    const GlobalMemory* memory = nullptr;
  };

  /// Null: outside of all that is followed.
  Page* page_at(uintptr_t address);
  /// Calls visit(region, line in it, address, line) for every line that was touched.
  template <class Visit>
  void for_each_line(Visit&& visit) const;
  uint32_t number_of(const GlobalAccess& access);
  void visit(Entries& entries, uint16_t bytes, uintptr_t address, uintptr_t length, uint32_t access, uint8_t lane,
             const View& view, const Report& report);
  /// Of two updates: is the later one behind the end of the earlier in every schedule?
  bool follows_update(const Entry& entry, const View& view) const;
  std::optional<GlobalConflict::Kind> conflict(const Entry& earlier, const GlobalAccess& later, const View& view) const;
  bool covers(const View& view, Plane plane, uint32_t cluster, const Stamp& stamp) const;
  bool map_fenced_between(const GlobalAccess& earlier, const Stamp& stamp, const GlobalAccess& use,
                          const View& view) const;
  bool fenced_between(const GlobalAccess& earlier, const Stamp& stamp, const View& view) const;
  void add_runs(const Line& line, uintptr_t begin, std::vector<Run>& runs) const;

  std::vector<Writable> writable_;
  std::vector<Region> regions_;  ///< by address; none has a page of another
  std::deque<Page> pages_;
  std::deque<Lists> lists_ = std::deque<Lists>(1);
  uintptr_t last_page_ = ~uintptr_t{0};
  Page* last_ = nullptr;
  std::vector<GlobalAccess> accesses_;
  std::vector<GlobalSite> sites_;
  std::vector<Stamp> stores_;  ///< when each group was known to have ended; tick 0: not yet
  SyncWords words_;
  std::unordered_map<uint32_t, std::vector<Acquire>> acquires_;  ///< of each cluster
  struct Gathered {
    size_t count = 0;
    Told told;
  };
  mutable std::unordered_map<uint32_t, Gathered> gathered_;  ///< of each cluster: what its first acquires told
  std::vector<Fence> fences_;
  std::vector<MapFence> map_fences_;
  bool plain_writes_ = false;  ///< somebody made one: fences matter
};

}  // namespace warploom::loom::check
