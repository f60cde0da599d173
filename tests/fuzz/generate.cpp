// Random programs of each domain: pieces that are correct, and then a few random changes, so that most programs are
// nearly correct.
#include <algorithm>
#include <bit>

#include "fuzz/motifs.hpp"

namespace warploom::loom::fuzz {
namespace {

using Motif = void (*)(Builder&);

/// Some of these, the likely ones named several times.
void some(Builder& b, uint32_t most, std::initializer_list<Motif> motifs) {
  const uint32_t count = 1 + b.below(most);
  for (uint32_t i = 0; i < count; ++i) {
    motifs.begin()[b.below(static_cast<uint32_t>(motifs.size()))](b);
    if (i + 1 < count && b.one_in(4)) b.sync_all();
  }
}

void lanes(Builder& b) {
  b.shape(1, 1 + b.below(2));
  some(b, 4,
       {[](Builder& x) { x.among_lanes(); }, [](Builder& x) { x.matrices(); }, [](Builder& x) { x.elected(); },
        [](Builder& x) { x.hand_over(); }, [](Builder& x) { x.ring(); }, [](Builder& x) { x.named_barriers(); }});
  if (b.one_in(4)) b.leavers();
}

void clusters(Builder& b) {
  b.shape(2 + (b.one_in(4) ? b.below(3) : 0), 1 + (b.one_in(3) ? 1 : 0));
  some(b, 4,
       {[](Builder& x) { x.ring(); }, [](Builder& x) { x.ring(); }, [](Builder& x) { x.multicast(); },
        [](Builder& x) { x.remote_words(); }, [](Builder& x) { x.cluster_phases(); },
        [](Builder& x) { x.reductions(false); }, [](Builder& x) { x.unwaited_copy(); },
        [](Builder& x) { x.pair_load(); }});
  if (!b.one_in(6)) b.sync_all();
  if (b.one_in(6)) {
    b.early_exit();
    b.cluster_phases();
  } else if (b.one_in(4)) {
    b.leavers();
  }
}

void tensor_memory(Builder& b) {
  b.shape(1, 1 + b.below(3));
  some(b, 2,
       {[](Builder& x) { x.tensor_pipeline(); }, [](Builder& x) { x.tensor_pipeline(); },
        [](Builder& x) { x.allocations(); }, [](Builder& x) { x.allocations(); }, [](Builder& x) { x.ring(); }});
}

void wgmma(Builder& b) {
  b.shape(1, 4 + b.below(2));
  b.wgmma_pipeline();
  if (b.one_in(3)) some(b, 1, {[](Builder& x) { x.ring(); }, [](Builder& x) { x.named_barriers(); }});
}

void global(Builder& b) {
  b.shape(1 + (b.one_in(4) ? 1 : 0), 1 + b.below(2));
  some(b, 4,
       {[](Builder& x) { x.ring(); }, [](Builder& x) { x.stores_out(); }, [](Builder& x) { x.tensor_stores(); },
        [](Builder& x) { x.global_hand_over(); }, [](Builder& x) { x.global_hand_over(); },
        [](Builder& x) { x.same_stores(); }, [](Builder& x) { x.flags(true); }, [](Builder& x) { x.sums(true); },
        [](Builder& x) { x.cp_async_groups(); }, [](Builder& x) { x.increments(); },
        [](Builder& x) {
          if (x.one_in(3)) x.unwaited_copy();
        }});
}

void atomics(Builder& b) {
  b.shape(1 + b.below(2), 1 + b.below(2), b.one_in(8) ? 2 : 1);
  some(
      b, 3,
      {[](Builder& x) { x.reductions(false); }, [](Builder& x) { x.reductions(true); },
       [](Builder& x) { x.tensor_stores(); }, [](Builder& x) { x.tickets(false); }, [](Builder& x) { x.tickets(true); },
       [](Builder& x) { x.atomic_beside_reduction(false); }, [](Builder& x) { x.atomic_beside_reduction(true); },
       [](Builder& x) { x.hand_over(); }, [](Builder& x) { x.flags(false); }, [](Builder& x) { x.flags(true); },
       [](Builder& x) { x.sums(false); }, [](Builder& x) { x.sums(true); }, [](Builder& x) { x.async_sums(); }});
  if (!b.one_in(6)) b.sync_all();
}

void tests(Builder& b) {
  b.shape(1 + (b.one_in(6) ? 1 : 0), 1 + b.below(2));
  some(b, 4,
       {[](Builder& x) { x.tests(); }, [](Builder& x) { x.tests(); }, [](Builder& x) { x.tokens(); },
        [](Builder& x) { x.drops(); }, [](Builder& x) { x.used_again(); }, [](Builder& x) { x.byte_splits(); },
        [](Builder& x) { x.increments(); }, [](Builder& x) { x.shared_counter(); }, [](Builder& x) { x.ring(); }});
}

void registers(Builder& b) {
  b.shape(1, b.one_in(3) ? 12 : 8);
  b.register_moves();
  if (b.one_in(4)) b.hand_over();
}

void launch_control(Builder& b) {
  b.shape(1 + b.below(2), 1 + (b.one_in(4) ? 1 : 0), 1 + b.below(3));
  b.cancels();
  if (b.one_in(2)) some(b, 1, {[](Builder& x) { x.hand_over(); }, [](Builder& x) { x.ring(); }});
  if (!b.one_in(6)) b.sync_all();
}

void dependents(Builder& b, uint32_t grids) {
  b.shape(1, 1 + (b.one_in(4) ? 1 : 0), 1 + b.below(3));
  for (uint32_t g = 0; g < grids; ++g) {
    if (g > 0) b.begin_grid();
    if (b.one_in(3)) some(b, 1, {[](Builder& x) { x.hand_over(); }, [](Builder& x) { x.among_lanes(); }});
    b.dependent_accesses(g == 0, g + 1 == grids);
  }
}

template <class T>
T& any(std::vector<T>& list, Random& random) {
  return list[random.below(static_cast<uint32_t>(list.size()))];
}

uint32_t other_value(char kind, uint32_t forms, uint32_t old, const Program& p, Random& random) {
  switch (kind) {
    case 'B': {
      for (uint32_t tries = 0; tries < 8; ++tries)
        if (const uint32_t b = random.below(barrier_count); p.counts[b] != 0) return b;
      return old;
    }
    case 'C': return random.below(std::min(6u, cell_count));
    case 'G': return random.below(4);
    case 'W': return random.below(4);
    case 'R': return random.below(p.ctas);
    case 'S': return old ^ 1;
    case 'A': return random.one_in(2) ? old ^ 1u << random.below(8) : random.below(256);
    case 'm': return random.below(forms);
    case 'I': return 1 + random.below(4);
    case 'T': return 1 + random.below(p.warps);
    case 'K': return 1 + random.below(3);
    case 'O': return random.below(2);
    case 'D': return random.below(8);
    case 'P': return random.one_in(2) ? old + 1 : old - (old > 0 ? 1 : 0);
    case 'N': return random.one_in(2) ? old + 1 : std::max(1u, old - 1);
    case 'Y': return random.one_in(2) ? old + 16 : std::max(16u, old - 16);
    case 'V': return random.below(3);
    case 'M': return old ^ 1u << random.below(32);
    case 'Q': return old == 0 ? 1 : random.below(2);
    case 'X': return random.one_in(2) ? old * 2 : old + 8;
    case 'r': return random.one_in(2) ? 0 : random.below(3);
    default: return old;
  }
}

Step random_step(const Program& p, Random& random, const Step& like) {
  // Of every kind now and then; those of products only where their operands have room.
  Step step;
  const bool tensors = p.domain == Domain::tensor_memory || p.domain == Domain::wgmma;
  do step.op = static_cast<Op>(random.below(op_count));
  while ((!tensors && step.op >= Op::tmem_alloc && step.op <= Op::wgmma_read) ||
         (p.domain != Domain::launch_control && step.op == Op::try_cancel) ||
         (p.domain != Domain::registers && step.op == Op::set_registers));
  const Operands& operands = operands_of(step.op);
  const auto value = [&](uint32_t i, uint32_t old) {
    return other_value(operands.kind[i], operands.forms[i], old, p, random);
  };
  for (uint32_t i = 0; i < 4; ++i) step.x[i] = static_cast<uint8_t>(value(i, 0));
  const char kind = operands.kind[4];
  step.n = kind == 'M' ? all_lanes : kind == 'Y' ? 16 : kind == 'X' ? 32 : value(4, kind == 'P' || kind == 'N' ? 1 : 0);
  step.lanes = operands.whole_warp || kind == 'M' ? all_lanes : like.lanes;
  if (kind == 'M' && step.op == Op::bulk_store_masked) step.lanes = like.lanes;
  return step;
}

/// Operations that are easily taken for each other.
Op sibling(Op op, Random& random) {
  static const std::vector<std::vector<Op>> families{
      {Op::arrive, Op::arrive_token, Op::arrive_no_complete, Op::drop, Op::cp_arrive},
      {Op::wait, Op::test, Op::poll},
      {Op::expect, Op::arrive_expect, Op::complete, Op::drop_expect},
      {Op::bulk_wait, Op::bulk_wait_read},
      {Op::store, Op::store_narrow, Op::store_remote},
      {Op::load, Op::load_remote},
      {Op::bar_sync, Op::bar_arrive},
      {Op::bulk_load, Op::bulk_load_multicast},
      {Op::fetch, Op::compare_exchange, Op::atomic},
      {Op::load, Op::load_ordered},
      {Op::store_remote, Op::store_ordered},
      {Op::load_global, Op::load_ordered_global},
      {Op::store_global, Op::store_ordered_global},
      {Op::fetch_global, Op::atomic_global},
      {Op::store_async, Op::reduce_async},
      {Op::wait_token, Op::test_token},
      {Op::elect, Op::syncwarp},
      {Op::grid_wait, Op::grid_launch}};
  for (const auto& family : families)
    if (std::find(family.begin(), family.end(), op) != family.end())
      return family[random.below(static_cast<uint32_t>(family.size()))];
  return op;
}

}  // namespace

void mutate(Program& program, Random& random) {
  Bodies& bodies = any(program.grids, random);
  std::vector<std::vector<Step>*> busy;
  for (auto& body : bodies)
    if (!body.empty()) busy.push_back(&body);
  if (busy.empty()) return;
  auto& body = *any(busy, random);
  uint32_t at = random.below(static_cast<uint32_t>(body.size()));
  // There are many of those, and a program that lacks one is soon reported.
  for (uint32_t tries = 0; tries < 2 && operands_of(body[at].op).whole_warp; ++tries)
    at = random.below(static_cast<uint32_t>(body.size()));
  const auto place = body.begin() + at;
  switch (random.below(12)) {
    case 0:
    case 1: body.erase(place); break;
    case 2: body.insert(place, Step(*place)); break;
    case 3:
    case 4:
      if (at + 1 < body.size()) std::swap(body[at], body[at + 1]);
      break;
    case 5: {  // to another warp
      const Step step = *place;
      body.erase(place);
      auto& other = *any(busy, random);
      other.insert(other.begin() + random.below(static_cast<uint32_t>(other.size()) + 1), step);
      break;
    }
    case 6: place->op = sibling(place->op, random); break;
    case 7: {
      const uint32_t b = random.below(barrier_count);
      if (program.counts[b] != 0)
        program.counts[b] =
            static_cast<uint8_t>(random.one_in(2) ? program.counts[b] + 1 : std::max(1, program.counts[b] - 1));
      break;
    }
    case 8:
      if (!operands_of(place->op).whole_warp && place->op != Op::syncwarp && place->op != Op::elect &&
          place->op != Op::shuffle)
        place->lanes = 1u << random.below(4);
      break;
    case 9: body.insert(place, random_step(program, random, *place)); break;
    default: {
      const Operands& operands = operands_of(place->op);
      const uint32_t i = random.below(5);
      if (i < 4)
        place->x[i] =
            static_cast<uint8_t>(other_value(operands.kind[i], operands.forms[i], place->x[i], program, random));
      else
        place->n = other_value(operands.kind[4], operands.forms[4], place->n, program, random);
    }
  }
}

Program generate(Domain domain, uint64_t seed) {
  // Mixed first: Random steps by a constant, so seeds that are multiples of it would draw the same numbers, shifted.
  Random random(Random(seed * domain_count + static_cast<uint64_t>(domain)).next());
  Program program;
  program.domain = domain;
  program.seed = seed;
  program.fill_cells = !random.one_in(12);
  Builder builder(program, random);
  switch (domain) {
    case Domain::lanes: lanes(builder); break;
    case Domain::clusters: clusters(builder); break;
    case Domain::tensor_memory: tensor_memory(builder); break;
    case Domain::wgmma: wgmma(builder); break;
    case Domain::global: global(builder); break;
    case Domain::atomics: atomics(builder); break;
    case Domain::tests: tests(builder); break;
    case Domain::registers: registers(builder); break;
    case Domain::launch_control:
      launch_control(builder);
      program.processors = static_cast<uint8_t>(random.one_in(4) ? 1 + random.below(3) : program.clusters);
      break;
    case Domain::dependents:
      dependents(builder, 2 + random.below(2));
      program.processors = static_cast<uint8_t>(1 + random.below(4));
      break;
  }
  constexpr uint32_t mutations[] = {0, 0, 1, 1, 1, 1, 2, 3};
  // Where mutations matter less often, there are more.
  uint32_t more = 0;
  if (domain == Domain::dependents) more = 3 + random.below(2);
  if (domain == Domain::launch_control || domain == Domain::wgmma || domain == Domain::registers)
    more = random.below(2);
  for (uint32_t i = mutations[random.below(8)] + more; i > 0; --i) mutate(program, random);
  return program;
}

}  // namespace warploom::loom::fuzz
