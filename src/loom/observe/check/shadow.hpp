// Who touched which bytes last, and whether the next access is ordered behind them. A shadow holds one memory: shared
// memory of a CTA byte by byte, tensor memory lane by lane: the sixteen lanes of a column that most instructions touch
// together follow each other, and after them the next column.
//
// Most accesses cover many kilobytes (boxes of TMA, operands of tensor cores): a block is one cell until a part of it
// is touched, and again once all of it is written.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <vector>

#include "loom/observe/check/order.hpp"
#include "loom/observe/check/update.hpp"

namespace warploom::loom::check {

enum class Proxy : uint8_t { generic, async, tensor };

/// One access, or the same one by several lanes of a warp. There are many of them: they are kept small.
struct Record {
  uint32_t slot : 20 = 0;
  bool covered : 1 = false;   ///< an update came over it. Others that are not ordered with that one must know of it
  bool gathered : 1 = false;  ///< one of several stores that are told as one: `site` is that of the last
  bool same : 1 = false;      ///< a thread's store of the value that was there; of an update: its scope is .cta
  bool hides : 1 = false;     ///< it came over what its own warp did and other lanes need not know of
  Update update : 5 = Update::none;  ///< an atomic or a reduction: two of them are no race
  Proxy proxy : 2 = Proxy::generic;
  bool kept : 1 = false;  ///< a write that stands among the reads, beside one of another lane that wrote the same
  uint32_t tick = 0;      ///< 0: nobody
  uint32_t lanes = 0;     ///< of a warp's slot; 0 for asynchronous work
  uint32_t site = 0;      ///< whatever the caller wants to find again

  static Record of(const Stamp& stamp, uint32_t lanes, Proxy proxy = Proxy::generic, uint32_t site = 0) {
    Record record;
    record.slot = stamp.slot;
    record.proxy = proxy;
    record.tick = stamp.tick;
    record.lanes = lanes;
    record.site = site;
    return record;
  }
  bool nobody() const { return tick == 0; }
  bool updates() const { return update != Update::none; }
  /// Of one that stands among the reads.
  bool writes() const { return (updates() && update != Update::load) || kept; }
  friend bool operator==(const Record&, const Record&) = default;
};

/// Whose access it is: a thread's, or that of work in flight. Of one moment: what it knows stays what it is.
class Viewpoint {
 public:
  Viewpoint(Order& order, Agent agent) : order_(&order), agent_(agent) {}
  explicit Viewpoint(const Work& work) : work_(&work), knows_(&work.relies) {}
  /// Of somebody who knew this.
  explicit Viewpoint(const Knowledge& knows) : knows_(&knows) {}

  Record record(Proxy proxy, uint32_t site) const;
  /// Of all lanes of the thread's warp, which have met. Order::noted_all is to follow.
  Record record_of_warp(Proxy proxy, uint32_t site) const;
  bool covers(Plane plane, const Record& earlier) const;
  bool covers(Plane plane, const Stamp& stamp) const {
    return knows_ != nullptr ? knows_->covers(plane, stamp) : order_->covers(agent_, plane, stamp);
  }

 private:
  Order* order_ = nullptr;
  Agent agent_;
  const Work* work_ = nullptr;
  const Knowledge* knows_ = nullptr;
  mutable Record covered_[plane_count];  ///< the latest on each plane: neighbours are often the same one's
};

struct Conflict {
  enum class Kind : uint8_t {
    race,             ///< nothing orders the two
    no_proxy_fence,   ///< ordered, but one side goes through the other proxy and no fence says so
    not_visible,      ///< ordered, but nothing makes the write seen
    no_tensor_fence,  ///< ordered, but without the fences of tcgen05
    uninitialised,    ///< nobody has written what is read
    update_order,  ///< two updates that nothing orders: it may show which of them comes first, if they see each other
  };
  Kind kind = Kind::race;
  Record earlier, later;
  bool earlier_writes = false, later_writes = false;
  uint32_t at = 0;           ///< first byte, or cell, of the access that is concerned
  bool accumulates = false;  ///< what is read is the accumulator
};
const char* to_string(Conflict::Kind kind);

/// Is `later` ordered behind `earlier`, where one of them at least writes?
bool ordered(const Viewpoint& view, const Record& earlier, bool earlier_writes, const Record& later, bool later_writes,
             Conflict::Kind& kind);

/// Of a thread's store: lanes of its warp may write the same value with the same instruction, in whatever order.
class Alike {
 public:
  /// Of an access that the store comes over: one of its own warp that the other lanes need not know of?
  virtual bool hides(const Record& earlier) const = 0;
  /// Whether the store is one of those that this record is one of, and ordered behind all that the record came over
  /// (`at`: the first byte).
  virtual bool excuses(const Record& earlier, uint32_t at) const = 0;

