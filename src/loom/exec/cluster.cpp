// A cluster from its first thread to its end: in turn, threads run and asynchronous work completes.
#include "loom/exec/cluster.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <stdexcept>
#include <utility>

#include "loom/exec/async_queue.hpp"
#include "loom/exec/choices.hpp"
#include "loom/exec/endings.hpp"
#include "loom/front/deferred.hpp"
#include "loom/isa/vote.hpp"
#include "loom/report/divergence.hpp"
#include "loom/report/symbols.hpp"
#include "types/no_throw.hpp"

namespace warploom::loom {

namespace {

constexpr uint32_t yield_odds = 6;  // a thread gives way at one in so many of its operations

constexpr uint32_t completion_odds = 3;  // random policy: work completes at one in so many choices

constexpr std::byte poison{0xff};  // NaN in every type we have

[[noreturn]] void throw_again(const Error& error) {
  if (error.code == ErrorCode::out_of_memory) throw std::bad_alloc();
  throw std::runtime_error(error.message);
}

}  // namespace

Cluster::Cluster(const LaunchContext& launch, uint32_t index, WorkerMemory& memory, ProcessorQueue* queue)
    : Scheduler(launch, index, memory),
      launch_(launch),
      index_(index),
      beats_(memory.heartbeat.beats),
      first_beat_(beats_.load(std::memory_order_relaxed)),
      last_beat_(first_beat_ + launch.options->step_limit) {
  launch_control.queue = queue;
  const LaunchConfig& config = *launch.config;
  const Dim3 cluster{index % launch.clusters.x, index / launch.clusters.x % launch.clusters.y,
                     index / launch.clusters.x / launch.clusters.y};
  const uint32_t ranks = config.cluster.count();
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    auto cta = std::make_unique<Cta>();
    cta->cluster = this;
    cta->rank = rank;
    const Dim3 inside{rank % config.cluster.x, rank / config.cluster.x % config.cluster.y,
                      rank / config.cluster.x / config.cluster.y};
    cta->block = {cluster.x * config.cluster.x + inside.x, cluster.y * config.cluster.y + inside.y,
                  cluster.z * config.cluster.z + inside.z};
    cta->window = memory.windows[rank].get();
    cta->window_bytes = memory.window_bytes;
    cta->alias = memory.aliases.of(rank);
    cta->tmem = memory.tmem[rank].data();
    std::memset(cta->window, std::to_integer<int>(poison), cta->window_bytes);
    std::memset(cta->tmem, std::to_integer<int>(poison), memory.tmem[rank].size() * sizeof(uint32_t));
    cta->alive = config.threads;
    for (uint32_t t = 0; t < config.threads; ++t) {
      if (t % 32 == 0) {
        cta->warps.push_back(std::make_unique<Warp>());
        cta->warps.back()->cluster = this;
        cta->warps.back()->cta = cta.get();
        cta->warps.back()->index = t / 32;
        cta->warps.back()->priority = random.next();
      }
      auto thread = std::make_unique<Thread>();
      thread->id = {.thread = t,
                    .warp = t / 32,
                    .lane = t % 32,
                    .cluster_rank = rank,
                    .block = cta->block,
                    .grid = config.grid,
                    .cluster = cluster,
                    .clusters = launch.clusters};
      thread->cta = cta.get();
      thread->warp = cta->warps.back().get();
      thread->cluster = this;
      thread->fiber.create(memory.stacks.acquire(), &Cluster::thread_main, thread.get(), memory.host);
      thread->warp->lanes.push_back(thread.get());
      cta->threads.push_back(thread.get());
      threads.push_back(std::move(thread));
    }
    cta->warpgroups.resize((cta->warps.size() + warpgroup_warps - 1) / warpgroup_warps);
    for (auto& warp : cta->warps) warp->registers = registers_at_launch(config);
    ctas.push_back(std::move(cta));
  }
  alive = static_cast<uint32_t>(threads.size());
  for (auto& thread : threads) enqueue(*thread);
  if (launch.options->check) watch_ = std::make_unique<check::Watch>(*this);
}

Cluster::~Cluster() {
  if (running() != nullptr) leave_threads();  // an exception ended the run
  for (auto& thread : threads) {
    thread->fiber.forget();
    memory_.stacks.release(thread->fiber.stack());
  }
}

void Cluster::thread_main(void* argument) {
  Thread& thread = *static_cast<Thread*>(argument);
  Cluster& cluster = *thread.cluster;
  try {
    cluster.launch_.entry(cluster.launch_.params);
    // Whoever ends here on another's stack has jumped to it.
    if (current() != &thread) [[unlikely]]
      cluster.fail(*current(), nullptr, "LONGJMP",
                   "a thread left its own stack, by a longjmp to where another thread was");
    cluster.account(thread);
    if (thread.joined != thread.warp->whole.over) catch_up(thread);
  } catch (const std::bad_alloc&) {
    cluster.break_off();
  } catch (...) {
    try {
      cluster.fail(thread, nullptr, "EXCEPTION", "the kernel threw an exception; device code must not");
    } catch (...) {
      cluster.break_off();
    }
  }
}

