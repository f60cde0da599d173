// mbarriers, for whatever signals one or waits at one: looking them up by address, signals, waits, and the rules of
// phases and sides.
//
//   Barrier& barrier = isa::barrier_at(thread, pc, address, true);
//   isa::mbarrier_signal(thread, pc, address, SignalKind::arrive, count, 0);
#pragma once

#include <optional>

#include "loom/exec/choices.hpp"

namespace warploom::loom::isa {

/// The parity of a wait for so many completed phases.
inline uint32_t parity_of(uint64_t phases) { return static_cast<uint32_t>((phases + 1) & 1); }

/// The live mbarrier there, or null.
Barrier* find_barrier(Cta& cta, uint32_t offset);
Barrier& barrier_at(Thread& thread, Pc pc, uint32_t address, bool local_only);
uint32_t next_stage(const Barrier& barrier);
/// The mutation hook's say about an operation that signals the barrier there, if there is one: it may name another.
Mutated mutate_at(const char* operation, Pc pc, Cta& cta, uint32_t& offset);
/// Asynchronous work must not write where an mbarrier lives.
void check_overrun(const AsyncOp& op);
MbarrierFault apply(Barrier& barrier, const Signal& signal, uint64_t time);
void signal_barrier(Thread& thread, Pc pc, uint32_t address, SignalKind kind, uint32_t count, uint32_t bytes,
                    bool cluster_scope = false, bool not_last = false);
void mbarrier_signal(Thread& thread, Pc pc, uint32_t address, SignalKind kind, uint32_t count, uint32_t bytes,
                     bool cluster_scope = false, bool not_last = false);
void check_phase(Thread& thread, Pc pc, const Barrier& barrier, uint32_t phases);
void check_side(Thread& thread, Pc pc, const Barrier& barrier);
void mbarrier_wait(Thread& thread, Pc pc, uint32_t address, uint32_t phases, bool cluster_scope = false);
/// What mbarrier.arrive returns: it names the phase of the thread's latest arrival.
uint64_t token_of_last_arrival(Thread& thread);
/// A wait as the mutation hook leaves it; null: not at all.
Barrier* waited_for(Thread& thread, Pc pc, uint32_t address, uint32_t& parity);
void park_at(Thread& thread, Pc pc, Barrier& barrier, uint64_t phases, uint32_t parity);
void wait_is_over(Thread& thread, Pc pc, uint32_t address, Barrier& barrier, uint32_t phases, bool cluster_scope,
                  uint64_t since);
std::optional<Question> question_of(Thread& thread, Pc pc, uint32_t address, Barrier& barrier, uint32_t phases);
/// `phases`: as the kernel has it, without what the mutation hook makes of it.
bool answer(Thread& thread, Pc pc, const Question& question, uint32_t phases, bool cluster_scope, bool by_token);
bool mbarrier_test(Thread& thread, Pc pc, uint32_t address, uint32_t phases, bool cluster_scope = false,
                   bool by_token = false);

}  // namespace warploom::loom::isa