 protected:
  ~Alike() = default;
};

class Shadow {
 public:
  using Report = std::function<void(const Conflict&)>;

  static constexpr uint32_t line_cells = 128;

  /// What is one cell at first: 64 lines, or one.
  enum class Block : uint8_t { tile = 0, line = 2 };
  /// Blocks begin at `origin`, so that tiles which lie one after the other from there on are whole blocks.
  explicit Shadow(uint32_t lines, Block block = Block::line, uint32_t origin = 0)
      : top_(static_cast<uint32_t>(block)),
        shift_((part_cells[top_] - origin % part_cells[top_]) % part_cells[top_]),
        blocks_((lines * line_cells + shift_ + part_cells[top_] - 1) / part_cells[top_]) {}

  void read(uint32_t first, uint32_t count, const Viewpoint& view, const Record& record, const Report& report);
  void write(uint32_t first, uint32_t count, const Viewpoint& view, const Record& record, const Report& report,
             const Alike* alike = nullptr);
  /// Of a record that is an update: reads and writes; or one of these, if it is an ordered load or store.
  void update(uint32_t first, uint32_t count, const Viewpoint& view, const Record& record, const Report& report);
  /// Would `write` have anything to report? If not, `overwrite` does the same.
  bool writable(uint32_t first, uint32_t count, const Viewpoint& view, const Record& record) const;
  void overwrite(uint32_t first, uint32_t count, const Record& record, const Alike* alike = nullptr);
  bool initialised(uint32_t first, uint32_t count) const;
  /// Nobody has touched it, and nobody has written it.
  void forget(uint32_t first, uint32_t count);
  /// Written before the run: reads are fine, nobody is to be ordered behind.
  void initialise(uint32_t first, uint32_t count);

 private:
  struct Cell;
  /// Two of them as a rule: a tile is read by one warpgroup, or by two.
  class Reads {
   public:
    Reads() = default;
    Reads(const Reads& other) { *this = other; }
    Reads(Reads&& other) noexcept = default;
    Reads& operator=(const Reads& other);
    Reads& operator=(Reads&& other) noexcept = default;
    ~Reads() = default;

    void add(const Record& record);
    void clear() {
      first_ = {};
      more_.reset();
    }
    /// Whether one of them is what `wanted` looks for; no further than that.
    template <class Wanted>
    bool any(const Wanted& wanted) {
      return any(*this, wanted);
    }
    template <class Wanted>
    bool any(const Wanted& wanted) const {
      return any(*this, wanted);
    }

   private:
    template <class Self, class Wanted>
    static bool any(Self& self, const Wanted& wanted) {
      for (auto& read : self.first_) {
        if (read.nobody()) return false;
        if (wanted(read)) return true;
      }
      return self.more_ != nullptr && std::ranges::any_of(*self.more_, wanted);
    }

    std::array<Record, 2> first_;
    std::unique_ptr<std::vector<Record>> more_;
  };
  struct Cell {
    Record write;
    Reads reads;

    /// Would the store come over something that other lanes need not know of? The same store again is none.
    bool hidden_by(const Record& record, const Alike& alike) const {
      const bool again = record.same && write.slot == record.slot && write.site == record.site &&
                         write.lanes == record.lanes && !write.hides;
      return (!again && alike.hides(write)) || reads.any([&](const Record& read) { return alike.hides(read); });
    }
    bool initialised() const { return !write.nobody() || write.site != 0; }
    void initialise() { write.site = before_the_run; }
    static constexpr uint32_t before_the_run = ~0u;  ///< the site of what nobody wrote
  };
  struct Node {
    Cell cell;
    std::unique_ptr<Node[]> parts;
  };
  static_assert(sizeof(Node) == 64);
  // What is one cell at first falls apart by these steps: a tile, swizzled rows, lines, units, words, single ones.
  static constexpr uint32_t part_cells[] = {8192, 1024, 128, 16, 4, 1};

  static void load(Cell& cell, uint32_t at, const Viewpoint& view, const Record& record, const Report& report);
  template <class Visit>
  void visit(Node& node, uint32_t level, uint32_t begin, uint32_t first, uint32_t last, const Visit& visit_cell,
             const bool& unite);
  template <class Holds>
  static bool all(const Node& node, uint32_t level, uint32_t begin, uint32_t first, uint32_t last, const Holds& holds);
  /// Of every cell.
  template <class Holds>
  bool all(uint32_t first, uint32_t count, const Holds& holds) const;
  template <class Visit>
  /// `unite`: every cell is the same afterwards, as it turns out when all have been visited.
  void visit(uint32_t first, uint32_t count, const Visit& visit_cell, const bool& unite);

  uint32_t top_;
  uint32_t shift_;  ///< of cell 0 in the first block
  std::vector<Node> blocks_;
};

}  // namespace warploom::loom::check
