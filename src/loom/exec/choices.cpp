// Points at which a thread finds out something that the schedule decides: whether a phase is complete yet, what an
// atomic returns, which cluster launch control gives away. They are counted as they come; a schedule may name one and
// say what happens there. Everything between them comes out the same under every schedule, or the checker reports it
// (docs/verdict.md).
#include "loom/exec/choices.hpp"

#include <algorithm>
#include <unordered_map>

#include "loom/exec/cluster.hpp"

namespace warploom::loom {

namespace {

using Held = Choices::Held;
using Ordered = Choices::Ordered;
using Visitor = Choices::Visitor;
using Denied = Choices::Denied;

/// So many atomics may a thread execute before others have their turn.
constexpr uint32_t most_atomics_in_turn = 256;

}  // namespace

Decision next_decision(Cluster& cluster) {
  Decision decision{.cluster = cluster.launch().first_cluster + cluster.index(),
                    .point = cluster.choices.next_point++,
                    .choice = Choice::go};
  for (const Decision& made : cluster.options().schedule.decisions) {
    if (made.cluster != decision.cluster || made.point != decision.point) continue;
    decision.choice = made.choice;
    decision.order = made.order;
  }
  return decision;
}

std::vector<check::Watch::PointNote> points(const Cluster& cluster) {
  check::Watch* const watch = cluster.watch();
  std::vector<check::Watch::PointNote> matter;
  if (watch)
    std::copy_if(watch->points().begin(), watch->points().end(), std::back_inserter(matter),
                 [](const check::Watch::PointNote& point) { return point.matters; });
  return matter;
}

std::vector<ContestNote> contests(const Cluster& cluster) {
  check::Watch* const watch = cluster.watch();
  struct Seen {
    ContestNote note;
    std::vector<const Thread*> threads;
    bool open = false;
  };
  std::unordered_map<uint32_t, const check::Watch::PointNote*> matter;
  if (watch)
    for (const check::Watch::PointNote& point : watch->points())
      if (point.matters) matter[point.decision.point] = &point;
  std::unordered_map<const void*, Seen> objects;
  for (const Visitor& visitor : cluster.choices.visitors) {
    const auto found = matter.find(visitor.point);
    if (found == matter.end()) continue;
    const check::Watch::PointNote& point = *found->second;
    Seen& seen = objects[visitor.object];
    if (seen.threads.empty())
      seen.note = {.pc = point.pc,
                   .operation = point.operation,
                   .cluster = point.decision.cluster,
                   .point = point.decision.point};
    seen.open |= point.may_hold;
    if (seen.threads.size() < most_contestants &&
        std::find(seen.threads.begin(), seen.threads.end(), visitor.thread) == seen.threads.end())
      seen.threads.push_back(visitor.thread);
  }
  std::vector<ContestNote> list;
  for (auto& [object, seen] : objects) {
    // Of two, holding back the one is the other order.
    if (!seen.open || seen.threads.size() < 3) continue;
    seen.note.threads = static_cast<uint32_t>(seen.threads.size());
    list.push_back(seen.note);
  }
  std::sort(list.begin(), list.end(), [](const ContestNote& a, const ContestNote& b) { return a.point < b.point; });
  return list;
}

void hold(Thread& thread, Pc pc, const void* object, const char* operation, bool ordered) {
  Cluster& cluster = *thread.cluster;
  cluster.choices.held.push_back({&thread, object, ordered});
  thread.wait = {.kind = WaitKind::held, .pc = pc, .operation = operation};
  cluster.park(thread);
}

void release_held(Cluster& cluster, const void* object) {
  const auto free = [&](const Held& held) { return held.object == object && !held.ordered; };
  for (const Held& held : cluster.choices.held)
    if (free(held)) cluster.wake(*held.thread, held.thread->time);
  std::erase_if(cluster.choices.held, free);
}

bool release_any_held(Cluster& cluster) {
  if (cluster.choices.held.empty()) return false;
  auto chosen = std::find_if(cluster.choices.held.begin(), cluster.choices.held.end(),
                             [](const Held& held) { return !held.ordered; });
  if (chosen == cluster.choices.held.end()) {
    const void* object = cluster.choices.held.front().object;
    const auto here = [&](const Held& held) { return held.object == object; };
    Ordered& at = *std::find_if(cluster.choices.ordered.begin(), cluster.choices.ordered.end(),
                                [&](const Ordered& o) { return o.object == object; });
    const auto count = std::max(
        1u, static_cast<uint32_t>(std::count_if(cluster.choices.held.begin(), cluster.choices.held.end(), here)));
    uint32_t before = at.order % count;
    at.order /= count;
    chosen = std::find_if(cluster.choices.held.begin(), cluster.choices.held.end(),
                          [&](const Held& held) { return here(held) && before-- == 0; });
  }
  cluster.wake(*chosen->thread, chosen->thread->time);
  cluster.choices.held.erase(chosen);
  return true;
}

void answered(Thread& thread, Pc pc, const void* word, const char* operation, uint64_t answer, bool changed) {
  Cluster& cluster = *thread.cluster;
  if (changed) word_changed(cluster, word);
  // A thread that asks again and again would never let others run: it comes back when an atomic has changed the word,
  // or when nothing else can go on, asynchronous work included. Who asks several words in turn, or counts how often,
  // is known by the number of atomics: any that changes something may be what it waits for.
  const Thread::Asked now = changed ? Thread::Asked{} : Thread::Asked{pc, word, answer};
  const bool again = std::exchange(thread.asked, now) == now && !changed;
  const bool many = ++thread.atomics >= most_atomics_in_turn;
  if (!again && !many) return;
  thread.atomics = 0;
  ++cluster.polls.failed;
  cluster.choices.spinners.push_back({&thread, again ? word : nullptr});
  thread.wait = {.kind = WaitKind::atomic, .pc = pc, .operation = operation};
  cluster.park(thread);
}

void wake_spinners(Cluster& cluster, const void* word) {
  // Operations of other sizes may be about a part of what is asked for: up to 16 bytes.
  const auto near = [](const void* place) { return reinterpret_cast<uintptr_t>(place) / 16; };
  const auto asks = [&](const Held& spinner) {
    return word == nullptr || spinner.object == nullptr || near(spinner.object) == near(word);
  };
  for (const Held& spinner : cluster.choices.spinners)
    if (asks(spinner)) cluster.wake(*spinner.thread, spinner.thread->time);
  std::erase_if(cluster.choices.spinners, asks);
}

/// Nothing orders the end of the phase before the test where the thread does not know of it: then the test may as well
/// be so early that the answer is no, and all tries of a loop with it. Only the checker can tell.
bool denies(const Thread& thread, const Barrier& barrier, const Question& question, const Decision& decision) {
  Cluster& cluster = *thread.cluster;
  check::Watch* const watch = cluster.watch();
  const auto same = [&](const Denied& denied) {
    return denied.thread == &thread && denied.barrier == &barrier && denied.phases == question.phases;
  };
  auto known = std::find_if(cluster.choices.denied.begin(), cluster.choices.denied.end(), same);
  if (known == cluster.choices.denied.end()) {
    if (!cluster.options().schedule.has(Fault::test) && decision.choice != Choice::deny) return false;
    cluster.choices.denied.push_back({&thread, &barrier, question.phases, 0});
    known = cluster.choices.denied.end() - 1;
  }
  const bool passed = barrier.state.parity_passed(question.parity);
  if (passed && (!watch || watch->knows_end(thread, barrier))) return false;
  return known->times++ < most_denials;
}

void visit(Thread& thread, Pc pc, const check::Watch::VisitOf& visit) {
  Cluster& cluster = *thread.cluster;
  check::Watch* const watch = cluster.watch();
  const void* const object = visit.object;
  const Decision decision = next_decision(cluster);
  if (watch) cluster.choices.visitors.push_back({object, &thread, decision.point});
  if (decision.choice == Choice::order) cluster.choices.ordered.push_back({object, decision.order});
  if (decision.choice == Choice::hold) hold(thread, pc, object, visit.operation);
  if (!cluster.choices.ordered.empty() && std::any_of(cluster.choices.ordered.begin(), cluster.choices.ordered.end(),
                                                      [&](const Ordered& at) { return at.object == object; }))
    hold(thread, pc, object, visit.operation, true);
  if (watch) {
    check::Watch::VisitOf seen = visit;
    seen.of_launch = visit.of_launch && cluster.launch().clusters.count() > 1;
    watch->visited(thread, pc, seen, decision);
  }
  release_held(cluster, object);
}

}  // namespace warploom::loom
