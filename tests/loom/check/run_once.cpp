// One schedule of a script, with the clocks and the shadow of the checker, told what the machine would tell them.
#include <algorithm>
#include <bit>
#include <map>
#include <memory>

#include "loom/observe/check/shadow.hpp"
#include "loom/units/mbarrier.hpp"
#include "script.hpp"

namespace warploom::loom::check {
namespace {

using Kind = Step::Kind;
using WorkPtr = std::shared_ptr<Work>;

constexpr uint32_t all_lanes = ~0u;

const char* to_string(PhaseRule rule) {
  switch (rule) {
    case PhaseRule::arrival_early: return "P1: an arrival that may come early";
    case PhaseRule::expect_late: return "P1b: bytes that may be announced late";
    case PhaseRule::wait_early: return "P2: a wait that may begin early";
    case PhaseRule::wait_late: return "P2: a wait that may begin late";
    case PhaseRule::increment_late: return "increment late";
    case PhaseRule::may_be_last: return "may be last";
    case PhaseRule::test_answered: return "test answered";
    case PhaseRule::byte_range: return "byte range";
  }
  return "";
}

class Runner {
 public:
  Runner(const Script& script, uint64_t seed)
      : script_(script),
        random_(seed),
        order_(static_cast<uint32_t>(script.threads.size())),
        shadow_(static_cast<uint32_t>(script.buffers)),
        threads_(script.threads.size()) {
    order_.violated = [this](const Order::Violation& violation) { say(outcome_.phase, to_string(violation.rule)); };
    for (const int count : script.counts) {
      Barrier& barrier = barriers_.emplace_back();
      barrier.state.init(static_cast<uint32_t>(count));
      barrier.id = order_.make_barrier();
    }
    shadow_.initialise(0, static_cast<uint32_t>(script.buffers) * Shadow::line_cells);
    for (size_t i = 0; i < threads_.size(); ++i)
      threads_[i].whole = std::any_of(script.threads[i].begin(), script.threads[i].end(),
                                      [](const Step& step) { return step.lanes != 1; });
  }

  Outcome run() {
    std::vector<std::pair<size_t, size_t>> choices;  // thread, and 0 or 1 + the index of a flight
    while (!outcome_.count) {
      choices.clear();
      for (size_t thread = 0; thread < threads_.size(); ++thread) {
        if (!finished(thread) && enabled(thread)) choices.emplace_back(thread, 0);
        for (size_t i = 0; i < threads_[thread].flights.size(); ++i) choices.emplace_back(thread, 1 + i);
      }
      if (choices.empty()) break;
      const auto [thread, flight] = choices[random_.below(static_cast<uint32_t>(choices.size()))];
      if (flight == 0)
        execute(thread);
      else
        land(thread, flight - 1);
    }
    for (size_t thread = 0; thread < threads_.size(); ++thread) {
      if (!finished(thread))
        say(outcome_.deadlock, "deadlock");
      else if (!threads_[thread].stores.empty())
        say(outcome_.pending, "stores pending at exit");
    }
    for (const Barrier& barrier : barriers_)
      if (barrier.state.tx != 0) say(outcome_.count, "bytes left over");
    return outcome_;
  }

 private:
  struct Barrier {
    MbarrierState state;
    Order::BarrierId id = 0;
    std::vector<size_t> waiting;  ///< threads at a named barrier
  };
  struct InFlight {
    Step step;
    WorkPtr work;
  };
  struct Store {
    WorkPtr work;
    bool read = false;
  };
  struct Products {
    WorkPtr work;
    Buffers tensor = 0;
  };
  struct Thread {
    size_t at = 0;
    bool whole = false, waits = false;
    std::vector<InFlight> flights;  ///< what lands by itself
    std::vector<Store> stores;      ///< that no wait has covered, oldest first
    std::vector<Products> products;
    std::vector<WorkPtr> tensor;
    size_t wgmmas = 0, commits = 0;
    std::vector<size_t> groups;  ///< wgmmas before the end of each
  };
  /// One wgmma of a warpgroup.
  struct Wgmma {
    uint32_t joined = 0;
    Knowledge relies;
    WorkPtr work;
  };

