#include "loom/observe/check/shadow.hpp"

#include <algorithm>
#include <bit>
#include <optional>

namespace warploom::loom::check {

Record Viewpoint::record(Proxy proxy, uint32_t site) const {
  if (work_ != nullptr) return Record::of(work_->stamp, 0, proxy, site);
  const Stamp stamp = order_->note(agent_);
  return Record::of(stamp, 1u << stamp.lane, proxy, site);
}

Record Viewpoint::record_of_warp(Proxy proxy, uint32_t site) const {
  return Record::of(order_->now(agent_), ~0u, proxy, site);
}

bool Viewpoint::covers(Plane plane, const Record& earlier) const {
  Record& known = covered_[static_cast<size_t>(plane)];
  if (known.slot == earlier.slot && known.tick == earlier.tick && known.lanes == earlier.lanes && !known.nobody())
    return true;
  const auto by = [&](uint8_t lane) { return covers(plane, Stamp{earlier.slot, earlier.tick, lane}); };
  bool all = (earlier.lanes == 0 || earlier.lanes == ~0u) && by(whole_slot);
  if (!all && earlier.lanes != 0) {
    all = true;
    for (uint32_t lanes = earlier.lanes; all && lanes != 0; lanes &= lanes - 1)
      all = by(static_cast<uint8_t>(std::countr_zero(lanes)));
  }
  if (all) known = earlier;
  return all;
}

const char* to_string(Conflict::Kind kind) {
  switch (kind) {
    case Conflict::Kind::race: return "race";
    case Conflict::Kind::no_proxy_fence: return "no proxy fence";
    case Conflict::Kind::not_visible: return "not visible";
    case Conflict::Kind::no_tensor_fence: return "no tensor fence";
    case Conflict::Kind::uninitialised: return "uninitialised";
    case Conflict::Kind::update_order: return "order of updates";
  }
  return "";
}

bool ordered(const Viewpoint& view, const Record& earlier, bool earlier_writes, const Record& later, bool later_writes,
             Conflict::Kind& kind) {
  Plane plane = Plane::happened;
  if (later.proxy == Proxy::tensor)
    plane = Plane::tensor;
  else if (earlier.proxy == Proxy::generic)
    plane = later.proxy == Proxy::async ? Plane::async : earlier_writes ? Plane::visible : Plane::happened;
  else if (earlier_writes && !later_writes)
    plane = later.proxy == Proxy::async ? Plane::async : Plane::visible;
  if (view.covers(plane, earlier)) return true;
  if (plane == Plane::happened || !view.covers(Plane::happened, earlier))
    kind = Conflict::Kind::race;
  else if (plane == Plane::tensor)
    kind = Conflict::Kind::no_tensor_fence;
  else if (plane == Plane::async && earlier.proxy == Proxy::generic &&
           (!earlier_writes || view.covers(Plane::visible, earlier)))
    kind = Conflict::Kind::no_proxy_fence;
  else
    kind = Conflict::Kind::not_visible;
  return false;
}

Shadow::Reads& Shadow::Reads::operator=(const Reads& other) {
  if (this == &other) return *this;
  first_ = other.first_;
  more_ = other.more_ == nullptr ? nullptr : std::make_unique<std::vector<Record>>(*other.more_);
  return *this;
}

void Shadow::Reads::add(const Record& record) {
  for (Record& read : first_) {
    if (!read.nobody()) continue;
    read = record;
    return;
  }
  if (more_ == nullptr) more_ = std::make_unique<std::vector<Record>>();
  more_->push_back(record);
}

template <class Visit>
void Shadow::visit(Node& node, uint32_t level, uint32_t begin, uint32_t first, uint32_t last, const Visit& visit_cell,
                   const bool& unite) {
  const uint32_t span = part_cells[level];
  const bool whole = first <= begin && begin + span <= last;
  if (whole && node.parts == nullptr) {
    visit_cell(node.cell, begin - shift_);
    return;
  }
  const uint32_t part = part_cells[level + 1];
  if (node.parts == nullptr) {
    node.parts = std::make_unique<Node[]>(span / part);
    for (uint32_t i = 0; i < span / part; ++i) node.parts[i].cell = node.cell;
  }
  const uint32_t from = first <= begin ? 0 : (first - begin) / part, to = std::min(last - begin, span);
  for (uint32_t i = from; i * part < to; ++i)
    visit(node.parts[i], level + 1, begin + i * part, first, last, visit_cell, unite);
  if (whole && unite) {
    // Every part has the same state now.
    const Node* part_node = &node.parts[0];
    while (part_node->parts != nullptr) part_node = &part_node->parts[0];
    Cell cell = part_node->cell;
    node.cell = std::move(cell);
    node.parts.reset();
  }
}

template <class Visit>
void Shadow::visit(uint32_t first, uint32_t count, const Visit& visit_cell, const bool& unite) {
  if (count == 0) return;  // a copy of no bytes
  first += shift_;
  const uint32_t last = first + count, span = part_cells[top_];
  for (uint32_t block = first / span; block * span < last && block < blocks_.size(); ++block) {
    // Down to where it is more than a part of a part.
    Node* node = &blocks_[block];
    uint32_t level = top_, begin = block * span;
    while (node->parts != nullptr && first >= begin) {
      const uint32_t part = part_cells[level + 1], at = (first - begin) / part;
      if (last > begin + (at + 1) * part || (first == begin && last == begin + part_cells[level])) break;
      node = &node->parts[at];
      begin += at * part;
      ++level;
    }
    visit(*node, level, begin, first, last, visit_cell, unite);
  }
}

void Shadow::read(uint32_t first, uint32_t count, const Viewpoint& view, const Record& record, const Report& report) {
  visit(
      first, count,
      [&](Cell& cell, uint32_t at) {
        Conflict::Kind kind{};
        if (!cell.initialised())
          report({Conflict::Kind::uninitialised, Record(), record, false, false, at});
        else if (!cell.write.nobody() && !ordered(view, cell.write, true, record, false, kind))
          report({kind, cell.write, record, true, false, at});
        const bool known = cell.reads.any([&](Record& read) {
          if (read.covered) return false;  // who is ordered behind the update is behind it
          if (read.writes()) {
            if (!ordered(view, read, true, record, false, kind)) report({kind, read, record, true, false, at});
            return false;
          }
          if (read.slot != record.slot || read.proxy != record.proxy) return false;
          // The same warp at the same moment, or an operation behind the one that read before.
          if (read.tick == record.tick && read.site == record.site)
            read.lanes |= record.lanes;
          else if (read.lanes == record.lanes && read.tick <= record.tick)
            read = record;
          else
            return false;
          return true;
        });
        if (!known) cell.reads.add(record);
      },
      false);
}

void Shadow::write(uint32_t first, uint32_t count, const Viewpoint& view, const Record& record, const Report& report,
                   const Alike* alike) {
  bool unite = true;
  std::optional<bool> hides;
  visit(
      first, count,
      [&](Cell& cell, uint32_t at) {
        Conflict::Kind kind{};
        Record mine = record;
        Reads kept;
        bool excused = false;
        const auto excuse = [&](const Record& earlier) { return alike != nullptr && alike->excuses(earlier, at); };
        if (!cell.write.nobody() && !ordered(view, cell.write, true, record, true, kind)) {
          excused = excuse(cell.write);
          if (!excused) report({kind, cell.write, record, true, true, at});
        }
        cell.reads.any([&](const Record& read) {
          if (read.covered || ordered(view, read, read.writes(), record, true, kind)) return false;
          if (read.kept && excuse(read))
            kept.add(read);
          else
            report({kind, read, record, read.writes(), true, at});
          return false;
        });
        if (alike != nullptr) {
          const bool hidden = cell.hidden_by(record, *alike) && !excused;
          if (hides.value_or(hidden) != hidden) unite = false;
          hides = hidden;
          mine.hides = hidden;
        }
        if (excused) {
          // Who comes next must know of all of them.
          unite = false;
          if (cell.write.slot == mine.slot && cell.write.tick == mine.tick) {
            mine.lanes |= cell.write.lanes;
          } else {
            Record other = cell.write;
            other.kept = true;
            kept.add(other);
          }
        }
        cell.reads = std::move(kept);
        cell.write = mine;
      },
      unite);
}

/// What it comes over stays as it is: a later update need not be ordered behind the load, but behind that.
void Shadow::load(Cell& cell, uint32_t at, const Viewpoint& view, const Record& record, const Report& report) {
  Conflict::Kind kind{};
  if (!cell.initialised()) report({Conflict::Kind::uninitialised, Record(), record, false, false, at});
  const auto meet = [&](const Record& earlier) {
    if (ordered(view, earlier, true, record, false, kind)) return;
    if (!earlier.updates())
      report({kind, earlier, record, true, false, at});
    else if (!view.covers(Plane::happened, earlier))
      report({Conflict::Kind::update_order, earlier, record, true, false, at});
  };
  if (!cell.write.nobody()) meet(cell.write);
  const bool again = cell.reads.any([&](Record& read) {
    if (read.writes()) meet(read);
    // The latest of a thread: whoever is behind that is behind all.
    if (read.update != Update::load || read.covered || read.slot != record.slot || read.lanes != record.lanes ||
        read.same != record.same)
      return false;
    read = record;
    return true;
  });
  if (!again) cell.reads.add(record);
}

void Shadow::update(uint32_t first, uint32_t count, const Viewpoint& view, const Record& record, const Report& report) {
  if (record.update == Update::load)
    return visit(first, count, [&](Cell& cell, uint32_t at) { load(cell, at, view, record, report); }, false);
  visit(
      first, count,
      [&](Cell& cell, uint32_t at) {
        Conflict::Kind kind{};
        // Other updates that this one is not ordered behind stay, among the reads: who comes next must know of them
        // all. So do plain accesses: the next update need not be ordered behind this one, but behind them.
        Reads others;
        const auto meet = [&](const Record& earlier, bool writes) {
          if (ordered(view, earlier, writes, record, true, kind)) {
            // One of the same kind goes with all that this one goes with; of another kind it need not.
            if (earlier.updates() && earlier.update == record.update) return;
            Record before = earlier;
            before.covered = true;
            before.kept = writes;
            others.add(before);
          } else if (earlier.updates()) {
            others.add(earlier);
            if (!view.covers(Plane::happened, earlier))
              report({Conflict::Kind::update_order, earlier, record, writes, true, at});
          } else {
            report({kind, earlier, record, writes, true, at});
          }
        };
        if (!cell.initialised() && record.update != Update::store)
          report({Conflict::Kind::uninitialised, Record(), record, false, true, at});
        if (!cell.write.nobody()) meet(cell.write, true);
        cell.reads.any([&](const Record& read) {
          meet(read, read.writes());
          return false;
        });
        cell.reads = std::move(others);
        cell.write = record;
      },
      false);  // what stays may differ from part to part
}

void Shadow::overwrite(uint32_t first, uint32_t count, const Record& record, const Alike* alike) {
  bool unite = true;
  std::optional<bool> hides;
  visit(
      first, count,
      [&](Cell& cell, uint32_t) {
        Record mine = record;
        if (alike != nullptr) {
          const bool hidden = cell.hidden_by(record, *alike);
          if (hides.value_or(hidden) != hidden) unite = false;
          hides = hidden;
          mine.hides = hidden;
        }
        cell.reads.clear();
        cell.write = mine;
      },
      unite);
}

template <class Holds>
bool Shadow::all(const Node& node, uint32_t level, uint32_t begin, uint32_t first, uint32_t last, const Holds& holds) {
  if (node.parts == nullptr) return holds(node.cell);
  const uint32_t part = part_cells[level + 1];
  const uint32_t from = first <= begin ? 0 : (first - begin) / part, to = std::min(last - begin, part_cells[level]);
  for (uint32_t i = from; i * part < to; ++i)
    if (!all(node.parts[i], level + 1, begin + i * part, first, last, holds)) return false;
  return true;
}

template <class Holds>
bool Shadow::all(uint32_t first, uint32_t count, const Holds& holds) const {
  first += shift_;
  const uint32_t last = first + count, span = part_cells[top_];
  for (uint32_t block = first / span; block * span < last && block < blocks_.size(); ++block)
    if (!all(blocks_[block], top_, block * span, first, last, holds)) return false;
  return true;
}

bool Shadow::initialised(uint32_t first, uint32_t count) const {
  return all(first, count, [](const Cell& cell) { return cell.initialised(); });
}

bool Shadow::writable(uint32_t first, uint32_t count, const Viewpoint& view, const Record& record) const {
  return all(first, count, [&](const Cell& cell) {
    Conflict::Kind kind{};
    if (!cell.write.nobody() && !ordered(view, cell.write, true, record, true, kind)) return false;
    return !cell.reads.any(
        [&](const Record& read) { return !read.covered && !ordered(view, read, read.writes(), record, true, kind); });
  });
}

void Shadow::forget(uint32_t first, uint32_t count) {
  visit(first, count, [](Cell& cell, uint32_t) { cell = Cell(); }, true);
}

void Shadow::initialise(uint32_t first, uint32_t count) {
  visit(
      first, count,
      [](Cell& cell, uint32_t) {
        cell = Cell();
        cell.initialise();
      },
      true);
}

}  // namespace warploom::loom::check