void Cluster::run() {
  mode.quick_memory = unwatched();
  begin(beats_);
  if (mode.quick_memory) {
    memory_.quick.shared_begin = window_start;
    memory_.quick.shared_bytes = static_cast<uint32_t>(launch_.config->shared_bytes);
  }
  const Policy policy = launch_.options->schedule.policy;
  while (!dead()) {
    if (policy == Policy::random && !pending.empty() && random.one_in(completion_odds)) {
      complete_one(*this, false);
      if (dead()) break;
    }
    Thread* thread = pick();
    if (thread == nullptr) {
      if (answer_active_masks(*this)) continue;
      if (complete_one(*this, true)) continue;
      const uint64_t productive = steps() - polls.failed;
      // Others have done what they could: those that wait for a word look again, before anybody that is held back goes
      // on.
      if (!choices.spinners.empty() && std::exchange(choices.spun_at, productive) != productive) {
        wake_spinners(*this);
        continue;
      }
      if (release_any_held(*this)) continue;
      if (grids.early && !grids.waiters.empty()) return;  // goes on once the grids before have ended
      // Nothing but polling is left. A program may give up after some tries; one that has not by now never will.
      constexpr uint32_t patience = 2000;
      if (productive != polls.productive_steps) polls.idle_rounds = 0;
      polls.productive_steps = productive;
      if ((polls.waiting.empty() && choices.spinners.empty()) || ++polls.idle_rounds > patience) break;
      wake_spinners(*this);
      for (Thread* poller : polls.waiting) {
        std::erase(poller->wait.barrier->waiters, poller);  // it is woken once
        wake(*poller, poller->time);
      }
      polls.waiting.clear();
      continue;
    }
    enter(*thread);
    memory_.heartbeat.in_kernel.store(true, std::memory_order_relaxed);
    thread->fiber.resume();
    while (asked_ != nullptr) {
      answer_ = locate(asked_);
      asked_ = nullptr;
      running()->fiber.resume();
    }
    thread = running();  // threads hand over to each other
    memory_.heartbeat.in_kernel.store(false, std::memory_order_relaxed);
    leave_threads();
    if (broken_off_) throw_again(*broken_off_);
    if (interruption.kind != Interruption::Kind::none) interrupted(*thread);
    if (thread->fiber.finished()) thread_exited(*thread);
    // Exited lanes join no collective any more.
    if (!dead() && thread->warp->exited != 0 && thread->warp->in_collective()) stranded(*thread->warp, false);
  }
  if (!dead()) {
    if (alive > 0)
      deadlock(*this);
    else
      finish(*this);
  }
  // What a stopped run left open belongs in its timeline too.
  note_meetings(*this);
  for (const auto& thread : threads) last_time = std::max(last_time, thread->time);
  for (const auto& cta : ctas) {
    for (const auto& warp : cta->warps) {
      const Thread& lane = *warp->lanes.front();
      if (lane.state == Thread::State::parked && dead())
        record(EventKind::wait, *cta, warp->index, lane.parked_at, last_time, 0, "never ends");
      close_role(*warp, last_time);
    }
  }
  locate_findings(*this);
  for (auto& thread : threads) last_time = std::max(last_time, thread->time);
}

void Cluster::run_early() {
  grids.early = true;
  run();
}

void Cluster::continue_after_wait() {
  grids.early = false;
  if (grids.waiters.empty()) return;  // it ended without waiting
  std::vector<Thread*> waiters;
  waiters.swap(grids.waiters);
  for (Thread* waiter : waiters) wake(*waiter, waiter->time);
  run();
}

void Cluster::break_off() {
  broken_off_ = current_error();
  // The handler that we are called from is never left, and its exception would stay for good.
  abi::__cxa_end_catch();
  for (;;) running()->fiber.suspend();
}

Location Cluster::location_from_fiber(Pc pc) {
  asked_ = pc;
  running()->fiber.suspend();
  return std::move(answer_);
}

void Cluster::too_many_steps(Thread& thread, Pc pc) {
  fail(thread, pc, "STEP-LIMIT",
       fmt::format("the cluster made {} operations without ending; raise the limit if that is right",
                   launch_.options->step_limit));
}

void Cluster::maybe_yield(Thread& thread) {
  if (random.one_in(yield_odds)) let_others_run(thread);
}

void Cluster::fail(Thread& thread, Pc pc, const char* code, std::string message, std::vector<std::string> notes) {
  add_finding(*this, &thread, pc, code, std::move(message), std::move(notes));
  for (;;) running()->fiber.suspend();  // it may execute something on behalf of another
}

Cta* Cluster::owner(uint32_t address) {
  const uint32_t rank = address >> rank_shift;
  return rank < ctas.size() ? ctas[rank].get() : nullptr;
}

}  // namespace warploom::loom