  void say(bool& kind, const char* what) {
    kind = true;
    if (outcome_.first.empty()) outcome_.first = what;
  }

  bool finished(size_t thread) const { return threads_[thread].at == script_.threads[thread].size(); }
  Barrier& barrier(const Step& step) { return barriers_[static_cast<size_t>(step.barrier)]; }
  static Agent agent(size_t thread, uint32_t lane = 0) {
    return {static_cast<uint32_t>(thread), static_cast<uint8_t>(lane)};
  }
  static Agent first(size_t thread, const Step& step) {
    return agent(thread, static_cast<uint32_t>(std::countr_zero(step.lanes)));
  }
  template <class F>
  static void each_lane(size_t thread, const Step& step, const F& f) {
    for (uint32_t lanes = step.lanes; lanes != 0; lanes &= lanes - 1)
      f(agent(thread, static_cast<uint32_t>(std::countr_zero(lanes))));
  }
  std::vector<Wgmma>& wgmmas(size_t thread) {
    const auto group = static_cast<size_t>(script_.groups[thread]);
    if (wgmmas_.size() <= group) wgmmas_.resize(group + 1);
    return wgmmas_[group];
  }

  bool enabled(size_t thread) {
    const Thread& me = threads_[thread];
    if (me.waits) return false;
    const Step& step = script_.threads[thread][me.at];
    if (step.kind == Kind::wait) return barrier(step).state.parity_passed((step.phases + 1) & 1);
    if (step.kind == Kind::wait_store) {
      for (size_t i = 0; i + step.pending < me.stores.size(); ++i)
        if (!me.stores[i].read) return false;
    }
    if (step.kind == Kind::wgmma_wait && me.groups.size() > step.pending) {
      const size_t covered = me.groups[me.groups.size() - 1 - step.pending];
      for (size_t i = 0; i < covered; ++i)
        if (wgmmas(thread)[i].work == nullptr) return false;
    }
    return true;
  }

  // ---- memory

  void touch(Buffers buffers, bool writes, const Viewpoint& view, const Record& record) {
    const auto report = [this](const Conflict& conflict) {
      switch (conflict.kind) {
        case Conflict::Kind::race: return say(outcome_.race, "race");
        case Conflict::Kind::no_proxy_fence: return say(outcome_.fence, "no proxy fence");
        case Conflict::Kind::no_tensor_fence: return say(outcome_.tensor_fence, "no tcgen05 fence");
        default: return say(outcome_.unseen, "ordered but not visible");
      }
    };
    for (; buffers != 0; buffers &= buffers - 1) {
      const auto begin = static_cast<uint32_t>(std::countr_zero(buffers)) * Shadow::line_cells;
      if (writes)
        shadow_.write(begin, Shadow::line_cells, view, record, report);
      else
        shadow_.read(begin, Shadow::line_cells, view, record, report);
    }
  }
  void touch(const Step& step, Buffers among, const Viewpoint& view, const Record& record) {
    touch(step.reads & among, false, view, record);
    touch(step.writes & among, true, view, record);
  }

  // ---- barriers

  void settle(Barrier& barrier, uint64_t before, MbarrierFault fault) {
    if (fault != MbarrierFault::none) {
      say(outcome_.count, "more arrivals than the phase has");
      return;
    }
    if (barrier.state.phase == before) return;
    order_.phase_completed(barrier.id);
    for (const size_t thread : barrier.waiting) {
      for (uint32_t lane = 0; lane < 32; ++lane)
        order_.passed(agent(thread, lane), barrier.id, order_.phases(barrier.id));
      threads_[thread].waits = false;
      ++threads_[thread].at;
    }
    barrier.waiting.clear();
  }
  void arrive(Agent self, Barrier& barrier, bool relaxed = false) {
    if (relaxed)
      order_.arrive_relaxed(self, barrier.id);
    else
      order_.arrive(self, barrier.id);
    const uint64_t before = barrier.state.phase;
    settle(barrier, before, barrier.state.arrive(1));
  }

