#include "plan/plan_cache.hpp"

#include <algorithm>

namespace warploom {
namespace {

constexpr int64_t pair(int64_t high, int64_t low) { return high << 32 | (low & 0xffffffff); }

/// Enumerators and flags in one word, each in eight bits. A caller in another language may hand over any number.
class Packed {
 public:
  template <class T>
  Packed& operator<<(T value) {
    word_ = word_ << 8 | (static_cast<uint64_t>(value) & 0xff);
    return *this;
  }
  int64_t word() const { return static_cast<int64_t>(word_); }

 private:
  uint64_t word_ = 0;
};

bool on_16_bytes(const void* data) { return reinterpret_cast<uintptr_t>(data) % 16 == 0; }

}  // namespace

PlanKey::PlanKey(const GemmProblem& p, const ChipLimits& chip, const GemmConfig* config, int splits) {
  static_assert(sizeof(DType) == 1 && sizeof(Major) == 1 && sizeof(Activation) == 1 && sizeof(BiasAlong) == 1 &&
                sizeof(Scaling) == 1 && sizeof(Chip) == 1);
  // What decides between paths (kernels/gemm_params.cpp), and not the numbers themselves.
  Packed types, paths;
  types << p.a.type << p.b.type << p.c.type << p.d.type << p.bias.type << p.a.major << p.b.major << p.scaling;
  paths << p.bias.along << p.activation << chip.chip << (p.alpha == 1.0f) << (p.beta == 0.0f) << on_16_bytes(p.d.data)
        << on_16_bytes(p.c.data) << (p.c.data == p.d.data);
  words_ = {pair(p.m, p.n),
            pair(p.k, p.batch),
            p.a.stride,
            p.a.batch_stride,
            p.b.stride,
            p.b.batch_stride,
            p.c.stride,
            p.c.batch_stride,
            p.d.stride,
            p.d.batch_stride,
            p.a_scales.stride,
            p.a_scales.batch_stride,
            p.b_scales.stride,
            p.b_scales.batch_stride,
            types.word(),
            paths.word(),
            pair(chip.sms, splits),
            static_cast<int64_t>(reinterpret_cast<uintptr_t>(config))};
}

size_t PlanKey::hash() const {
  uint64_t hash = 0x9e3779b97f4a7c15u;
  for (const int64_t word : words_) {
    hash = (hash ^ static_cast<uint64_t>(word)) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 32;
  }
  return hash;
}

PlanCache& PlanCache::instance() {
  static auto* const cache = new PlanCache;  // never destroyed: plans may be made at exit
  return *cache;
}

std::optional<GemmPlan> PlanCache::find(const PlanKey& key) {
  Set& set = sets_[key.hash() % sets];
  const std::lock_guard lock(set.mutex);
  for (Slot& slot : set.slots) {
    if (slot.key != key) continue;
    slot.used = ++set.moment;
    return slot.plan;
  }
  return std::nullopt;
}

void PlanCache::keep(const PlanKey& key, const GemmPlan& plan) {
  Set& set = sets_[key.hash() % sets];
  const std::lock_guard lock(set.mutex);
  // Two threads may have made it at the same time.
  const auto known =
      std::find_if(set.slots.begin(), set.slots.end(), [&](const Slot& slot) { return slot.key == key; });
  Slot& slot = known != set.slots.end()
                   ? *known
                   : *std::min_element(set.slots.begin(), set.slots.end(),
                                       [](const Slot& x, const Slot& y) { return x.used < y.used; });
  slot.key.reset();  // should the copy fail
  slot.plan = plan;
  slot.key = key;
  slot.used = ++set.moment;
}

}  // namespace warploom
