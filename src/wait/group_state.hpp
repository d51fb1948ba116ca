// A count, and the line of those who wait until it is zero. A condition variable is one whose count
// is never zero: those who wait are let go one by one, or all.
//
// Rules
//  G1  Who joins the line while the count is not zero is let go when it becomes zero, or by notify.
//  G2  What was done before the count became zero, or before a notify, is seen by who is let go.
// Checked by group_state_model.cpp.
#pragma once

#include <cstdint>

#include "sync/lock.hpp"
#include "wait/line.hpp"

namespace bulkhead::wait {

template <class Sync, class Actors, int kSpins = 100>
class GroupState {
 public:
  using Node = wait::Node<Sync, Actors>;

  explicit GroupState(std::uint64_t count = 0) noexcept : count_(count) {}

  /// Joins the line, if the count is not zero; then the node has to leave.
  [[nodiscard]] bool enter(Node& node) noexcept {
    lock_.lock();
    const bool waits = count_.read() != 0;
    if (waits) line_.append(node);
    lock_.unlock();
    return waits;
  }

  /// After the wait: true when it was let go.
  [[nodiscard]] bool leave(Node& node) noexcept {
    lock_.lock();
    line_.remove(node);
    lock_.unlock();
    return node.granted.read();
  }

  /// Lets the first who waits go, if there is one.
  void notify_one() noexcept {
    Woken<Sync, Actors> woken;
    lock_.lock();
    while (!line_.empty() && !woken.grant_first(line_)) {
    }
    lock_.unlock();
    woken.wake();
  }

  void notify_all() noexcept {
    Woken<Sync, Actors> woken;
    lock_.lock();
    let_all_go(woken);
    lock_.unlock();
    woken.wake();
  }

  /// False, and nothing is done, when the count would be more than `most`.
  [[nodiscard]] bool add(std::uint64_t count, std::uint64_t most) noexcept {
    lock_.lock();
    const bool fits = count <= most - count_.read();
    if (fits) count_.edit() += count;
    lock_.unlock();
    return fits;
  }

  /// False, and nothing is done, when the count would be less than zero.
  [[nodiscard]] bool subtract(std::uint64_t count) noexcept {
    Woken<Sync, Actors> woken;
    lock_.lock();
    const bool fits = count <= count_.read();
    if (fits) count_.edit() -= count;
    if (count_.read() == 0) let_all_go(woken);
    lock_.unlock();
    woken.wake();
    return fits;
  }

  [[nodiscard]] std::uint64_t count() noexcept {
    lock_.lock();
    const std::uint64_t count = count_.read();
    lock_.unlock();
    return count;
  }

  /// Before its end: who has let the last one go may still be at the lock.
  void settle() noexcept { static_cast<void>(count()); }

  [[nodiscard]] bool somebody_waits() noexcept {
    lock_.lock();
    const bool somebody = !line_.empty();
    lock_.unlock();
    return somebody;
  }

 protected:  // for what breaks it, in its model
  void let_all_go(Woken<Sync, Actors>& woken) noexcept {
    while (!line_.empty()) static_cast<void>(woken.grant_first(line_));
  }

  sync::Lock<Sync, kSpins> lock_;
  typename Sync::template plain<std::uint64_t> count_;
  Line<Sync, Actors> line_;
};

}  // namespace bulkhead::wait
