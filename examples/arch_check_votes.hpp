// Cases of arch_check: votes, matches, reductions and segmented shuffles of a warp, reductions at named barriers, and
// mbarrier waits by parity.
#pragma once

#include <bit>

#include "arch_check_kernel.hpp"
#include "check.hpp"
#include "warploom/arch/vote.hpp"

namespace warploom::inline WARPLOOM_MACHINE::examples {

struct VoteProbe : Probe<96> {
  static constexpr char name[] = "votes";
  static constexpr uint32_t rounds = 6, words = rounds * 26;
  struct Params {
    uint32_t* out;
  };
  struct Storage {
    uint32_t none;
  };

  static WARPLOOM_CONST_FN uint32_t mask_of(uint32_t round, uint32_t lane) {
    if (round < 3) return 0xffffffffu;
    return lane < 16 ? 0x0000ffffu : 0xffff0000u;
  }
  static WARPLOOM_CONST_FN bool yes(uint32_t round, uint32_t thread) {
    return round % 3 == 0 ? pattern(thread + round) % 3 == 0 : round % 3 == 1;
  }
  static WARPLOOM_CONST_FN uint32_t few(uint32_t round, uint32_t thread) {
    return round % 3 == 2 ? 7 : pattern(thread) % 4;
  }
  static WARPLOOM_CONST_FN uint64_t wide(uint32_t round, uint32_t thread) {
    return static_cast<uint64_t>(few(round, thread)) << 32 | 5;
  }

  static WARPLOOM_FN void run(const Params& params) noexcept {
    const uint32_t thread = arch::thread_index(), lane = arch::lane_index();
    Output out{params.out + thread * words};
    for (uint32_t round = 0; round < rounds; ++round) {
      const uint32_t mask = mask_of(round, lane), value = pattern(thread * 31 + round);
      const bool mine = yes(round, thread);
      out.put(arch::vote_all(mine, mask) ? 1 : 0);
      out.put(arch::vote_any(mine, mask) ? 1 : 0);
      out.put(arch::vote_uniform(mine, mask) ? 1 : 0);
      out.put(arch::vote_ballot(mine, mask));
      out.put(arch::match_any(few(round, thread), mask));
      out.put(arch::match_any(wide(round, thread), mask));
      out.put(arch::match_all(few(round, thread), mask) ? 1 : 0);
      out.put(arch::match_all(wide(round, thread), mask) ? 1 : 0);
      out.put(arch::reduce_add(value, mask));
      out.put(arch::reduce_min(value, mask));
      out.put(arch::reduce_max(value, mask));
      out.put(static_cast<uint32_t>(arch::reduce_min(static_cast<int32_t>(value), mask)));
      out.put(static_cast<uint32_t>(arch::reduce_max(static_cast<int32_t>(value), mask)));
      out.put(arch::reduce_and(value | 0xffff, mask));
      out.put(arch::reduce_or(value & 0x1111, mask));
      out.put(arch::reduce_xor(value, mask));
      put(out, arch::shuffle_within<8>(value, round, mask));
      put(out, arch::shuffle_up_within<4>(value, round % 4, mask));
      put(out, arch::shuffle_down_within<16>(value, 2 * round, mask));
      put(out, arch::shuffle_xor_within<2>(value, round % 2 + 2 * (round % 4), mask));
      const uint32_t id = 1 + round % 2;
      out.put(round % 3 == 0   ? arch::bar_count(id, threads, mine)
              : round % 3 == 1 ? (arch::bar_all(id, threads, mine || thread == round) ? 1 : 0)
                               : (arch::bar_any(id, threads, mine || thread == round) ? 1 : 0));
      out.put(mask);
    }
  }

 private:
  static WARPLOOM_FN void put(Output& out, arch::Shuffled shuffled) noexcept {
    out.put(shuffled.value);
    out.put(shuffled.valid ? 1 : 0);
  }
};

/// Words through two slots, each side with a parity bit that it turns round at every wrap.
struct ParityProbe : Probe<64> {
  static constexpr char name[] = "parity";
  static constexpr uint32_t words = 41, tests = 5;
  struct Params {
    uint32_t* out;
  };
  struct Storage {
    arch::Mbarrier full[2], empty[2], alone;
    uint32_t word[2];
  };

