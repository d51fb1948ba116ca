// A core's poller: an epoll instance, and an event counter by which other threads wake the core
// from it. The owner waits; add, remove and wake are for any thread of the domain, or inside its
// gate: the kernel orders them.
#pragma once

#include <cstdint>

#include "machine/clock.hpp"
#include "sync/atomic.hpp"

namespace bulkhead::core {

/// What is told of a descriptor's readiness. Its memory is never unmapped while descriptors are
/// registered anywhere; see net/table.hpp.
struct ReadySink {
  void (*ready)(ReadySink* sink, std::uint32_t events) = nullptr;
};

class Poller {
 public:
  Poller() = default;
  Poller(const Poller&) = delete;
  Poller& operator=(const Poller&) = delete;
  ~Poller() { close(); }

  /// Throws std::system_error when descriptors have run out.
  void open();
  void close() noexcept;

  /// Registers a descriptor, edge-triggered, for reading and writing. Returns an errno, 0 when
  /// done.
  [[nodiscard]] int add(int fd, ReadySink* sink) noexcept;
  void remove(int fd) noexcept;

  /// Waits until something is ready or `timeout` has passed (0: looks only; kNever: no limit), and
  /// tells the sinks. Returns how many were told.
  int wait(machine::Nanoseconds timeout) noexcept;

  /// Any thread: ends the owner's wait.
  void wake() noexcept;

  /// Any thread: would wait return at once?
  [[nodiscard]] bool has_news() const noexcept;

  /// How many descriptors are registered.
  [[nodiscard]] std::uint32_t watched() const noexcept {
    return watched_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] bool is_open() const noexcept { return epoll_ >= 0; }
  /// Tells the openings of all pollers of the process apart; never 0 while open. A descriptor that
  /// was registered under another serial is registered nowhere any more.
  [[nodiscard]] std::uint32_t serial() const noexcept { return serial_; }

 private:
  static constexpr int kBatch = 256;

  int epoll_ = -1;
  int event_ = -1;
  std::uint32_t serial_ = 0;
  sync::RealSync::atomic<std::uint32_t> watched_{0};
};

}  // namespace bulkhead::core
