/// What the models of readiness.hpp share: actors, a socket, and a state with both.
#pragma once

#include <cstdint>
#include <memory>

#include "net/readiness.hpp"
#include "sync/modelled.hpp"
#include "sync/parker.hpp"
#include "sync/wait_word.hpp"

namespace bulkhead::net {

using model::ModelSync;
using sync::kAcqRel;
using sync::kAcquire;
using sync::kRelaxed;
using sync::kSeqCst;

/// Stands for the slots of two actors, or the records of two watches, and for core::wake and
/// core::park.
struct ModelActors {
  sync::WaitWord<ModelSync> words[2];
  sync::Parker<ModelSync> parkers[2];
  ModelSync::atomic<bool> displaced[2];

  [[nodiscard]] bool claim(Waiter waiter) {
    return words[waiter.slot].claim_lowest(waiter.epoch, kEpochBits);
  }
  void wake(Waiter waiter) { parkers[waiter.slot].unpark(); }
  [[nodiscard]] bool claim(Watcher watcher) { return claim(Waiter{watcher.record, watcher.epoch}); }
  void wake(Watcher watcher) { parkers[watcher.record].unpark(); }
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
  /// A system call, which orders.
  [[nodiscard]] bool poll() { return bytes.fetch_add(0, kSeqCst) != 0; }
  void close() { model::check(closed.fetch_add(1, kAcqRel) == 0, "it is closed once"); }
};

using Right = Readiness<ModelSync, ModelActors>;

/// A broken copy: a close of it wakes nobody.
struct WakesNobody : Right {
  Closed close(std::uint64_t generation, ModelActors& /*actors*/) {
    ModelActors nobody;
    return Right::close(generation, nobody);
  }
};

template <class AnyReadiness>
struct State {
  AnyReadiness readiness;
  ModelActors actors;
  ModelSocket socket;
  std::uint64_t generation = 0;

  State() { generation = readiness.open(actors).generation; }

  void close() {
    if (readiness.close(generation, actors) == Closed::kMustClose) {
      readiness.vacate();
      socket.close();
    }
  }
};

template <class AnyReadiness>
std::shared_ptr<State<AnyReadiness>> make_state(model::Run& run) {
  auto s = std::make_shared<State<AnyReadiness>>();
  run.name("readiness", s->readiness);
  run.name("actors", s->actors);
  run.name("socket", s->socket);
  return s;
}

}  // namespace bulkhead::net
