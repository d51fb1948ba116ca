// Who sleeps, of those that wait for the same thing: such as cores that share a queue. Whoever has
// put something there wakes one of them.
//
// One bit for each.
//
// | bit    | meaning                                        | transition            | moved by   |
// |--------|------------------------------------------------|-----------------------|------------|
// | Awake  | looks for work, or works, or is being woken    | -> Asleep (announce)  | the sleeper|
// | Asleep | sleeps, or is about to look once more          | -> Awake (wake_up)    | the sleeper|
// |        |                                                | -> Awake (pick)       | any thread |
//
// Rules
//  Z1  A sleeper announces, and looks once more for what it waits for, before it sleeps. Who brings
//      something brings it first, and then picks. A seq_cst fence lies between on both sides, so
//      that of two who do that at once, one sees the other: the sleeper what was brought, or the
//      bringer the sleeper.
//  Z2  Who has picked a sleeper wakes it, once; nobody else does so for what that one has brought.
//  Z3  Who wakes up and was picked may have been awake already, by itself or for another thing that
//      was brought. When it has something to do, it looks whether more is there before it begins,
//      and if so, picks another one. So nothing waits for who is busy while somebody sleeps.
// Checked by sleepers_model.cpp.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "sync/atomic.hpp"

namespace bulkhead::sync {

/// For up to kMost sleepers, numbered from 0.
template <class Sync, std::size_t kMost>
class Sleepers {
 public:
  static constexpr std::size_t kNobody = kMost;

  /// The sleeper; it then looks once more.
  void announce(std::size_t who) noexcept {
    words_[who / 64].fetch_or(bit(who), std::memory_order_relaxed);
    Sync::fence(std::memory_order_seq_cst);  // [pair sleepers.fence]
  }
  /// The sleeper: awake, whoever woke it. True when it was picked: see Z3.
  [[nodiscard]] bool wake_up(std::size_t who) noexcept {
    // Acquire: who was picked sees what was brought [pair sleepers.pick].
    const std::uint64_t before = words_[who / 64].fetch_and(~bit(who), std::memory_order_acquire);
    return (before & bit(who)) == 0;
  }

  /// Who has brought something: the one to be woken, or kNobody.
  [[nodiscard]] std::size_t pick() noexcept {
    Sync::fence(std::memory_order_seq_cst);  // [pair sleepers.fence]
    for (std::size_t i = 0; i < kWords; ++i) {
      std::uint64_t word = words_[i].load(std::memory_order_relaxed);
      while (word != 0) [[unlikely]] {
          const std::size_t who = i * 64 + static_cast<std::size_t>(std::countr_zero(word));
          // Release [pair sleepers.pick].
          word = words_[i].fetch_and(~bit(who), std::memory_order_release);
          if ((word & bit(who)) != 0) return who;
        }
    }
    return kNobody;
  }

 private:
  static constexpr std::size_t kWords = (kMost + 63) / 64;

  static constexpr std::uint64_t bit(std::size_t who) noexcept {
    return std::uint64_t{1} << (who % 64);
  }

  typename Sync::template atomic<std::uint64_t> words_[kWords]{};
};

}  // namespace bulkhead::sync
