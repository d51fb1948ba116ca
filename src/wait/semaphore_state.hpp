// The state of a semaphore: permits, and the line of those who wait for some.
//
// Rules
//  E1  Permits are conserved: those that are free, those granted, and those given back add up.
//  E2  First come, first served: while somebody waits, nobody takes permits past him; so one that
//      waits for many is not starved by those who want few.
//  E3  Whenever the first in the line could be served, he is: when permits come, and when he who
//      stood before him leaves.
// Checked by semaphore_state_model.cpp.
#pragma once

#include <cstdint>

#include "sync/lock.hpp"
#include "wait/line.hpp"

namespace bulkhead::wait {

template <class Sync, class Actors, int kSpins = 100>
class SemaphoreState {
 public:
  using Node = wait::Node<Sync, Actors>;

  SemaphoreState(std::uint64_t permits, std::uint64_t most) noexcept
      : permits_(permits), most_(most) {}

  [[nodiscard]] bool try_take(std::uint64_t count) noexcept {
    lock_.lock();
    const bool taken = take(count);
    lock_.unlock();
    return taken;
  }

  /// Takes node.what permits, or joins the line; then the node has to leave. True: taken.
  [[nodiscard]] bool enter(Node& node) noexcept {
    lock_.lock();
    const bool taken = take(node.what);
    if (!taken) line_.append(node);
    lock_.unlock();
    return taken;
  }

  /// After the wait: true when the permits are the caller's now.
  [[nodiscard]] bool leave(Node& node) noexcept {
    Woken<Sync, Actors> woken;
    lock_.lock();
    line_.remove(node);
    grant(woken);
    lock_.unlock();
    woken.wake();
    return node.granted.read();
  }

  /// Gives permits back, or adds some. False, and nothing is done, when there would be too many.
  [[nodiscard]] bool give(std::uint64_t count) noexcept {
    Woken<Sync, Actors> woken;
    lock_.lock();
    const bool fits = count <= most_ - permits_.read();
    if (fits) permits_.edit() += count;
    grant(woken);
    lock_.unlock();
    woken.wake();
    return fits;
  }

  [[nodiscard]] std::uint64_t permits() noexcept {
    lock_.lock();
    const std::uint64_t permits = permits_.read();
    lock_.unlock();
    return permits;
  }

  [[nodiscard]] bool somebody_waits() noexcept {
    lock_.lock();
    const bool waits = !line_.empty();
    lock_.unlock();
    return waits;
  }

  [[nodiscard]] std::uint64_t most() const noexcept { return most_; }

 protected:  // for what breaks it, in its model
  [[nodiscard]] bool take(std::uint64_t count) noexcept {
    if (!line_.empty() || permits_.read() < count) return false;
    permits_.edit() -= count;
    return true;
  }

  void grant(Woken<Sync, Actors>& woken) noexcept {
    while (!line_.empty() && line_.first()->what <= permits_.read()) {
      const std::uint64_t count = line_.first()->what;
      if (woken.grant_first(line_)) permits_.edit() -= count;
    }
  }

  sync::Lock<Sync, kSpins> lock_;
  typename Sync::template plain<std::uint64_t> permits_;
  std::uint64_t most_;
  Line<Sync, Actors> line_;
};

}  // namespace bulkhead::wait
