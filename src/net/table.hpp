// The table of descriptors: what the process knows of each number. Entries are made in chunks when
// a number of theirs is first used, and stay for ever, so that a poller's event for a descriptor
// that was closed meanwhile finds its entry, whoever's it is by then.
#pragma once

#include <cerrno>
#include <cstdint>
#include <expected>

#include "bulkhead/net/descriptor.hpp"
#include "core/core.hpp"
#include "net/readiness.hpp"
#include "net/registration.hpp"

namespace bulkhead::net {

/// Waiters are actors: see sync/wait_word.hpp and core::wake. Watches have slots, too.
struct Actors {
  [[nodiscard]] static bool claim(Waiter waiter) noexcept;
  static void wake(Waiter waiter) noexcept;
  [[nodiscard]] static bool claim(Watcher watcher) noexcept;
  static void wake(Watcher watcher) noexcept;
};

struct alignas(64) Entry : core::ReadySink {
  Readiness<sync::RealSync, Actors> readiness;
  Registration<sync::RealSync> registration;
  int fd = -1;

  /// Has the calling actor's core tell of the descriptor, if no other core does that serves as
  /// well, as it must when `others_wait`. Returns an errno, 0 when done; else the caller calls
  /// not_registered(), outside of any Hold.
  [[nodiscard]] int register_here(bool others_wait) noexcept;
  /// Has those who relied on it try again (registration.hpp, N2).
  void not_registered() noexcept;
  /// Closes the descriptor: for who was told that it must.
  void close_now() noexcept;
  void close(std::uint64_t generation) noexcept;
};

static_assert(sizeof(Entry) == 64);

/// The entry of a number that the kernel has given out. Any thread. Throws std::bad_alloc.
[[nodiscard]] Entry& entry_for(int fd);
/// The same for a number that was given to entry_for before.
[[nodiscard]] Entry& entry_at(int fd) noexcept;

/// Takes over what a system call has returned: a descriptor, or a negated errno, which it passes
/// on.
[[nodiscard]] std::expected<Descriptor, int> adopted(int result);

/// Keeps a descriptor from being closed during a system call that does not wait. Any thread.
class Hold {
 public:
  explicit Hold(const Descriptor& descriptor) noexcept
      : Hold(descriptor.number(), descriptor.generation()) {}
  Hold(int fd, std::uint64_t generation) noexcept;
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  ~Hold();

  /// Null when the descriptor is closed.
  [[nodiscard]] Entry* entry() const noexcept { return entry_; }
  /// Calls call(fd), or returns -EBADF when the descriptor is closed.
  template <class Call>
  [[nodiscard]] int perform(Call call) const {
    return entry_ != nullptr ? call(entry_->fd) : -EBADF;
  }

 private:
  Entry* entry_ = nullptr;
  std::uint64_t generation_;
};

}  // namespace bulkhead::net