  static WARPLOOM_FN void run(const Params& params) noexcept {
    Storage& s = arch::shared<Storage>();
    if (arch::thread_index() == 0) {
      for (uint32_t i = 0; i < 2; ++i) {
        arch::mbarrier_init(address(&s.full[i]), 1);
        arch::mbarrier_init(address(&s.empty[i]), 1);
      }
      arch::mbarrier_init(address(&s.alone), 1);
      arch::fence_mbarrier_init();
      Output out{params.out + words};
      out.put(arch::mbarrier_test_parity(address(&s.alone), 1) ? 1 : 0);
      out.put(arch::mbarrier_test_parity(address(&s.alone), 0) ? 1 : 0);
      arch::mbarrier_arrive(address(&s.alone));
      out.put(arch::mbarrier_test_parity<arch::Scope::cluster>(address(&s.alone), 1) ? 1 : 0);
      out.put(arch::mbarrier_test_parity(address(&s.alone), 0) ? 1 : 0);
      arch::mbarrier_wait_parity(address(&s.alone), 0);
      out.put(77);
    }
    arch::syncthreads();
    uint32_t slot = 0, parity = 0;
    for (uint32_t i = 0; i < words && arch::lane_index() == 0; ++i) {
      if (arch::warp_index() == 0) {
        arch::mbarrier_wait_parity(address(&s.empty[slot]), parity ^ 1);
        arch::store_shared(&s.word[slot], pattern(i));
        arch::mbarrier_arrive(address(&s.full[slot]));
      } else {
        arch::mbarrier_wait_parity<arch::Scope::cluster>(address(&s.full[slot]), parity);
        arch::store_global(params.out + i, arch::load_shared(&s.word[slot]));
        arch::mbarrier_arrive(address(&s.empty[slot]));
      }
      slot ^= 1;
      if (slot == 0) parity ^= 1;
    }
  }
};

template <class Machine>
struct VotesCheck {
  static void votes(Machine& machine, Comparison& c) {
    using K = VoteProbe;
    run<K>(machine, c, K::threads * K::words);
    for (uint32_t thread = 0; thread < K::threads; ++thread)
      for (uint32_t round = 0; round < K::rounds; ++round) expect(c, thread, round);
  }

  static void parity(Machine& machine, Comparison& c) {
    using K = ParityProbe;
    run<K>(machine, c, K::words + K::tests);
    for (uint32_t i = 0; i < K::words; ++i) c.want.push_back(pattern(i));
    for (const uint32_t word : {1u, 0u, 0u, 1u, 77u}) c.want.push_back(word);
  }

 private:
  static uint32_t value_of(uint32_t thread, uint32_t round) { return pattern(thread * 31 + round); }

  static void expect(Comparison& c, uint32_t thread, uint32_t round) {
    using K = VoteProbe;
    const uint32_t lane = thread % 32, base = thread - lane, mask = K::mask_of(round, lane);
    uint32_t ballot = 0, like = 0, sum = 0, least = ~0u, most = 0, both = ~0u, either = 0, odd = 0, voters = 0;
    int32_t signed_least = 0x7fffffff, signed_most = -0x7fffffff - 1;
    for (uint32_t other = 0; other < 32; ++other) {
      if ((mask >> other & 1) == 0) continue;
      const uint32_t value = value_of(base + other, round);
      if (K::yes(round, base + other)) ballot |= 1u << other;
      if (K::few(round, base + other) == K::few(round, thread)) like |= 1u << other;
      sum += value, odd ^= value, both &= value | 0xffff, either |= value & 0x1111;
      least = value < least ? value : least;
      most = value > most ? value : most;
      const auto number = static_cast<int32_t>(value);
      signed_least = number < signed_least ? number : signed_least;
      signed_most = number > signed_most ? number : signed_most;
    }
    for (uint32_t other = 0; other < K::threads; ++other)
      voters += K::yes(round, other) || (round % 3 != 0 && other == round) ? 1 : 0;
    for (const uint32_t word :
         {ballot == mask ? 1u : 0u, ballot != 0 ? 1u : 0u, ballot == mask || ballot == 0 ? 1u : 0u, ballot, like, like,
          like == mask ? 1u : 0u, like == mask ? 1u : 0u, sum, least, most, static_cast<uint32_t>(signed_least),
          static_cast<uint32_t>(signed_most), both, either, odd})
      c.want.push_back(word);
    const auto shuffled = [&](uint32_t from, bool valid) {
      c.want.push_back(value_of(base + (valid ? from : lane), round));
      c.want.push_back(valid ? 1 : 0);
    };
    shuffled(lane / 8 * 8 + round, true);
    shuffled(lane - round % 4, lane % 4 >= round % 4);
    shuffled(lane + 2 * round, lane % 16 + 2 * round < 16);
    const uint32_t partner = lane ^ (round % 2 + 2 * (round % 4));
    shuffled(partner, partner <= (lane | 1));
    c.want.push_back(round % 3 == 0   ? voters
                     : round % 3 == 1 ? (voters == K::threads ? 1u : 0u)
                                      : (voters != 0 ? 1u : 0u));
    c.want.push_back(mask);
  }

  template <class Kernel>
  static void run(Machine& machine, Comparison& c, size_t words) {
    uint32_t* out = machine.memory(Words(words, 0xcccccccc), true);
    machine.template launch<Kernel>({{1}, {1}, Kernel::threads}, {out});
    c.got = machine.read(out, words);
  }
};

}  // namespace warploom::inline WARPLOOM_MACHINE::examples
