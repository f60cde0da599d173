// Points at which a thread finds out something that the schedule decides: whether a phase is complete yet, what an
// atomic returns, which cluster launch control gives away. They are counted as they come; a schedule may name one and
// say what happens there. Everything between them comes out the same under every schedule, or the checker reports it
// (docs/verdict.md).
#include <algorithm>

#include "loom/machine.hpp"

namespace warploom::loom {

Decision Cluster::next_decision() {
  Decision decision{.cluster = index_, .point = next_point_++, .choice = Choice::go};
  for (const Decision& made : launch_.options->schedule.decisions)
    if (made.cluster == decision.cluster && made.point == decision.point) decision.choice = made.choice;
  return decision;
}

std::vector<check::Watch::PointNote> Cluster::points() const {
  std::vector<check::Watch::PointNote> matter;
  if (watch_)
    std::copy_if(watch_->points().begin(), watch_->points().end(), std::back_inserter(matter),
                 [](const check::Watch::PointNote& point) { return point.matters; });
  return matter;
}

void Cluster::hold(Thread& thread, Pc pc, const void* object, const char* operation) {
  held_.push_back({&thread, object});
  thread.wait = {.kind = WaitKind::held, .pc = pc, .operation = operation};
  park(thread);
}

void Cluster::release_held(const void* object) {
  for (const Held& held : held_)
    if (held.object == object) wake(*held.thread, held.thread->time);
  std::erase_if(held_, [&](const Held& held) { return held.object == object; });
}

bool Cluster::release_any_held() {
  if (held_.empty()) return false;
  wake(*held_.front().thread, held_.front().thread->time);
  held_.erase(held_.begin());
  return true;
}

void Cluster::answered(Thread& thread, Pc pc, const void* word, const char* operation, uint32_t answer, bool changed) {
  if (changed) {
    thread.asked = {};
    if (!spinners_.empty()) wake_spinners(word);
    return;
  }
  // A thread that asks again and again would never let others run: it comes back when an atomic has changed the word,
  // or when nothing else can go on, asynchronous work included.
  const Thread::Asked now{pc, word, answer};
  if (std::exchange(thread.asked, now) != now) return;
  ++failed_polls_;
  spinners_.push_back({&thread, word});
  thread.wait = {.kind = WaitKind::atomic, .pc = pc, .operation = operation};
  park(thread);
}

void Cluster::wake_spinners(const void* word) {
  const auto asks = [&](const Held& spinner) { return word == nullptr || spinner.object == word; };
  for (const Held& spinner : spinners_)
    if (asks(spinner)) wake(*spinner.thread, spinner.thread->time);
  std::erase_if(spinners_, asks);
}

void Cluster::visit(Thread& thread, Pc pc, const void* object, const char* operation, bool of_launch) {
  const Decision decision = next_decision();
  if (decision.choice == Choice::hold) hold(thread, pc, object, operation);
  if (watch_) watch_->visited(thread, pc, object, operation, of_launch && launch_.clusters.count() > 1, decision);
  release_held(object);
}

}  // namespace warploom::loom