  void execute(size_t thread) {
    Thread& me = threads_[thread];
    const Step& step = script_.threads[thread][me.at];
    if (step.kind == Kind::sync) {
      me.waits = true;
      barrier(step).waiting.push_back(thread);
      order_.synchronise(static_cast<uint32_t>(thread), all_lanes);  // bar.sync is the whole warp's
      arrive(agent(thread), barrier(step));
      return;
    }
    ++me.at;
    perform(thread, step);
    if (me.whole) order_.synchronise(static_cast<uint32_t>(thread), all_lanes);
  }

  void perform(size_t thread, const Step& step) {
    Thread& me = threads_[thread];
    const Agent self = first(thread, step);
    switch (step.kind) {
      case Kind::wait:
        if (barrier(step).state.phase != step.phases) say(outcome_.phase, "a wait that passed on the wrong phase");
        each_lane(thread, step, [&](Agent lane) { order_.passed(lane, barrier(step).id, step.phases); });
        break;
      case Kind::arrive: each_lane(thread, step, [&](Agent lane) { arrive(lane, barrier(step), step.relaxed); }); break;
      case Kind::arrive_expect: {
        order_.expect(self, barrier(step).id);
        order_.arrive(self, barrier(step).id);
        const uint64_t before = barrier(step).state.phase;
        settle(barrier(step), before, barrier(step).state.arrive_expect_tx(static_cast<uint32_t>(step.bytes)));
        break;
      }
      case Kind::expect: {
        order_.expect(self, barrier(step).id);
        const uint64_t before = barrier(step).state.phase;
        settle(barrier(step), before, barrier(step).state.expect_tx(static_cast<uint32_t>(step.bytes)));
        break;
      }
      case Kind::sync: break;
      case Kind::access: {
        const Viewpoint view(order_, self);
        Record record = view.record(Proxy::generic, 0);
        record.lanes = step.lanes;
        touch(step, ~Buffers{0}, view, record);
        if (((step.reads | step.writes) & ~script_.tensor) != 0)
          each_lane(thread, step, [&](Agent lane) { order_.accessed_shared(lane); });
        break;
      }
      case Kind::fence: each_lane(thread, step, [&](Agent lane) { order_.fence_proxy_async(lane); }); break;
      case Kind::tensor_before: each_lane(thread, step, [&](Agent lane) { order_.tensor_fence_before(lane); }); break;
      case Kind::tensor_after: each_lane(thread, step, [&](Agent lane) { order_.tensor_fence_after(lane); }); break;
      case Kind::load:
      case Kind::store: {
        const auto work = std::make_shared<Work>(step.kind == Kind::store ? order_.begin(self, Tells::end)
                                                                          : begin_write(self, step.writes));
        const Viewpoint view(*work);
        touch(step, ~Buffers{0}, view, view.record(Proxy::async, 0));
        me.flights.push_back({step, work});
        if (step.kind == Kind::store) me.stores.push_back({work});
        break;
      }
      case Kind::wait_store:
        while (me.stores.size() > step.pending) {
          order_.learn(self, *me.stores.front().work);
          me.stores.erase(me.stores.begin());
        }
        break;
      case Kind::multiply: multiply(thread, step); break;
      case Kind::commit: {
        const auto work = std::make_shared<Work>(order_.begin(self, Tells::end));
        for (const Products& products : me.products) Order::include(*work, *products.work);
        me.flights.push_back({step, work});
        break;
      }
      case Kind::tensor_access: {
        const auto work = std::make_shared<Work>(order_.begin(agent(thread), Tells::tensor));
        const Viewpoint view(*work);
        touch(step, ~Buffers{0}, view, view.record(Proxy::tensor, 0));
        me.tensor.push_back(work);
        break;
      }
      case Kind::wait_tensor:
        for (const WorkPtr& work : me.tensor) {
          order_.learn_tensor_all(static_cast<uint32_t>(thread), *work);
          order_.retire(*work);
        }
        me.tensor.clear();
        break;
      case Kind::wgmma: join_wgmma(thread, step); break;
      case Kind::wgmma_commit: me.groups.push_back(me.wgmmas); break;
      case Kind::wgmma_wait:
        if (me.groups.size() > step.pending) {
          const size_t covered = me.groups[me.groups.size() - 1 - step.pending];
          if (covered != 0)
            order_.learn_all(static_cast<uint32_t>(thread),
                             make_knowledge(Order::completion(*wgmmas(thread)[covered - 1].work)));
        }
        break;
    }
  }

