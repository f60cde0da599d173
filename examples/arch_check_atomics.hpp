// A case of arch_check: atomics of every type on words of a thread's own, in global and in shared memory, and loads and
// stores with an order.
#pragma once

#include <bit>
#include <cmath>

#include "arch_check_kernel.hpp"
#include "check.hpp"
#include "warploom/arch/atomic.hpp"
#include "warploom/arch/cluster_memory.hpp"
#include "warploom/arch/ordered.hpp"
#include "warploom/types/convert.hpp"

namespace warploom::inline WARPLOOM_MACHINE::examples {

/// X(operation, type) of each.
// clang-format off
#define WARPLOOM_TYPED_ATOMICS(X) \
  X(add, uint32_t) X(add, int32_t) X(add, uint64_t) X(min, uint32_t) \
  X(min, int32_t) X(min, uint64_t) X(max, int32_t) X(max, int64_t) \
  X(inc, uint32_t) X(dec, uint32_t) X(bit_and, uint32_t) X(bit_or, uint64_t) \
  X(bit_xor, uint32_t) X(bit_xor, uint64_t) X(exchange, uint32_t) X(exchange, uint64_t) \
  X(compare_exchange, uint16_t) X(compare_exchange, uint32_t) X(compare_exchange, uint64_t) X(add, float) \
  X(add, double) X(add, f16) X(add, bf16) X(max, uint64_t)
// clang-format on

struct TypedAtomicProbe : Probe<32> {
  static constexpr char name[] = "typed-atomics";
  static constexpr bool talks_across_clusters = true;
  /// Of each operation: what was there and what is there, in both memories, 64 bits each; then by red.
  static constexpr uint32_t operations = 24, words_each = 12, words = operations * words_each;
  struct Params {
    const uint64_t* inputs;  ///< [thread][2]: what is there before, and the operand
    uint64_t* cells;         ///< [thread]
    uint32_t* out;           ///< [word][thread]
  };
  struct Storage {
    alignas(8) uint64_t cells[32];
  };

  template <class T>
  static WARPLOOM_CONST_FN T value_of(uint64_t bits) {
    if constexpr (sizeof(T) == 8)
      return __builtin_bit_cast(T, bits);
    else if constexpr (sizeof(T) == 4)
      return __builtin_bit_cast(T, static_cast<uint32_t>(bits));
    else
      return __builtin_bit_cast(T, static_cast<uint16_t>(bits));
  }
  template <class T>
  static WARPLOOM_CONST_FN uint64_t bits_of(T value) {
    if constexpr (sizeof(T) == 8)
      return __builtin_bit_cast(uint64_t, value);
    else if constexpr (sizeof(T) == 4)
      return __builtin_bit_cast(uint32_t, value);
    else
      return __builtin_bit_cast(uint16_t, value);
  }

  static WARPLOOM_FN void put(Output& out, uint64_t bits) noexcept {
    out.put(static_cast<uint32_t>(bits));
    out.put(static_cast<uint32_t>(bits >> 32));
  }
  static WARPLOOM_FN uint64_t look(const uint64_t* place) noexcept {
    return arch::load_global<MemoryOrder::acquire>(place);
  }
  static WARPLOOM_FN uint64_t look(arch::SharedAddress place) noexcept {
    return arch::load_cluster<uint64_t, MemoryOrder::relaxed>(place);
  }

  /// `operation` by atom and by red, in both memories.
  template <Atomic operation, class T>
  static WARPLOOM_FN void each(Output& out, const Params& p, uint64_t* there, arch::SharedAddress here,
                               uint32_t thread) noexcept {
    const uint64_t before = arch::load_global(p.inputs + 2 * thread);
    const T operand = value_of<T>(arch::load_global(p.inputs + 2 * thread + 1));
    arch::store_global<MemoryOrder::release>(there, before);
    arch::store_cluster<uint64_t, MemoryOrder::release>(here, before);
    T* const word = reinterpret_cast<T*>(there);
    if constexpr (operation == Atomic::compare_exchange) {
      put(out, bits_of(arch::compare_exchange_global(word, value_of<T>(before), operand)));
      put(out, look(there));
      put(out,
          bits_of(arch::compare_exchange_cluster<MemoryOrder::relaxed, MemoryScope::cta, T>(here, operand, operand)));
      put(out, look(here));
    } else {
      put(out, bits_of(arch::fetch_global<operation, MemoryOrder::relaxed>(word, operand)));
      put(out, look(there));
      put(out, bits_of(arch::fetch_cluster<operation, MemoryOrder::release, MemoryScope::cta, T>(here, operand)));
      put(out, look(here));
    }
    if constexpr (operation < Atomic::exchange) {
      arch::reduce_global<operation, MemoryOrder::release, MemoryScope::sys>(word, operand);
      arch::reduce_cluster<operation, MemoryOrder::relaxed, MemoryScope::cluster, T>(here, operand);
    }
    put(out, look(there));
    put(out, look(here));
  }

