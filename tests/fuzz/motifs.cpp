#include "fuzz/motifs.hpp"

#include <algorithm>
#include <bit>

namespace warploom::loom::fuzz {
namespace {

enum Fence : uint32_t {
  cluster_fence,
  proxy_all,
  shared_release,
  shared_acquire,
  proxy_release,
  proxy_acquire,
  proxy_shared,
  proxy_global,
  gpu_fence
};
constexpr uint32_t operand_bytes = 128 * 32 + 16 * 32;

}  // namespace

void Builder::shape(uint32_t ctas, uint32_t warps, uint32_t clusters) {
  p_.ctas = static_cast<uint8_t>(ctas);
  p_.warps = static_cast<uint8_t>(warps);
  p_.clusters = static_cast<uint8_t>(clusters);
  begin_grid();
}

void Builder::begin_grid() {
  p_.grids.emplace_back(p_.ctas * p_.warps);
  bodies_ = &p_.grids.back();
}

Step& Builder::emit(const Who& who, Op op, std::initializer_list<uint32_t> x, uint32_t n) {
  Step step{.op = op, .n = n, .lanes = who.lanes};
  uint32_t i = 0;
  for (const uint32_t value : x) step.x[i++] = static_cast<uint8_t>(value);
  if (operands_of(op).whole_warp) step.lanes = all_lanes;
  auto& body = (*bodies_)[who.rank * p_.warps + who.warp];
  body.push_back(step);
  return body.back();
}

void Builder::all_warps(Op op, std::initializer_list<uint32_t> x) {
  for (uint8_t r = 0; r < p_.ctas; ++r)
    for (uint8_t w = 0; w < p_.warps; ++w) emit({r, w, all_lanes}, op, x);
}

Who Builder::thread(uint32_t rank) {
  constexpr uint32_t lanes[] = {0, 0, 0, 1, 5, 31};
  return {static_cast<uint8_t>(rank), static_cast<uint8_t>(below(p_.warps)), 1u << lanes[below(6)]};
}

std::vector<Who> Builder::threads(uint32_t count, uint32_t rank) {
  std::vector<Who> list;
  for (uint32_t tries = 0; list.size() < count && tries < 50; ++tries) {
    const Who who = thread(rank);
    if (std::find(list.begin(), list.end(), who) == list.end()) list.push_back(who);
  }
  return list;
}

void Builder::maybe_branch(const Who& who) {
  if (!one_in(3)) return;
  emit(who, Op::skip, {below(4), 1}, below(3));
  if (one_in(2))
    emit(who, Op::store_global, {global_cell(), below(4), 0}, 77);
  else if (barriers_ > 0)
    emit(who, Op::wait, {below(barriers_), 0, 0}, 1);
}

void Builder::sync_all() {
  if (p_.ctas == 1) {
    all_warps(Op::syncthreads);
  } else {
    const bool relaxed = one_in(4);
    if (relaxed && !one_in(3)) all_warps(Op::fence, {cluster_fence});
    all_warps(Op::cluster_arrive, {relaxed ? 1u : 0u});
    all_warps(Op::cluster_wait);
    if (relaxed && !one_in(3)) all_warps(Op::fence, {cluster_fence});
  }
  cells_ = 0;
}

void Builder::ring() {
  enum Way : uint32_t {
    stored,
    loaded,
    cp_noinc,
    cp_inc,
    cp_group,
    split,
    ways_of_one,
    remote_store,
    async_store,
    sent
  };
  const uint32_t stages = 1 + below(2), rounds = 1 + below(3);
  if (!room(2 * stages, 2 * stages)) return;
  const bool remote = p_.ctas > 1 && !one_in(3);
  const uint32_t way = remote ? remote_store + below(3) : below(ways_of_one);
  const uint32_t from = rank(), to = remote ? other_rank(from) : from;
  std::vector<Who> all = threads(3, from);
  const Who producer = all.front();
  std::vector<Who> consumers;
  if (remote)
    consumers = threads(1 + below(2), to);
  else
    consumers.assign(all.begin() + 1, all.begin() + 1 + std::min<std::ptrdiff_t>(1 + below(2), std::ssize(all) - 1));
  if (consumers.empty()) return;
  const auto count = static_cast<uint32_t>(consumers.size());
  uint32_t full[2], empty[2], cells[2], sources[2];
  for (uint32_t s = 0; s < stages; ++s) {
    full[s] = barrier(1);
    empty[s] = barrier(count);
    cells[s] = cell();
    if (way == sent) sources[s] = cell();
  }
  const uint32_t scope = remote ? 1 : 0;
  const bool polls = one_in(5);
  const auto wait = [&](const Who& who, uint32_t bar, uint32_t phases) {
    if (polls) emit(who, Op::poll, {bar, 0, scope}, phases);
    emit(who, polls ? Op::wait_unless : Op::wait, {bar, 0, scope}, phases);
  };
  for (uint32_t i = 0; i < rounds; ++i) {
    const uint32_t s = i % stages, phase = i / stages;
    if (phase > 0 || one_in(2)) wait(producer, empty[s], phase);
    const uint32_t value = 10 * i + 1;
    switch (way) {
      case stored:
        emit(producer, one_in(4) ? Op::store_wide : Op::store, {cells[s], below(4)}, value);
        emit(producer, Op::arrive, {full[s], from}, 1);
        break;
      case loaded:
        emit(producer, Op::arrive_expect, {full[s], from}, 16);
        emit(producer, Op::bulk_load, {cells[s], full[s], i}, 16);
        break;
      case cp_noinc:
      case cp_inc:
        emit(producer, Op::cp_async, {cells[s], i, 0, below(3)});
        emit(producer, Op::cp_arrive, {full[s], way == cp_inc ? 1u : 0u});
        if (way == cp_inc) emit(producer, Op::arrive, {full[s], from}, 1);
        break;
      case cp_group:
        emit(producer, Op::cp_async, {cells[s], i, 0, below(3)});
        emit(producer, Op::cp_commit);
        emit(producer, Op::cp_wait, {}, 0);
        emit(producer, Op::arrive, {full[s], from}, 1);
        break;
      case split:
        emit(producer, Op::expect, {full[s], from}, 64);
        emit(producer, Op::store, {cells[s], 0}, value);
        emit(producer, Op::arrive, {full[s], from}, 1);
        emit(producer, Op::complete, {full[s], from}, 64);
        break;
      case remote_store:
        emit(producer, Op::store_remote, {cells[s], below(4), to}, value);
        emit(producer, Op::arrive, {full[s], to, 1}, 1);
        break;
      case async_store:
        emit(producer, Op::arrive_expect, {full[s], to}, 16);
        emit(producer, Op::store_async, {cells[s], full[s], to}, value);
        break;
      default:
        emit(producer, Op::store_wide, {sources[s]}, value);
        emit(producer, Op::fence, {proxy_shared});
        emit(producer, Op::arrive_expect, {full[s], to}, 16);
        emit(producer, Op::send, {cells[s], sources[s], full[s], to}, 16);
        break;
    }
    const bool gives_back = i + stages < rounds || one_in(2);
    for (const Who& consumer : consumers) {
      wait(consumer, full[s], phase + 1);
      emit(consumer, one_in(4) ? Op::load_wide : Op::load, {cells[s], below(4)});
      if (way == loaded || way == sent || way == async_store) emit(consumer, Op::fence, {proxy_shared});
      if (gives_back) emit(consumer, Op::arrive, {empty[s], from, scope}, 1);
    }
  }
}

void Builder::named_barriers() {
  if (p_.warps < 2 || !room(0, 2)) return;
  const uint32_t r = rank(), a = below(p_.warps), b = (a + 1 + below(p_.warps - 1u)) % p_.warps;
  const Who first{static_cast<uint8_t>(r), static_cast<uint8_t>(a), 1u << below(32)};
  const Who second{static_cast<uint8_t>(r), static_cast<uint8_t>(b), 1u << below(32)};
  const uint32_t id = named_++ % 15 + 1, there = cell(), back = cell();
  const bool arrives = one_in(2);
  const uint32_t rounds = 1 + below(2);
  for (uint32_t i = 0; i < rounds; ++i) {
    emit(first, Op::store, {there, 1}, 5 + i);
    emit(first, arrives ? Op::bar_arrive : Op::bar_sync, {id, 2});
    emit(second, Op::bar_sync, {id, 2});
    emit(second, Op::load, {there, 1});
    emit(second, Op::store, {back, 0, 1}, i);
    emit(second, Op::bar_sync, {id, 2});
    emit(first, Op::bar_sync, {id, 2});
    emit(first, Op::load, {back, 0});
  }
}

void Builder::hand_over() {
  const uint32_t r = rank();
  const std::vector<Who> list = threads(2 + below(3), r);
  const auto hops = static_cast<uint32_t>(list.size() - 1);
  if (!room(hops, 1)) return;
  const uint32_t c = cell(), w = below(4);
  emit(list[0], Op::store, {c, w}, 3);
  for (uint32_t i = 0; i < hops; ++i) {
    const uint32_t b = barrier(1);
    emit(list[i], Op::arrive, {b, r}, 1);
    emit(list[i + 1], Op::wait, {b, 0, 0}, 1);
    emit(list[i + 1], Op::load, {c, w});
    emit(list[i + 1], Op::store, {c, w, 1}, i);
  }
}

void Builder::shared_counter() {
  const uint32_t r = rank();
  const std::vector<Who> list = threads(3, r);
  if (list.size() < 3 || !room(2, 2)) return;
  const uint32_t rounds = 1 + below(2), done = barrier(2), go = barrier(1), c[2] = {cell(), cell()};
  for (uint32_t i = 0; i < rounds; ++i) {
    for (uint32_t j = 0; j < 2; ++j) {
      if (i > 0) emit(list[j], Op::wait, {go, 0, 0}, i);
      emit(list[j], Op::store, {c[j], 0}, i);
      emit(list[j], Op::arrive, {done, r}, 1);
    }
    emit(list[2], Op::wait, {done, 0, 0}, i + 1);
    for (const uint32_t one : c) emit(list[2], Op::load, {one, 0});
    if (i + 1 < rounds) emit(list[2], Op::arrive, {go, r}, 1);
  }
}

// ------------------------------------------------------------------------------------------------------------- lanes

void Builder::among_lanes() {
  constexpr uint32_t masks[] = {all_lanes, 0xffff, 0xff, 0x33, 3};
  if (!room(0, 2)) return;
  const Who warp{static_cast<uint8_t>(rank()), static_cast<uint8_t>(below(p_.warps)), masks[below(5)]};
  const auto lane = [&] {
    uint32_t bit = 1u << below(32);
    while ((warp.lanes & bit) == 0) bit = std::rotl(bit, 1);
    return Who{warp.rank, warp.warp, bit};
  };
  const uint32_t c[2] = {cell(), cell()};
  const uint32_t rounds = 1 + below(3);
  for (uint32_t i = 0; i < rounds; ++i) {
    const Who writer = lane(), other = lane();
    emit(writer, one_in(4) ? Op::store_narrow : Op::store, {c[0], i % 4, one_in(2) ? 1u : 0u}, 20 + i);
    if (other != writer) emit(other, Op::store, {c[1], below(4)}, 30 + i);
    switch (below(4)) {
      case 0: emit(warp, Op::shuffle, {below(4), below(5)}, warp.lanes); break;
      case 1: emit(warp, Op::elect, {}, warp.lanes); break;
      default: emit(warp, Op::syncwarp, {}, warp.lanes); break;
    }
    for (uint32_t k = 0; k < 2; ++k) {
      const Who reader = one_in(4) ? warp : lane();
      emit(reader, one_in(4) ? Op::load_wide : Op::load, {c[below(2)], below(4)});
    }
    emit(warp, Op::syncwarp, {}, warp.lanes);
  }
}

void Builder::elected() {
  if (!room(2, 1)) return;
  const uint32_t r = rank();
  const Who warp{static_cast<uint8_t>(r), static_cast<uint8_t>(below(p_.warps)), all_lanes};
  const bool per_lane = one_in(2);
  const uint32_t full = barrier(per_lane ? 32 : 1), c = cell();
  const Who other = thread(r);
  for (uint32_t w = 0; w < 4; ++w)
    if (one_in(2)) emit({warp.rank, warp.warp, 1u << below(32)}, Op::store, {c, w}, 40 + w);
  if (per_lane) {
    emit(warp, Op::arrive, {full, r}, 1);
  } else {
    if (one_in(2))
      emit(warp, Op::sync_before_signal);
    else
      emit(warp, Op::syncwarp, {}, all_lanes);
    emit(warp, Op::elect, {}, all_lanes);
    emit(warp, Op::skip, {0, 1}, 0);
    emit(warp, Op::arrive, {full, r}, 1);
  }
  const Who reader = one_in(3) ? warp_of(other) : other;
  emit(reader, Op::wait, {full, 0, 0}, 1);
  emit(reader, Op::load_wide, {c});
}

void Builder::matrices() {
  if (cells_ > 4) return;
  const Who warp{static_cast<uint8_t>(rank()), static_cast<uint8_t>(below(p_.warps)), all_lanes};
  const uint32_t c = cells_;
  cells_ += 8;
  if (one_in(2)) emit({warp.rank, warp.warp, 1u << below(32)}, Op::store, {c + below(8), below(4)}, 3);
  emit(warp, Op::syncwarp, {}, all_lanes);
  emit(warp, Op::store_matrix, {c}, 2);
  if (one_in(2) && p_.warps > 1) {
    const Who other{warp.rank, static_cast<uint8_t>((warp.warp + 1) % p_.warps), all_lanes};
    const uint32_t id = named_++ % 15 + 1;
    emit(warp, Op::bar_arrive, {id, 2});
    emit(other, Op::bar_sync, {id, 2});
    emit(other, Op::load_matrix, {c});
  } else {
    emit(warp, Op::syncwarp, {}, all_lanes);
    emit(warp, Op::load_matrix, {c});
    emit({warp.rank, warp.warp, 1u << below(32)}, Op::load_wide, {c + below(8)});
  }
}

// ---------------------------------------------------------------------------------------------------------- clusters

void Builder::multicast() {
  if (!room(2, 1)) return;
  const uint32_t leader_rank = rank(), rounds = 1 + below(2);
  const uint32_t full = barrier(1), ready = barrier(p_.ctas), c = cell();
  const Who leader = thread(leader_rank);
  std::vector<Who> consumers;
  for (uint32_t r = 0; r < p_.ctas; ++r) consumers.push_back(thread(r));
  for (uint32_t i = 0; i < rounds; ++i) {
    for (const Who& consumer : consumers) {
      emit(consumer, Op::arrive_expect, {full, consumer.rank}, 16);
      emit(consumer, Op::arrive, {ready, leader_rank, 1}, 1);
    }
    emit(leader, Op::wait, {ready, 0, 1}, i + 1);
    emit(leader, Op::bulk_load_multicast, {c, full, i}, (1u << p_.ctas) - 1);
    for (const Who& consumer : consumers) {
      emit(consumer, Op::wait, {full, 0, 0}, i + 1);
      emit(consumer, Op::load, {c, below(4)});
      emit(consumer, Op::fence, {proxy_all});
    }
  }
}

void Builder::pair_load() {
  // The odd CTA of a pair loads for itself, and the leader's barrier counts it.
  if (!room(2, 0) || cells_ > 8) return;
  const uint32_t full = barrier(1), told = barrier(1);
  const Who loader = thread(1), leader = thread(0);
  emit(loader, Op::arrive_expect, {full, 0}, 16);
  emit(loader, Op::tma_load, {1, full, 0, 1});
  emit(leader, Op::wait, {full, 0, 0}, 1);
  if (one_in(4)) return;
  emit(leader, Op::arrive, {told, 1, 1}, 1);
  emit(loader, Op::wait, {told, 0, 1}, 1);
  emit(loader, Op::load, {8, below(4)});
}

void Builder::remote_words() {
  if (!room(1, 2)) return;
  const uint32_t from = rank(), to = other_rank(from), full = barrier(1), c = cell();
  const Who writer = thread(from), reader = thread(to);
  if (one_in(2)) {  // where the reader is
    emit(writer, Op::store_remote, {c, 1, to}, 9);
    emit(writer, Op::arrive, {full, to, 1}, 1);
    emit(reader, Op::wait, {full, 0, 1}, 1);
    emit(reader, Op::load, {c, 1});
  } else {  // where the writer is
    emit(writer, Op::store, {c, 1}, 9);
    emit(writer, Op::arrive, {full, to, 1}, 1);
    emit(reader, Op::wait, {full, 0, 1}, 1);
    emit(reader, Op::load_remote, {c, 1, from});
  }
}

void Builder::cluster_phases() {
  if (!room(0, 2)) return;
  const uint32_t from = rank(), to = other_rank(from), c = cell();
  const Who writer = thread(from), reader = thread(to);
  for (uint32_t i = 0; i < 1 + below(2); ++i) {
    emit(writer, Op::store_remote, {c, i, to}, 60 + i);
    all_warps(Op::cluster_arrive, {0});
    if (one_in(2)) emit(reader, Op::store_global, {global_cell(), 0}, i);
    all_warps(Op::cluster_wait);
    emit(reader, Op::load, {c, i});
    if (one_in(2)) {
      all_warps(Op::cluster_arrive, {1});
      all_warps(Op::cluster_wait);
    }
  }
}

void Builder::early_exit() {
  if (p_.ctas == 1) return;
  // One CTA has nothing more to do: its threads leave, the others meet without it.
  const uint32_t gone = rank();
  for (uint8_t w = 0; w < p_.warps; ++w) emit({static_cast<uint8_t>(gone), w, all_lanes}, Op::leave);
}

void Builder::leavers() {
  if (!room(0, 1)) return;
  const uint32_t gone = rank(), c = cell(), word = below(4);
  const Who first{static_cast<uint8_t>(gone), 0, 1u << below(32)};
  if (p_.ctas > 1 && one_in(2)) {
    // A CTA arrives at the cluster barrier and exits; what it does between the two is behind its arrival.
    const uint32_t other = (gone + 1) % p_.ctas;
    const bool late = one_in(3), again = one_in(2);
    if (!late) emit(first, Op::load_remote, {c, word, other});
    for (uint8_t w = 0; w < p_.warps; ++w) emit({static_cast<uint8_t>(gone), w, all_lanes}, Op::cluster_arrive, {0});
    if (late) emit(first, Op::load_remote, {c, word, other});
    for (uint8_t w = 0; w < p_.warps; ++w) emit({static_cast<uint8_t>(gone), w, all_lanes}, Op::leave);
    for (uint32_t phase = 0; phase < (again ? 2u : 1u); ++phase)
      for (uint8_t r = 0; r < p_.ctas; ++r)
        for (uint8_t w = 0; r != gone && w < p_.warps; ++w) {
          emit({r, w, all_lanes}, Op::cluster_arrive, {0});
          emit({r, w, all_lanes}, Op::cluster_wait);
        }
    emit({static_cast<uint8_t>(other), 0, 1u << below(32)}, Op::store, {c, word}, 77);
    return;
  }
  if (p_.warps < 2) return;
  // A warp has nothing more to do; the others meet at barrier 0, all that are left or so many.
  const auto leaver = static_cast<uint8_t>(below(p_.warps));
  emit({static_cast<uint8_t>(gone), leaver, first.lanes}, one_in(2) ? Op::load : Op::store, {c, word}, 76);
  emit({static_cast<uint8_t>(gone), leaver, all_lanes}, Op::leave);
  const uint32_t how = below(4);
  for (uint8_t w = 0; w < p_.warps; ++w) {
    if (w == leaver) continue;
    const Who who{static_cast<uint8_t>(gone), w, all_lanes};
    if (how == 0 || (how == 1 && w % 2 == 0))
      emit(who, Op::bar_sync, {0, how == 0 ? p_.warps - 1u : p_.warps});
    else
      emit(who, Op::syncthreads);
  }
  emit({static_cast<uint8_t>(gone), static_cast<uint8_t>((leaver + 1) % p_.warps), first.lanes}, Op::store, {c, word},
       78);
}

// ------------------------------------------------------------------------------------------------------------ global

void Builder::stores_out() {
  const uint32_t r = rank();
  const std::vector<Who> list = threads(2, r);
  if (list.size() < 2 || !room(1, 1)) return;
  const uint32_t c = cell(), g = global_cell(), b = barrier(1), rounds = 1 + below(2);
  const Who& writer = list[0];
  for (uint32_t i = 0; i < rounds; ++i) {
    emit(writer, Op::store_wide, {c}, 50 + i);
    emit(writer, Op::fence, {proxy_shared});
    if (one_in(4))
      emit(writer, Op::bulk_store_masked, {g, c}, 0x0ff0);
    else
      emit(writer, Op::bulk_store, {g, c}, 16);
    emit(writer, Op::bulk_commit);
    if (i + 1 < rounds) emit(writer, one_in(2) ? Op::bulk_wait : Op::bulk_wait_read, {}, 0);
    if (rounds > 1 && i + 1 < rounds) emit(writer, Op::bulk_wait, {}, 0);
  }
  emit(writer, Op::bulk_wait, {}, 0);
  emit(writer, Op::arrive, {b, r}, 1);
  emit(list[1], Op::wait, {b, 0, 0}, 1);
  emit(list[1], Op::load_global, {g, below(4), 1});
}

void Builder::tensor_stores() {
  const uint32_t r = rank();
  const std::vector<Who> list = threads(2, r);
  if (list.size() < 2 || !room(1, 1) || cells_ > 0) return;
  const uint32_t c = cell(), g = global_cell(), b = barrier(2);
  for (const Who& who : list) {
    const bool reduces = one_in(2);
    if (&who == &list[0] || !reduces) {
      emit(list[0], Op::store_wide, {c}, 1);
      emit(list[0], Op::fence, {proxy_shared});
    }
    emit(list[0], reduces ? Op::tma_reduce : Op::tma_store, {0, g}, below(8));
    emit(list[0], Op::bulk_commit);
    emit(list[0], Op::bulk_wait, {}, 0);
    emit(who, Op::arrive, {b, r}, 1);
  }
  const Who reader = thread(r);
  emit(reader, Op::wait, {b, 0, 0}, 1);
  emit(reader, Op::load_global, {g, below(4), 1});
}

void Builder::global_hand_over() {
  const uint32_t r = rank();
  const std::vector<Who> list = threads(2, r);
  if (list.size() < 2 || !room(3, 1)) return;
  const uint32_t g = global_cell(), b = barrier(1);
  emit(list[0], Op::store_global, {g, 0}, 4);
  if (one_in(2)) {
    emit(list[0], Op::arrive, {b, r}, 1);
    emit(list[1], Op::wait, {b, 0, 0}, 1);
    emit(list[1], Op::load_global, {g, 0, 1});
    if (one_in(2)) emit(list[1], Op::store_global, {g, 0, 1}, 4);
    return;
  }
  const uint32_t full = barrier(1), c = cell();
  emit(list[0], Op::fence, {proxy_global});
  emit(list[0], Op::arrive, {b, r}, 1);
  emit(list[1], Op::wait, {b, 0, 0}, 1);
  if (one_in(2)) {
    emit(list[1], Op::arrive_expect, {full, r}, 16);
    emit(list[1], Op::bulk_load, {c, full, g, 1}, 16);
    emit(list[1], Op::wait, {full, 0, 0}, 1);
  } else {
    emit(list[1], Op::cp_async, {c, g, 1, 2});
    emit(list[1], Op::cp_commit);
    emit(list[1], Op::cp_wait, {}, 0);
  }
  emit(list[1], Op::load, {c, 0});
}

void Builder::same_stores() {
  const std::vector<Who> list = threads(2, rank());
  if (list.size() < 2 || !room(0, 2)) return;
  const uint32_t g = global_cell();
  for (const Who& who : list) {
    const uint32_t c = cell();
    emit(who, Op::store_wide, {c}, 1);
    emit(who, Op::fence, {proxy_shared});
    if (one_in(4)) {
      emit(who, Op::store_global, {g, 0}, 100);
      emit(who, Op::load_global, {g, 0, 1});
      emit(who, Op::fence, {proxy_global});
    }
    emit(who, Op::bulk_store, {g, c}, 16);
    emit(who, Op::bulk_commit);
    emit(who, Op::bulk_wait, {}, 0);
  }
}

void Builder::cp_async_groups() {
  if (!room(1, 3)) return;
  const uint32_t r = rank();
  const std::vector<Who> list = threads(2, r);
  if (list.size() < 2) return;
  const uint32_t b = barrier(1);
  uint32_t c[3];
  const uint32_t groups = 2 + below(2);
  for (uint32_t i = 0; i < groups; ++i) {
    c[i] = cell();
    emit(list[0], Op::cp_async, {c[i], i, 0, below(3)});
    emit(list[0], Op::cp_commit);
  }
  const uint32_t pending = below(groups);
  emit(list[0], Op::cp_wait, {}, pending);
  emit(list[0], Op::load, {c[0], 0});
  if (pending != 0) emit(list[0], Op::cp_wait, {}, 0);
  emit(list[0], Op::arrive, {b, r}, 1);
  emit(list[1], Op::wait, {b, 0, 0}, 1);
  emit(list[1], Op::load, {c[groups - 1], 0});
}

void Builder::unwaited_copy() {
  if (!room(1, 2)) return;
  const Who who = thread(rank());
  const uint32_t c = cell();
  switch (below(3)) {
    case 0: emit(who, Op::cp_async, {c, below(cell_count), 0, below(3)}); break;
    case 1:
      if (p_.ctas > 1) {
        const uint32_t to = other_rank(who.rank), b = barrier(1), source = cell();
        const Who there = thread(to);
        emit(there, Op::arrive_expect, {b, to}, 16);
        if (one_in(2)) emit(who, Op::fence, {proxy_shared});
        emit(who, Op::send, {c, source, b, to}, 16);
        emit(there, Op::wait, {b, 0, 0}, 1);
        break;
      }
      [[fallthrough]];
    default: {
      const uint32_t b = barrier(1);
      emit(who, Op::arrive_expect, {b, who.rank}, 16);
      emit(who, Op::bulk_load, {c, b, below(cell_count)}, 16);
      if (one_in(2)) emit(thread(who.rank), Op::wait, {b, 0, 0}, 1);
    }
  }
}

// ----------------------------------------------------------------------------------------------------------- atomics

uint32_t Builder::reduction_code(bool global) {
  // The operation, and 8 times the type: u32 0, s32 1, f32 6, b32 8.
  const uint32_t operation = below(8);
  if (operation >= 5) return operation + 8 * 8;
  if (operation == 3 || operation == 4) return operation;
  if (operation == 0 && global && one_in(2)) return 8 * 6;
  return operation + 8 * below(2);
}

void Builder::reductions(bool global) {
  if (!global && p_.ctas == 1) return reductions(true);
  const uint32_t to = rank();
  const uint32_t parts = 2 + below(2);
  if (!room(1, parts + 1)) return;
  const uint32_t code = reduction_code(global), target = global ? global_cell() : cell();
  const uint32_t b = barrier(parts);
  constexpr uint32_t floats[] = {0x4cbebc20, 0xccbebc20, 0x3f800000};  // 1e8, -1e8, 1
  for (uint32_t i = 0; i < parts; ++i) {
    const Who who = thread(global ? to : other_rank(to));
    const uint32_t source = cell();
    const uint32_t value = code == 48 ? floats[i] : 1 + i * (one_in(2) ? 1 : 0);
    for (uint32_t w = 0; w < 4; ++w) emit(who, Op::store, {source, w}, value);
    emit(who, Op::fence, {proxy_shared});
    if (global) {
      emit(who, Op::bulk_reduce, {target, source}, code);
      emit(who, Op::bulk_commit);
      emit(who, Op::bulk_wait, {}, 0);
      emit(who, Op::arrive, {b, to}, 1);
    } else {
      emit(who, Op::arrive_expect, {b, to}, 16);
      emit(who, Op::send_reduce, {target, source, b, to}, code);
    }
  }
  const Who reader = thread(to);
  emit(reader, Op::wait, {b, 0, 0}, 1);
  emit(reader, global ? Op::load_global : Op::load, {target, below(4), 1});
  maybe_branch(reader);
}

void Builder::tickets(bool global) {
  const uint32_t to = rank();
  const std::vector<Who> list = threads(2 + below(2), to);
  if (!room(static_cast<uint32_t>(list.size()), 1)) return;
  const uint32_t target = global ? global_cell() : cell(), word = below(4);
  const bool ordered = !one_in(4);
  const uint32_t operation = below(9);
  for (size_t i = 0; i < list.size(); ++i) {
    if (global)
      emit(list[i], Op::fetch_global, {target, word, below(4), below(3)}, 1 + below(2));
    else if (one_in(5))
      emit(list[i], Op::compare_exchange, {target, word, to, below(3)}, 2);
    else
      emit(list[i], Op::fetch, {target, word, to, operation}, 1 + below(2));
    maybe_branch(list[i]);
    if (!ordered || i + 1 == list.size()) continue;
    const uint32_t b = barrier(1);
    emit(list[i], Op::arrive, {b, to}, 1);
    emit(list[i + 1], Op::wait, {b, 0, 0}, 1);
  }
}

namespace {
constexpr uint32_t code_of(uint32_t kind, bool red, bool ordered, uint32_t scope) {
  return kind | (red ? 16u : 0u) | (ordered ? 32u : 0u) | scope << 6;
}
}  // namespace

void Builder::flags(bool global) {
  const uint32_t to = rank();
  const std::vector<Who> list = threads(2, to);
  if (list.size() < 2 || !room(1, 2)) return;
  const bool barriers = !one_in(4);
  const uint32_t data = global ? global_cell() : cell(), flag = global ? global_cell() : cell(), b = barrier(1);
  const uint32_t scope = global ? below(4) : below(3);
  const bool fences = one_in(3);
  const uint32_t code = code_of(0, false, !fences, scope);
  if (global)
    emit(list[0], Op::store_global, {data, 0}, 4);
  else
    emit(list[0], Op::store, {data, 0}, 4);
  if (fences) emit(list[0], Op::fence, {one_in(2) ? 8u : 0u});
  if (global)
    emit(list[0], Op::store_ordered_global, {flag, 0, 0, code}, 1);
  else
    emit(list[0], Op::store_ordered, {flag, 0, to, code}, 1);
  if (barriers) {
    emit(list[0], Op::arrive, {b, to}, 1);
    emit(list[1], Op::wait, {b, 0, 0}, 1);
  }
  if (global)
    emit(list[1], Op::load_ordered_global, {flag, 0, 0, code});
  else
    emit(list[1], Op::load_ordered, {flag, 0, to, code});
  if (fences) emit(list[1], Op::fence, {one_in(2) ? 8u : 0u});
  if (!barriers || one_in(2)) maybe_branch(list[1]);
  if (global)
    emit(list[1], Op::load_global, {data, 0, 1});
  else
    emit(list[1], Op::load, {data, 0});
  if (one_in(2)) return;
  if (global)
    emit(list[1], Op::store_ordered_global, {flag, 0, 0, code}, 2);
  else
    emit(list[1], Op::store_ordered, {flag, 0, to, code}, 2);
}

void Builder::sums(bool global) {
  const uint32_t to = rank();
  const std::vector<Who> list = threads(2 + below(2), to);
  if (list.size() < 2 || !room(2, 1)) return;
  const uint32_t target = global ? global_cell() : cell(), b = barrier(static_cast<uint32_t>(list.size()));
  const uint32_t kind = below(14), scope = below(3), read_as = code_of(0, false, one_in(2), scope);
  const bool red = !one_in(4);
  for (const Who& who : list) {
    const uint32_t code = code_of(one_in(8) ? below(16) : kind, red, one_in(3), one_in(6) ? below(4) : scope);
    if (global)
      emit(who, Op::atomic_global, {target, 0, 0, code}, 1 + below(3));
    else
      emit(who, Op::atomic, {target, 0, to, code}, 1 + below(3));
    if (one_in(3)) {
      if (global)
        emit(who, Op::load_ordered_global, {target, 0, 0, read_as});
      else
        emit(who, Op::load_ordered, {target, 0, to, read_as});
    }
    emit(who, Op::arrive, {b, to}, 1);
  }
  const Who& reader = list[below(static_cast<uint32_t>(list.size()))];
  emit(reader, Op::wait, {b, 0, 0}, 1);
  if (global)
    emit(reader, one_in(2) ? Op::load_global : Op::load_ordered_global, {target, 0, 1, read_as});
  else
    emit(reader, one_in(2) ? Op::load : Op::load_ordered, {target, 0, to, read_as});
}

void Builder::async_sums() {
  const uint32_t to = rank();
  const std::vector<Who> list = threads(1 + below(3), to);
  const Who reader = thread(to);
  if (list.empty() || !room(1, 1)) return;
  const uint32_t target = cell(), b = barrier(1), kind = below(6);
  emit(reader, Op::arrive_expect, {b, to}, static_cast<uint32_t>(list.size()) * (kind == 5 ? 8 : 4));
  for (const Who& who : list) emit(who, Op::reduce_async, {target, b, to, one_in(12) ? below(5) : kind}, 1 + below(3));
  emit(reader, Op::wait, {b, 0, one_in(4) ? 0u : 1u}, 1);
  emit(reader, one_in(2) ? Op::load : Op::load_ordered, {target, 0, to, code_of(0, false, true, 1)});
}

void Builder::atomic_beside_reduction(bool global) {
  if (!global && p_.ctas == 1) return atomic_beside_reduction(true);
  const uint32_t to = rank();
  const Who sender = thread(global ? to : other_rank(to)), other = thread(to);
  if (sender == other || !room(2, 2)) return;
  const bool ordered = !one_in(3);
  const uint32_t source = cell(), target = global ? global_cell() : cell(), b = barrier(1), next = barrier(1);
  const uint32_t code = one_in(2) ? 0 : reduction_code(global);
  emit(sender, Op::store_wide, {source}, 1);
  emit(sender, Op::fence, {proxy_shared});
  if (global) {
    emit(sender, Op::bulk_reduce, {target, source}, code);
    emit(sender, Op::bulk_commit);
    emit(sender, Op::bulk_wait, {}, 0);
    if (ordered) {
      emit(sender, Op::arrive, {next, to}, 1);
      emit(other, Op::wait, {next, 0, 0}, 1);
    }
  } else {
    emit(sender, Op::arrive_expect, {b, to}, 16);
    emit(sender, Op::send_reduce, {target, source, b, to}, code);
    if (ordered) emit(other, Op::wait, {b, 0, 0}, 1);
  }
  if (global)
    emit(other, Op::fetch_global, {target, 0, 3, 2}, below(2));
  else
    emit(other, Op::fetch, {target, 0, to, 0}, below(2));
  maybe_branch(other);
  if (!global && !ordered) emit(thread(to), Op::wait, {b, 0, 0}, 1);
}

// ------------------------------------------------------------------------------------------------------------- tests

void Builder::tests() {
  const uint32_t r = rank();
  const std::vector<Who> list = threads(2, r);
  if (list.size() < 2 || !room(3, 1)) return;
  const uint32_t b = barrier(1);
  const auto test = [&](const Who& who, uint32_t phases, uint32_t tries = 0) {
    emit(who, Op::test, {b, tries, 0}, phases);
    maybe_branch(who);
  };
  switch (below(5)) {
    case 0:  // before anybody can complete it, and after
      test(list[0], 1);
      emit(list[0], Op::arrive, {b, r}, 1);
      emit(list[1], Op::wait, {b, 0, 0}, 1);
      test(list[1], 1);
      break;
    case 1: {  // the tester lets the other go
      const uint32_t go = barrier(1);
      test(list[0], 1, below(3));
      emit(list[0], Op::arrive, {go, r}, 1);
      emit(list[1], Op::wait, {go, 0, 0}, 1);
      emit(list[1], Op::arrive, {b, r}, 1);
      break;
    }
    case 2: {  // ordered behind it by another barrier
      const uint32_t go = barrier(1);
      emit(list[1], Op::arrive, {b, r}, 1);
      emit(list[1], Op::arrive, {go, r}, 1);
      emit(list[0], Op::wait, {go, 0, 0}, 1);
      test(list[0], 1, below(3));
      break;
    }
    case 3:  // whatever it answers
      emit(list[1], Op::arrive, {b, r}, 1);
      test(list[0], below(3), below(7));
      break;
    default:
      emit(list[0], Op::test, {b, 0, 0}, 0);
      emit(list[0], Op::arrive, {b, r}, 1);
      emit(list[1], Op::wait, {b, 0, 0}, 1);
      break;
  }
}

void Builder::tokens() {
  const uint32_t r = rank();
  const std::vector<Who> list = threads(2, r);
  if (list.size() < 2 || !room(2, 1)) return;
  const uint32_t b = barrier(2), c = cell();
  emit(list[0], Op::store, {c, 0}, 8);
  switch (below(4)) {
    case 0:
      for (const Who& who : list) emit(who, Op::arrive_token, {b}, 1);
      for (const Who& who : list) emit(who, Op::wait_token, {b});
      emit(list[1], Op::load, {c, 0});
      break;
    case 1: {  // the noComplete arrival comes before the other one
      const uint32_t go = barrier(1);
      emit(list[0], Op::arrive_no_complete, {b}, 1);
      if (one_in(4)) emit(list[0], Op::pending_count);
      emit(list[0], Op::arrive, {go, r}, 1);
      emit(list[1], Op::wait, {go, 0, 0}, 1);
      emit(list[1], Op::arrive, {b, r}, 1);
      emit(list[1], Op::wait, {b, 0, 0}, 1);
      emit(list[1], Op::load, {c, 0});
      break;
    }
    case 2:
      emit(list[0], Op::arrive_no_complete, {b}, 1);
      emit(list[0], Op::arrive, {b, r}, 1);
      emit(list[1], Op::wait, {b, 0, 0}, 1);
      emit(list[1], Op::load, {c, 0});
      break;
    default:
      emit(list[0], Op::arrive_token, {b}, 1);
      if (one_in(3)) emit(list[0], Op::test_token, {b});
      emit(list[1], Op::arrive_token, {b}, 1);
      emit(list[0], Op::wait_token, {b});
      if (one_in(2)) emit(list[0], Op::test_token, {b});
      break;
  }
}

void Builder::drops() {
  const uint32_t r = rank();
  const std::vector<Who> list = threads(2, r);
  if (list.size() < 2 || !room(1, 1)) return;
  const uint32_t b = barrier(2), c = cell();
  emit(list[0], Op::store, {c, 0}, 6);
  if (one_in(3)) {
    emit(list[0], Op::drop_expect, {b, r}, 64);
    emit(list[0], Op::complete, {b, r}, 64);
  } else {
    emit(list[0], Op::drop, {b, r}, 1);
  }
  emit(list[1], Op::arrive, {b, r}, 1);
  emit(list[1], Op::wait, {b, 0, 0}, 1);
  emit(list[1], Op::load, {c, 0});
  if (one_in(2)) {
    emit(list[1], Op::arrive, {b, r}, 1);
    emit(list[1], Op::wait, {b, 0, 0}, 2);
  }
}

void Builder::byte_splits() {
  const uint32_t r = rank();
  const std::vector<Who> list = threads(2 + below(2), r);
  if (!room(1, 1)) return;
  constexpr uint32_t sizes[] = {64, 4096, 300000, 600000, 1000000};
  const uint32_t b = barrier(static_cast<uint32_t>(list.size()));
  for (const Who& who : list) {
    const uint32_t bytes = sizes[below(5)];
    emit(who, Op::expect, {b, r}, bytes);
    const bool first = one_in(2);
    if (first) emit(who, Op::complete, {b, r}, bytes);
    emit(who, Op::arrive, {b, r}, 1);
    if (!first) emit(who, Op::complete, {b, r}, bytes);
  }
  emit(thread(r), Op::wait, {b, 0, 0}, 1);
}

void Builder::used_again() {
  const uint32_t r = rank();
  const std::vector<Who> list = threads(2, r);
  if (list.size() < 2 || !room(1, 1)) return;
  const uint32_t b = barrier(1), c = cell();
  for (uint32_t i = 0; i < 2; ++i) {
    emit(list[0], Op::store, {c, 0}, i);
    emit(list[0], Op::arrive, {b, r}, 1);
    emit(list[1], Op::wait, {b, 0, 0}, 1);
    emit(list[1], Op::load, {c, 0});
    if (i == 1) break;
    for (uint8_t w = 0; w < p_.warps; ++w) emit({static_cast<uint8_t>(r), w, all_lanes}, Op::syncthreads);
    const Who& maker = list[below(2)];
    emit(maker, Op::invalidate, {b});
    emit(maker, Op::init, {b}, 1);
    emit(maker, Op::fence, {9});
    for (uint8_t w = 0; w < p_.warps; ++w) emit({static_cast<uint8_t>(r), w, all_lanes}, Op::syncthreads);
  }
}

void Builder::increments() {
  const uint32_t r = rank();
  const std::vector<Who> list = threads(3, r);
  if (list.size() < 3 || !room(2, 1)) return;
  const uint32_t b = barrier(1), c = cell();
  emit(list[0], Op::cp_async, {c, below(cell_count), 0, 2});
  emit(list[0], Op::cp_arrive, {b, 1});
  if (one_in(3)) {
    emit(list[0], Op::arrive, {b, r}, 1);
  } else {
    if (!one_in(4)) {
      const uint32_t go = barrier(1);
      emit(list[0], Op::arrive, {go, r}, 1);
      emit(list[1], Op::wait, {go, 0, 0}, 1);
    }
    emit(list[1], Op::arrive, {b, r}, 1);
  }
  emit(list[2], Op::wait, {b, 0, 0}, 1);
  emit(list[2], Op::load, {c, below(4)});
}

// ------------------------------------------------------------------------------------------------------ tensor cores

void Builder::tensor_pipeline() {
  if (!room(3, 0)) return;
  const uint32_t r = rank(), rounds = 1 + below(2);
  const Who owner{static_cast<uint8_t>(r), static_cast<uint8_t>(below(p_.warps)), all_lanes};
  const Who reader{static_cast<uint8_t>(r), static_cast<uint8_t>(below(p_.warps)), all_lanes};
  const Who issuer = thread(r), loader = thread(r);
  const uint32_t slot = below(slot_count), columns = one_in(3) ? 64 : 32;
  const uint32_t full = barrier(1), done = barrier(1), empty = barrier(1);
  emit(owner, Op::tmem_alloc, {slot}, columns);
  if (one_in(2)) emit(owner, Op::tmem_relinquish);
  for (uint8_t w = 0; w < p_.warps; ++w) emit({owner.rank, w, all_lanes}, Op::syncthreads);
  for (uint8_t w = 0; w < p_.warps; ++w)
    if (w == owner.warp || w == reader.warp || w == issuer.warp)
      emit({owner.rank, w, all_lanes}, Op::tmem_base, {slot});

  const bool stored = one_in(3);
  emit(loader, Op::arrive_expect, {full, r}, operand_bytes);
  emit(loader, Op::load_operand, {0, 0, full});
  emit(loader, Op::load_operand, {0, 1, full});
  emit(issuer, Op::wait, {full, 0, 0}, 1);
  const bool in_tmem = one_in(3);
  if (in_tmem) emit(issuer, Op::tmem_copy, {4, 0});
  const uint32_t d = below(2) * (in_tmem ? 0 : 4);
  const bool reads_pending = one_in(2);
  for (uint32_t i = 0; i < rounds; ++i) {
    if (i > 0) {
      emit(issuer, Op::wait, {empty, 0, 0}, i);
      emit(issuer, Op::tmem_fence, {1});
    }
    emit(issuer, Op::mma, {d, 0, 0, i > 0 || stored ? 0u : 0u}, in_tmem ? 2 : 0);
    if (one_in(2)) emit(issuer, Op::mma, {d, 0, 0, 1}, (in_tmem ? 2 : 0) + (one_in(3) ? 1 : 0));
    if (one_in(4) && !in_tmem) emit(issuer, Op::mma, {4 - d, 0, 0, 0}, one_in(3) ? 1 : 0);
    if (one_in(6)) emit(issuer, Op::tmem_shift, {d});
    emit(issuer, Op::commit, {done}, 0);
    emit(reader, Op::wait, {done, 0, 0}, i + 1);
    emit(reader, Op::tmem_fence, {1});
    emit(reader, Op::tmem_load, {d + below(4)});
    if (reads_pending) emit(reader, Op::tmem_load, {d});
    emit(reader, Op::tmem_wait_load);
    if (stored) {
      emit(reader, Op::tmem_store, {d}, 5);
      emit(reader, Op::tmem_wait_store);
      if (one_in(2)) {
        emit(reader, Op::tmem_load, {d});
        emit(reader, Op::tmem_wait_load);
      }
    }
    emit(reader, Op::tmem_fence, {0});
    if (i + 1 < rounds) {
      emit(reader, Op::syncwarp, {}, all_lanes);
      emit({reader.rank, reader.warp, 1}, Op::arrive, {empty, r}, 1);
    }
  }
  for (uint8_t w = 0; w < p_.warps; ++w) emit({owner.rank, w, all_lanes}, Op::syncthreads);
  emit(owner, Op::tmem_dealloc, {}, columns);
}

void Builder::allocations() {
  if (!room(2, 0)) return;
  const uint32_t r = rank();
  const std::vector<Who> list = threads(2, r);
  if (list.size() < 2 || list[0].warp == list[1].warp) return;
  const Who a = warp_of(list[0]), b = warp_of(list[1]);
  const bool ordered = !one_in(3), whole = one_in(3), frees_first = whole || one_in(2);
  const uint32_t columns = whole ? 512 : 32u << below(2), go = barrier(1), back = barrier(1);
  const auto use = [&](const Who& who, uint32_t slot) {
    emit(who, Op::tmem_alloc, {slot}, columns);
    if (!one_in(6)) emit(who, Op::syncwarp, {}, all_lanes);
    emit(who, Op::tmem_base, {slot});
    if (one_in(3)) return;
    emit(who, Op::tmem_store, {slot}, 3);
    emit(who, Op::tmem_wait_store);
    emit(who, Op::tmem_load, {slot});
    emit(who, Op::tmem_wait_load);
  };
  const auto tell = [&](const Who& from, const Who& to, uint32_t bar) {
    if (!ordered) return;
    emit(from, Op::syncwarp, {}, all_lanes);
    emit({from.rank, from.warp, 1}, Op::arrive, {bar, r}, 1);
    emit(to, Op::wait, {bar, 0, 0}, 1);
  };
  use(a, 0);
  if (frees_first) emit(a, Op::tmem_dealloc, {}, columns);
  tell(a, b, go);
  use(b, 1);
  emit(b, Op::tmem_dealloc, {}, columns);
  if (frees_first) return;
  tell(b, a, back);
  emit(a, Op::tmem_dealloc, {}, columns);
}

void Builder::wgmma_pipeline() {
  if (!room(2, 0)) return;
  const uint32_t rounds = 1 + below(2);
  const Who producer{0, static_cast<uint8_t>(below(p_.warps)), 1};
  const bool stores = one_in(3), every_lane = one_in(3);
  const uint32_t full = barrier(1), empty = barrier(every_lane ? 128 : 4);
  const auto group = [&](Op op, std::initializer_list<uint32_t> x = {}, uint32_t n = 0) {
    for (uint8_t w = 0; w < 4; ++w) emit({0, w, all_lanes}, op, x, n);
  };
  const uint32_t buffers = 1 + below(2);
  for (uint32_t i = 0; i < rounds; ++i) {
    const uint32_t buffer = i % buffers;
    if (i >= 1) emit(producer, Op::wait, {empty, 0, 0}, i);
    emit(producer, Op::arrive_expect, {full, 0}, operand_bytes);
    emit(producer, Op::load_operand, {buffer, 0, full});
    emit(producer, Op::load_operand, {buffer, 1, full});
    group(!stores && one_in(3) ? Op::wait_before_wgmma : Op::wait, {full, 0, 0}, i + 1);
    if (stores) {
      emit({0, static_cast<uint8_t>(below(4)), 1u << below(32)}, Op::store_operand, {buffer, below(2)}, i);
      group(Op::fence, {proxy_shared});
      for (uint8_t w = 0; w < 4; ++w) emit({0, w, all_lanes}, Op::bar_sync, {9, 4});
    }
    const uint32_t d = below(2), products = 1 + below(2);
    group(Op::wgmma_fence);
    for (uint32_t j = 0; j < products; ++j) group(Op::wgmma, {buffer, buffer, d, j});
    group(Op::wgmma_commit);
    if (one_in(3)) {
      group(Op::wgmma, {buffer, buffer, 1 - d, 0});
      group(Op::wgmma_commit);
      group(Op::wgmma_wait, {}, 1);
    }
    const bool signals = one_in(3) && i + 1 < rounds;
    if (signals) {
      group(Op::wgmma_wait_before_signal, {}, 0);
    } else {
      group(Op::wgmma_wait, {}, 0);
      group(Op::wgmma_read, {d});
    }
    if (stores) group(Op::fence, {proxy_shared});
    if (i + 1 == rounds) continue;
    for (uint8_t w = 0; w < 4; ++w) {
      if (!every_lane) {
        if (one_in(2))
          emit({0, w, all_lanes}, Op::sync_before_signal);
        else
          emit({0, w, all_lanes}, Op::syncwarp, {}, all_lanes);
      }
      emit({0, w, every_lane ? all_lanes : 1u << below(32)}, Op::arrive, {empty, 0}, 1);
    }
  }
}

// --------------------------------------------------------------------------------------------------------- registers

void Builder::register_moves() {
  const uint32_t groups = p_.warps / 4u;
  p_.registers = 128;
  const auto group = [&](uint32_t g, Op op, std::initializer_list<uint32_t> x = {}, uint32_t n = 0) {
    for (uint32_t w = 4 * g; w < 4 * g + 4; ++w) emit({0, static_cast<uint8_t>(w), all_lanes}, op, x, n);
  };
  const auto lead = [&](uint32_t g) { return Who{0, static_cast<uint8_t>(4 * g + below(4)), 1}; };
  const auto hand = [&](uint32_t from, uint32_t to) {
    if (one_in(5)) return;
    if (one_in(3)) {
      const uint32_t id = named_++ % 15 + 1;
      group(from, one_in(2) ? Op::bar_sync : Op::bar_arrive, {id, 8});
      group(to, Op::bar_sync, {id, 8});
    } else if (room(1, 0)) {
      const uint32_t b = barrier(4);
      for (uint32_t w = 4 * from; w < 4 * from + 4; ++w) emit({0, static_cast<uint8_t>(w), 1}, Op::arrive, {b, 0}, 1);
      group(to, Op::wait, {b, 0, 0}, 1);
    }
  };
  constexpr uint32_t low[] = {24, 40, 64, 96};
  std::vector<uint32_t> have(groups, 128);
  uint32_t pool = 0;
  const uint32_t giver = below(groups);
  const uint32_t kept = low[below(4)];
  group(giver, Op::set_registers, {0}, kept);
  pool = 128 - kept;
  have[giver] = kept;
  uint32_t last = giver;
  const uint32_t moves = 1 + below(3);
  for (uint32_t i = 0; i < moves; ++i) {
    const uint32_t g = (last + 1 + below(groups - 1)) % groups;
    if (!one_in(3)) hand(last, g);
    const uint32_t more = std::min(pool, 8 + 8 * below(pool / 8 + 1));
    group(g, Op::set_registers, {1}, std::min(256u, have[g] + more));
    if (one_in(2)) {
      group(g, Op::set_registers, {0}, have[g]);
    } else {
      pool -= std::min(256u, have[g] + more) - have[g];
      have[g] = std::min(256u, have[g] + more);
    }
    last = g;
    if (pool == 0) break;
  }
  if (one_in(3) && room(1, 1)) {
    const uint32_t b = barrier(1), c = cell();
    const Who a = lead(0), z = lead(groups - 1);
    emit(a, Op::store, {c, 0}, 2);
    emit(a, Op::arrive, {b, 0}, 1);
    emit(z, Op::wait, {b, 0, 0}, 1);
    emit(z, Op::load, {c, 0});
  }
}

// ---------------------------------------------------------------------------------------------------- launch control

void Builder::cancels() {
  if (!room(2, 0)) return;
  const bool all = p_.ctas > 1 && one_in(2);
  const Who asker = thread(0);
  const uint32_t b = barrier(1), requests = 1 + below(3), slot = below(slot_count);
  std::vector<Who> readers{asker};
  if (all)
    for (uint32_t r = 1; r < p_.ctas; ++r) readers.push_back(thread(r));
  const uint32_t met = all ? barrier(p_.ctas - 1u) : 0;
  for (uint32_t i = 0; i < requests; ++i) {
    for (const Who& reader : readers) emit(asker, Op::arrive_expect, {b, reader.rank}, 16);
    emit(asker, Op::try_cancel, {slot, b, all ? 1u : 0u});
    for (const Who& reader : readers) {
      emit(reader, Op::wait, {b, 0, 0}, i + 1);
      emit(reader, Op::read_answer, {slot});
      emit(reader, Op::fence, {proxy_shared});
      if (reader != asker) emit(reader, Op::arrive, {met, 0, 1}, 1);
    }
    if (readers.size() > 1) emit(asker, Op::wait, {met, 0, 1}, i + 1);
    // Whoever has seen a request fail must not ask again: the rest is for an answer only.
    const uint32_t each_asker = static_cast<uint32_t>(readers.size()) + 4 + (readers.size() > 1 ? 1 : 0);
    const uint32_t left = requests - 1 - i;
    if (left == 0) continue;
    for (const Who& reader : readers)
      emit(reader, Op::skip, {0, left * (reader == asker ? each_asker : 4) + (left - 1)}, 0);
  }
}

// -------------------------------------------------------------------------------------------------------- dependents

void Builder::dependent_accesses(bool first, bool last) {
  const uint32_t before = below(3), after = 1 + below(3);
  std::vector<Who> list = threads(1 + below(2), rank());
  const auto access = [&](const Who& who) {
    const uint32_t g = below(3);
    // Each cluster has its own cells, and so has each thread: nothing but the order of the grids is in question.
    for (uint32_t cluster = 0; cluster < p_.clusters; ++cluster) {
      const uint32_t at = (3 * cluster + g) % cell_count, word = (who.rank * 2 + (who == list[0] ? 0 : 1)) % 4;
      switch (below(4)) {
        case 0: emit(who, Op::load_global, {at, word, 1}).cluster = static_cast<int8_t>(cluster); break;
        case 1: emit(who, Op::load_global, {at, word, 0}).cluster = static_cast<int8_t>(cluster); break;
        default:
          emit(who, Op::store_global, {at, word, one_in(2) ? 1u : 0u}, 1 + below(9)).cluster =
              static_cast<int8_t>(cluster);
      }
    }
  };
  for (const Who& who : list) {
    if (first)
      for (uint32_t i = 0; i < before; ++i) access(who);
    if (!last && one_in(2)) emit(who, Op::grid_launch);
    emit(who, Op::grid_wait);
    if (!last && one_in(2)) emit(who, Op::grid_launch);
    for (uint32_t i = 0; i < after; ++i) access(who);
    if (!last && one_in(3)) emit(who, Op::grid_launch);
  }
}

}  // namespace warploom::loom::fuzz
