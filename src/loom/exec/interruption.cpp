// A thread that left the machine for good: what a signal handler noted becomes a finding.
#include <fmt/format.h>

#include <cstring>

#include "loom/exec/cluster.hpp"
#include "loom/exec/endings.hpp"
#include "loom/report/symbols.hpp"

namespace warploom::loom {

void plain_shared_access(Thread& thread, Pc pc) {
  Cluster& cluster = *thread.cluster;
  const uint32_t rank = cluster.aliases().rank_at(cluster.interruption.address);
  const auto offset =
      static_cast<const std::byte*>(cluster.interruption.address) - (cluster.ctas[rank]->alias + window_start);
  const int64_t launched = cluster.launch().config->shared_bytes;
  std::vector<std::string> notes{
      "arch::store_shared(&s.x, value) and arch::load_shared(&s.x) reach it; copies, barriers and tensor cores take "
      "arch::shared_address(&s.x)"};
  if (pc != cluster.interruption.frames[0])
    notes.emplace_back(
        "the access is in a function that this line calls (memcpy, say): nothing in it is an operation of "
        "the machine, so every element takes a load_shared or store_shared");
  if (offset < 0 || offset >= launched)
    notes.push_back(fmt::format("it is also outside the launch's {} bytes of shared memory", launched));
  add_finding(cluster, &thread, pc, "PLAIN-SHARED",
              fmt::format("a plain C++ {} shared memory, byte {} of the kernel's storage{}: only accesses through arch "
                          "reach it here, because the machine orders and checks no others",
                          cluster.interruption.write ? "store to" : "load from", offset,
                          rank == thread.cta->rank ? "" : fmt::format(" in CTA {}", rank)),
              std::move(notes));
}

void interrupted(Thread& thread) {
  Cluster& cluster = *thread.cluster;
  thread.state = Thread::State::parked;
  const Pc pc = innermost_kernel_frame({cluster.interruption.frames, cluster.interruption.depth});
  const auto found = [&](const char* code, std::string message, std::vector<std::string> notes = {}) {
    add_finding(cluster, &thread, pc, code, std::move(message), std::move(notes));
  };
  using Kind = Interruption::Kind;
  switch (cluster.interruption.kind) {
    case Kind::none: return;
    case Kind::stack_overrun:
      return found("STACK",
                   fmt::format("a thread overran its stack of {} KiB; large arrays do not belong in device code",
                               thread.fiber.stack().bytes / 1024));
    case Kind::bad_access: return found("FAULT", "a thread touched memory that is not there");
    case Kind::plain_shared: return plain_shared_access(thread, pc);
    case Kind::trap:
      return found("FAULT", "a thread divided by zero, or executed an instruction that traps or does not exist");
    case Kind::raised:
      return found("FAULT", fmt::format("a thread raised signal {} ({})", cluster.interruption.signal,
                                        strsignal(cluster.interruption.signal)));
    case Kind::aborted:
      return found(
          "ABORT",
          "a thread called abort(), by itself or through a failed assert() or an exception that nobody catches",
          {"what it said before that is on the standard error output"});
    case Kind::exits:
      watch_for_exit();  // what watched has been used up
      return found("EXIT-CALL", "a thread called exit(), which ends the program and not the thread",
                   {"a return from the kernel ends a thread"});
    case Kind::launches:
      return found("NESTED-LAUNCH", "a thread launched a kernel on the loom; only host code can",
                   {"kernels that follow each other are launched one after the other, or with launch_dependent"});
    case Kind::endless_loop:
      return found("ENDLESS-LOOP",
                   fmt::format("a thread ran for {:.3g} s without any operation of the machine; a loop does not end",
                               cluster.options().seconds_limit));
  }
}

}  // namespace warploom::loom