  Work begin_write(Agent issuer, Buffers place) {
    const auto [before, first] = writers_.try_emplace(place);
    Work work = first ? order_.begin(issuer, Tells::memory) : order_.begin_over(issuer, before->second);
    before->second = work.stamp;
    return work;
  }

  void multiply(size_t thread, const Step& step) {
    Thread& me = threads_[thread];
    const Agent self = first(thread, step);
    const Buffers tensor = step.writes & script_.tensor;
    const Products* behind = nullptr;
    for (const Products& other : me.products)
      if ((other.tensor & tensor) != 0) behind = &other;
    const auto work = std::make_shared<Work>(
        behind == nullptr ? order_.begin(self, Tells::tensor) : order_.begin_behind(order_.issue(self), *behind->work));
    const Viewpoint view(*work);
    touch(step, script_.tensor, view, view.record(Proxy::tensor, 0));
    touch(step, ~script_.tensor, view, view.record(Proxy::async, 0));
    std::erase_if(me.products, [&](const Products& other) {
      if ((other.tensor & tensor) == 0) return false;
      if (&other != behind) order_.retire(*other.work);
      return true;
    });
    me.products.push_back({work, tensor});
  }

  void join_wgmma(size_t thread, const Step& step) {
    std::vector<Wgmma>& group = wgmmas(thread);
    const size_t index = threads_[thread].wgmmas++;
    if (group.size() <= index) group.resize(index + 1);
    Knowledge relies = order_.issue(agent(thread));
    if (group[index].joined++ == 0)
      group[index].relies = std::move(relies);
    else
      group[index].relies.meet(relies);
    if (group[index].joined != 4) return;
    group[index].work =
        std::make_shared<Work>(index == 0 ? order_.begin(group[index].relies, Tells::end)
                                          : order_.begin_behind(group[index].relies, *group[index - 1].work));
    const Viewpoint view(*group[index].work);
    touch(step, ~Buffers{0}, view, view.record(Proxy::async, 0));
  }

  void land(size_t thread, size_t index) {
    Thread& me = threads_[thread];
    const InFlight flight = me.flights[index];
    me.flights.erase(me.flights.begin() + static_cast<std::ptrdiff_t>(index));
    if (flight.step.kind == Kind::store) {
      for (Store& store : me.stores)
        if (store.work == flight.work) store.read = true;
    } else {
      const bool arrival = flight.step.kind == Kind::commit;
      Barrier& to = barrier(flight.step);
      order_.complete(*flight.work, to.id, arrival ? Order::Ends::arrival : Order::Ends::bytes);
      const uint64_t before = to.state.phase;
      settle(to, before, arrival ? to.state.arrive(1) : to.state.complete_tx(static_cast<uint32_t>(flight.step.bytes)));
    }
    if (flight.step.kind != Kind::load) order_.retire(*flight.work);
  }

  const Script& script_;
  Random random_;
  Order order_;
  Shadow shadow_;
  std::vector<Thread> threads_;
  std::vector<Barrier> barriers_;
  std::map<Buffers, Stamp> writers_;
  std::vector<std::vector<Wgmma>> wgmmas_;  ///< [group]
  Outcome outcome_;
};

}  // namespace

Outcome run_once(const Script& script, uint64_t seed) { return Runner(script, seed).run(); }

}  // namespace warploom::loom::check
