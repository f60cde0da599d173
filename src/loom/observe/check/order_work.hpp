// What is known of asynchronous work: what it may rely on when it is issued, and what those learn who hear of its end.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "loom/observe/check/order_threads.hpp"

namespace warploom::loom::check {

/// What others may learn of work, beside that it is over: that its writes are seen, and by whom.
enum class Tells : uint8_t {
  all,
  end,     ///< no more: it writes nothing (commits, stores, wgmma)
  memory,  ///< ... its writes to shared memory
  tensor,  ///< ... to tensor memory
  plain,   ///< ... to shared memory, by the generic proxy: the async proxy needs a fence (cp.async, st.async)
};
inline constexpr size_t tells_count = 5;

/// The shared memory of a CTA, by its rank; a fence may be about all of them.
using MemoryId = uint32_t;
inline constexpr MemoryId every_memory = ~0u;

/// An asynchronous operation. It may rely on what its issuers knew at issue; its own moment is known to those who learn
/// of its completion.
struct Work {
  Stamp stamp;
  Knowledge relies;
  Tells tells = Tells::all;
  OwnKnowledge covered;  ///< of a commit: what the work tells that it covers
};

/// What a warp may rely on in work that its lanes issue together.
struct WarpIssue {
  KnowledgeRef knows, usable;
  uint32_t warp = 0;
  uint32_t met = 0, met_async = 0;  ///< ... and of itself
  Voices voices;
};

class OrderWork : public OrderThreads {
 public:
  using OrderThreads::learn;
  /// ... to another CTA's: it has a moment of its own, because a fence may be about the thread's own CTA alone.
  Stamp accessed_elsewhere(Agent agent, MemoryId memory);
  /// Of what the thread did itself in its own CTA; of what it did in `memory`; and of work in `memory` that wrote by
  /// the generic proxy and that the thread knows to be over (Tells::plain).
  void fence_proxy_async(Agent agent, MemoryId memory = every_memory);
  /// What work may rely on that the thread issues now. What the thread does next is later than its issue.
  Knowledge issue(Agent issuer);
  /// The same for a warp whose lanes have just met, and done nothing since.
  WarpIssue issue_met(uint32_t warp) const;
  /// Of several warps: what each of them knows.
  static Knowledge issue_together(std::span<const std::shared_ptr<const WarpIssue>> warps);
  Work begin(Knowledge relies, Tells tells = Tells::all) { return begin(std::move(relies), tells, nobody); }
  Work begin(Agent issuer, Tells tells = Tells::all) { return begin(issue(issuer), tells, issuer.warp); }
  /// Ordered by the hardware behind `earlier` as well: takes its slot over.
  Work begin_behind(Knowledge relies, const Work& earlier);
  /// Writes all that `earlier` has written in shared memory: takes its slot over, if the issuer knows that it is over
  /// and the two tell the same.
  Work begin_over(Agent issuer, const Stamp& earlier, Tells tells = Tells::memory);
  /// Of work that tells `plain`: where it writes.
  void writes_to(const Work& work, MemoryId memory);
  /// Its end also tells that of `earlier` (a commit).
  static void include(Work& work, const Work& earlier);
  /// Nothing of it is in flight any more: its slot may be used again by those who know.
  void retire(const Work& work);
  /// What the end of this work tells: that it is over, and what it has written.
  static Knowledge completion(const Work& work);
  /// A thread that learns of it without a barrier (wait_group, wait::ld).
  void learn(Agent agent, const Work& work);
  /// ... of a tcgen05 operation of its own: its later ones may rely on it.
  void learn_tensor(Agent agent, const Work& work);
  void learn_tensor_all(uint32_t warp, const Work& work);
  uint32_t slots() const { return static_cast<uint32_t>(last_tick_.size()); }

 protected:
  explicit OrderWork(uint32_t warps);
  using OrderThreads::learn_tensor;
  static void add_completion(Knowledge& knowledge, const Work& work);
  Work begin_at(Stamp stamp, Knowledge relies);
  Work begin(Knowledge relies, Tells tells, uint32_t warp);
  Stamp take_slot(const Knowledge& relies, Tells tells, uint32_t warp);
  std::vector<uint32_t> last_tick_;  ///< of every slot
  struct SlotUse {
    Tells tells = Tells::all;
    uint32_t warp = nobody;  ///< whose work it is for: who issued one hears of its end before others do
  };
  std::vector<SlotUse> uses_;  ///< ... what its users tell
  /// Slots of retired work, by what it told, and by warp; the last are nobody's.
  std::vector<std::vector<uint32_t>> free_[tells_count];
  /// Slots whose writes and reads the async proxy may not rely on before a fence that is about their memory: of work,
  /// by whoever knows that it is over; of a thread's accesses to another CTA, by that thread.
  struct Plain {
    uint32_t slot = 0;
    MemoryId memory = 0;
    uint32_t warp = nobody;
    uint32_t lane = 0;
    uint32_t at = 0;  ///< the thread's own tick at its latest
  };
  std::vector<Plain> plain_;
  std::vector<bool> is_plain_;  ///< by slot
  struct Fenced {
    KnowledgeRef before, after;
    MemoryId memory = every_memory;
  };
  Fenced fenced_;  ///< the latest: lanes of a warp that know the same have the same to add
  std::unordered_map<uint64_t, size_t> elsewhere_;  ///< by thread and memory: which of `plain_`
};

}  // namespace warploom::loom::check
