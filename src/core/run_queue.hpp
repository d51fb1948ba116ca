// The shared queue of a domain, of whichever kind: see sync/run_queue.hpp for the contract.
#pragma once

#include <cstddef>
#include <memory>

#include "bulkhead/config.hpp"
#include "core/slot.hpp"
#include "sync/run_queue.hpp"

namespace bulkhead::core {

class SharedQueue {
 public:
  SharedQueue() = default;
  SharedQueue(const SharedQueue&) = delete;
  SharedQueue& operator=(const SharedQueue&) = delete;
  virtual ~SharedQueue() = default;

  virtual void push(Slot* slot, std::size_t place) noexcept = 0;
  [[nodiscard]] virtual Slot* pop(std::size_t place) noexcept = 0;
  [[nodiscard]] virtual bool empty() const noexcept = 0;

  /// For those that are shared. Throws std::bad_alloc.
  [[nodiscard]] static std::unique_ptr<SharedQueue> make(RunQueue kind, std::size_t cores);
};

template <class Queue>
class SharedQueueOf final : public SharedQueue {
 public:
  explicit SharedQueueOf(std::size_t cores) : queue_(cores) {}

  void push(Slot* slot, std::size_t place) noexcept override { queue_.push(slot, place); }
  Slot* pop(std::size_t place) noexcept override { return queue_.pop(place); }
  [[nodiscard]] bool empty() const noexcept override { return queue_.empty(); }

 private:
  Queue queue_;
};

inline std::unique_ptr<SharedQueue> SharedQueue::make(RunQueue kind, std::size_t cores) {
  using Mutex = sync::MutexQueue<RealSync, Slot, &Slot::next_arrival>;
  using Ring = sync::RingQueue<RealSync, Slot, &Slot::next_arrival>;
  using Striped = sync::StripedQueue<RealSync, Slot, &Slot::next_arrival>;
  switch (kind) {
    case RunQueue::kRing:
      return std::make_unique<SharedQueueOf<Ring>>(cores);
    case RunQueue::kStriped:
      return std::make_unique<SharedQueueOf<Striped>>(cores);
    case RunQueue::kMutex:
    case RunQueue::kPartitioned:
    case RunQueue::kRounds:
      break;
  }
  return std::make_unique<SharedQueueOf<Mutex>>(cores);
}

}  // namespace bulkhead::core
