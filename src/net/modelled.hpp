// What the models of this folder share: actors that wait, and a socket of a modelled kernel.
#pragma once

#include <cstdint>

#include "explorer.hpp"
#include "net/readiness.hpp"
#include "sync/parker.hpp"
#include "sync/wait_word.hpp"

namespace bulkhead::net {

using model::ModelSync;

inline constexpr auto kRelaxed = std::memory_order_relaxed;
inline constexpr auto kAcquire = std::memory_order_acquire;
inline constexpr auto kAcqRel = std::memory_order_acq_rel;
inline constexpr auto kSeqCst = std::memory_order_seq_cst;

/// Stands for the slots of two actors, and for core::wake and core::park.
struct ModelActors {
  sync::WaitWord<ModelSync> words[2];
  sync::Parker<ModelSync> parkers[2];

  [[nodiscard]] bool claim(Waiter waiter) { return words[waiter.slot].claim(waiter.epoch); }
  void wake(Waiter waiter) { parkers[waiter.slot].unpark(); }
};

/// Everything seq_cst is only acquire and release.
struct NoSeqCst : ModelSync {
  static constexpr std::memory_order weaker(std::memory_order order, std::memory_order instead) {
    return order == kSeqCst ? instead : order;
  }

  template <class T>
  struct atomic : ModelSync::atomic<T> {
    using Base = ModelSync::atomic<T>;
    using Base::Base;

    [[nodiscard]] T load(std::memory_order order) const { return Base::load(weaker(order, kAcquire)); }
    void store(T value, std::memory_order order) {
      Base::store(value, weaker(order, std::memory_order_release));
    }
    T fetch_or(T value, std::memory_order order) {
      return Base::fetch_or(value, weaker(order, kAcqRel));
    }
    bool compare_exchange_weak(T& expected, T desired, std::memory_order success,
                               std::memory_order failure) {
      return Base::compare_exchange_weak(expected, desired, weaker(success, kAcqRel),
                                         weaker(failure, kAcquire));
    }
  };
};

/// A socket: what the kernel has for the reader, and whether its number is still ours.
struct ModelSocket {
  ModelSync::atomic<std::uint32_t> bytes{0};
  ModelSync::atomic<bool> ended{false};  // the peer's end of the stream, behind the bytes
  ModelSync::atomic<std::uint32_t> closed{0};

  static constexpr int kDry = -1;
  static constexpr int kEnd = -2;

  /// Takes up to `most` bytes: how many, or one of the above.
  int read(std::uint32_t most) {
    model::check(closed.load(kRelaxed) == 0, "no call is made on a number that was closed");
    const bool at_end = ended.load(kAcquire);
    std::uint32_t there = bytes.load(kAcquire);
    while (there != 0) {
      const std::uint32_t taken = there < most ? there : most;
      if (bytes.compare_exchange_strong(there, there - taken, kAcqRel, kAcquire)) {
        return static_cast<int>(taken);
      }
    }
    return at_end ? kEnd : kDry;
  }
  void close() {
    model::check(closed.fetch_add(1, kAcqRel) == 0, "it is closed once");
  }
};

enum class Done : std::uint8_t { kRead, kEnd, kClosed };

/// What operation.cpp does, in the same order.
template <class AnyReadiness>
struct ModelOperation {
  using Bits = AnyReadiness;

  AnyReadiness& readiness;
  ModelActors& actors;
  ModelSocket& socket;
  std::uint64_t generation;
  Direction direction;
  std::uint32_t slot;
  std::uint64_t ready = 0;

  [[nodiscard]] bool enter() {
    Look look = readiness.enter(direction, generation);
    while (look.access == Access::kBusy) {
      ModelSync::spin_hint();
      look = readiness.enter(direction, generation);
    }
    ready = look.ready;
    return look.access == Access::kOpen;
  }

  void leave() {
    if (readiness.leave(direction, generation, ready) == Left::kMustClose) {
      readiness.vacate();
      socket.close();
    }
  }

  /// False when it is closed.
  [[nodiscard]] bool park() {
    ready = 0;
    const std::uint64_t epoch = actors.words[slot].begin();
    const Waiter waiter{slot, epoch};
    Look look = readiness.announce(direction, generation, waiter);
    if (look.access == Access::kOpen && look.ready == 0) {
      actors.parkers[slot].park();
      readiness.withdraw(direction, waiter);
      look = readiness.look(direction, generation);
    } else {
      if (!actors.words[slot].claim(epoch)) actors.parkers[slot].park();
      readiness.withdraw(direction, waiter);
    }
    ready = look.ready;
    return look.access == Access::kOpen;
  }

  /// Stream::read_some, with room for `most` bytes.
  Done read(std::uint32_t most) {
    if (!enter()) return Done::kClosed;
    Done done = Done::kClosed;
    for (bool open = true; open; open = ready != 0 || park()) {
      if (ready == 0) continue;
      const int got = socket.read(most);
      if (got == ModelSocket::kDry) {
        ready = 0;
        continue;
      }
      done = got == ModelSocket::kEnd ? Done::kEnd : Done::kRead;
      if (got != ModelSocket::kEnd && got < static_cast<int>(most) && (ready & Bits::kEnd) == 0) {
        ready = 0;
      } else {
        ready |= Bits::kIn;
      }
      break;
    }
    leave();
    return done;
  }
};

}  // namespace bulkhead::net