  static WARPLOOM_FN void run(const Params& params) noexcept {
    Storage& storage = arch::shared<Storage>();
    const uint32_t thread = arch::thread_index();
    Output out{params.out + thread, threads};
    uint64_t* const there = params.cells + thread;
    const arch::SharedAddress here = address(&storage.cells[thread]);
#define WARPLOOM_EACH(operation, type) each<Atomic::operation, type>(out, params, there, here, thread);
    WARPLOOM_TYPED_ATOMICS(WARPLOOM_EACH)
#undef WARPLOOM_EACH
  }
};

template <class Machine>
struct AtomicsCheck {
  using K = TypedAtomicProbe;

  static uint32_t flushed(uint32_t bits) { return (bits & 0x7f800000u) == 0 ? bits & 0x80000000u : bits; }

  /// What is there afterwards, where that is a number that plain C++ knows.
  template <Atomic operation, class T>
  static T result(T old, T operand, bool in_global) {
    if constexpr (std::is_same_v<T, float>) {
      if (!in_global) return old + operand;
      const float sum = std::bit_cast<float>(flushed(std::bit_cast<uint32_t>(old))) +
                        std::bit_cast<float>(flushed(std::bit_cast<uint32_t>(operand)));
      return std::bit_cast<float>(flushed(std::bit_cast<uint32_t>(sum)));
    } else if constexpr (std::is_same_v<T, double>) {
      return old + operand;
    } else if constexpr (std::is_same_v<T, f16>) {
      return to_f16(::warploom::to_float(old) + ::warploom::to_float(operand));
    } else if constexpr (std::is_same_v<T, bf16>) {
      return to_bf16(::warploom::to_float(old) + ::warploom::to_float(operand));
    } else {
      switch (operation) {
        case Atomic::add: return static_cast<T>(static_cast<uint64_t>(old) + static_cast<uint64_t>(operand));
        case Atomic::min: return operand < old ? operand : old;
        case Atomic::max: return operand > old ? operand : old;
        case Atomic::inc: return old >= operand ? T{0} : static_cast<T>(old + 1);
        case Atomic::dec: return old == 0 || old > operand ? operand : static_cast<T>(old - 1);
        case Atomic::bit_and: return static_cast<T>(old & operand);
        case Atomic::bit_or: return static_cast<T>(old | operand);
        case Atomic::bit_xor: return static_cast<T>(old ^ operand);
        default: return operand;
      }
    }
  }

  static void typed(Machine& machine, Comparison& c) {
    Random random(61);
    std::vector<uint64_t> inputs;
    for (uint32_t thread = 0; thread < K::threads; ++thread)
      for (uint32_t i = 0; i < 2; ++i) {
        // Numbers of like size as f32, and as halves in their lower bits; some of them subnormal as all three.
        const uint32_t tiny = thread % 4 == 0 ? 0x807f'03ffu : 0xbfff'3fffu;
        const uint32_t low = random.word() & tiny;
        inputs.push_back((uint64_t{random.word() & 0xbfffffffu} << 32 | low) & ~0x4000'4000u);
      }
    Words split;
    for (const uint64_t input : inputs) {
      split.push_back(static_cast<uint32_t>(input));
      split.push_back(static_cast<uint32_t>(input >> 32));
    }
    uint32_t* const out = machine.memory(Words(K::words * K::threads, 0xcccccccc), true);
    machine.template launch<K>({{1}, {1}, K::threads},
                               {reinterpret_cast<const uint64_t*>(machine.memory(split)),
                                reinterpret_cast<uint64_t*>(machine.memory(Words(2 * K::threads, 0), true)), out});
    c.got = machine.read(out, K::words * K::threads);
    c.want.resize(K::words * K::threads);
    for (uint32_t thread = 0; thread < K::threads; ++thread) {
      uint32_t word = 0;
      const auto put = [&](uint64_t bits) {
        for (uint32_t half = 0; half < 2; ++half)
          c.want[word++ * K::threads + thread] = static_cast<uint32_t>(bits >> 32 * half);
      };
      const auto each = [&]<Atomic operation, class T>() {
        const uint64_t before = inputs[2 * thread],
                       rest = sizeof(T) == 8 ? 0 : before >> 8 * sizeof(T) % 64 << 8 * sizeof(T) % 64;
        const T operand = K::value_of<T>(inputs[2 * thread + 1]), old = K::value_of<T>(before);
        T there = result<operation, T>(old, operand, true), here = result<operation, T>(old, operand, false);
        // The second comparison of cas is with the operand.
        if (operation == Atomic::compare_exchange) here = old;
        put(K::bits_of(old));
        put(rest | K::bits_of(there));
        put(K::bits_of(old));
        put(rest | K::bits_of(here));
        if (operation < Atomic::exchange) {
          there = result<operation, T>(there, operand, true);
          here = result<operation, T>(here, operand, false);
        }
        put(rest | K::bits_of(there));
        put(rest | K::bits_of(here));
      };
#define WARPLOOM_EACH(operation, type) each.template operator()<Atomic::operation, type>();
      WARPLOOM_TYPED_ATOMICS(WARPLOOM_EACH)
#undef WARPLOOM_EACH
    }
  }
};

}  // namespace warploom::inline WARPLOOM_MACHINE::examples
