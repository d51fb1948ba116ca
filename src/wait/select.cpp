// select: one wait, known at several places at once.
//
//  S1  First each arm is tried in order, with no wait open. Only when none is ready a wait is
//      opened, and made known to each.
//  S2  If an arm turns out to be ready while the wait is made known, the select retires the wait
//      and starts again. If it cannot, somebody has served another arm meanwhile: then it parks,
//      and is woken.
//  S3  Whatever ends the wait, it is made known to nobody any more before a function runs, or the
//      frame is left.
//  S4  A close serves no arm: the select starts again, since the same close may have made several
//      arms ready, and the one declared first is to be chosen.
#include "bulkhead/select.hpp"

#include <algorithm>
#include <stdexcept>

#include "core/core.hpp"
#include "core/stop_requests.hpp"
#include "machine/clock.hpp"
#include "wait/channel_core.hpp"

namespace bulkhead::core {

using wait::Came;

// --- arms of channels ----------------------------------------------------------------------------

bool ReceiveArm::attempt() {
  if (channel_ == nullptr) return false;
  const Came came = channel_->state.try_receive(received_.item);
  received_.why = ChannelError::kClosed;
  return came != Came::kNotYet;
}

bool ReceiveArm::enroll(const Waiter& waiter) noexcept {
  if (channel_ == nullptr || enrolled_) return true;
  open_node(node_, waiter, nullptr);
  enrolled_ = channel_->state.enroll_receiver(node_);
  return enrolled_;
}

bool ReceiveArm::withdraw() noexcept {
  if (!enrolled_) return false;
  enrolled_ = false;
  channel_->state.withdraw_receiver(node_);
  received_ = {node_.item, ChannelError::kClosed};
  return node_.outcome == ChannelOutcome::kDone;
}

void ReceiveArm::give_back() noexcept {
  if (received_.item != nullptr) put_back(*channel_, take().item);
}

bool SendArm::attempt() {
  if (channel_ == nullptr || !channel_->state.may_send()) return false;
  error_ = try_send(*channel_, block());
  if (error_ != ChannelError::kFull) return true;
  if (!prepared_) give_back();  // other arms may offer the same value
  return false;
}

void SendArm::prepare(std::span<SelectArm* const> earlier) {
  if (channel_ == nullptr || prepared_) return;
  for (SelectArm* arm : earlier) {
    if (arm->offered() != offered() || arm->never()) continue;
    lender_ = static_cast<SendArm*>(arm);
    break;
  }
  static_cast<void>(block());
  prepared_ = true;
}

bool SendArm::enroll(const Waiter& waiter) noexcept {
  if (channel_ == nullptr || enrolled_) return true;
  open_node(node_, waiter, block());
  enrolled_ = channel_->state.enroll_sender(node_);
  return enrolled_;
}

bool SendArm::withdraw() noexcept {
  if (!enrolled_) return false;
  enrolled_ = false;
  channel_->state.withdraw_sender(node_);
  if (node_.outcome != ChannelOutcome::kDone) return false;
  block() = nullptr;
  error_.reset();
  return true;
}

void SendArm::give_back() {
  prepared_ = false;
  lender_ = nullptr;
  empty_block();
}

// --- requests to stop ----------------------------------------------------------------------------

// All on the actor's own core: it finds the mark, which has ended its wait, when it looks again.
bool StopArm::attempt() { return take_stop_request(); }

bool StopArm::enroll(const Waiter& /*waiter*/) noexcept { return hear_stop_requests(); }

bool StopArm::withdraw() noexcept {
  hear_no_stop_requests();
  return false;
}

// --- select --------------------------------------------------------------------------------------

namespace {

using Arms = std::span<SelectArm* const>;
using Chosen = std::optional<std::size_t>;

/// The arms to which a wait was made known.
class Enrolment {
 public:
  explicit Enrolment(Arms arms) noexcept : arms_(arms) {}
  Enrolment(const Enrolment&) = delete;
  Enrolment& operator=(const Enrolment&) = delete;
  ~Enrolment() { static_cast<void>(withdraw()); }

  /// False when an arm is ready.
  [[nodiscard]] bool enroll(const Waiter& waiter) noexcept {
    for (; count_ < arms_.size(); ++count_) {
      if (!arms_[count_]->enroll(waiter)) return false;
    }
    return true;
  }
  /// Which arm was served.
  [[nodiscard]] Chosen withdraw() noexcept {
    Chosen served;
    for (std::size_t i = 0; i < count_; ++i) {
      if (arms_[i]->withdraw() && !served) served = i;
    }
    count_ = 0;
    return served;
  }

 private:
  Arms arms_;
  std::size_t count_ = 0;
};

class Selection {
 public:
  Selection(Arms arms, Timeout limit) noexcept : arms_(arms), limit_(limit.nanoseconds()) {}
  Selection(const Selection&) = delete;
  Selection& operator=(const Selection&) = delete;
  ~Selection() {
    if (!settled_) give_all_back();
  }

  [[nodiscard]] Chosen attempt() {
    for (std::size_t i = 0; i < arms_.size(); ++i) {
      if (arms_[i]->attempt()) return i;
      if (clocked_ && arms_[i]->limit().nanoseconds() <= elapsed_) return i;
    }
    return std::nullopt;
  }

  /// Until an arm is chosen or time is up; or the caller cannot wait, which ends without a choice.
  [[nodiscard]] Chosen find() {
    for (;;) {
      if (const Chosen ready = attempt()) return ready;
      if (!clocked_) begin();
      if (elapsed_ >= limit_) return std::nullopt;
      if (const Chosen served = wait()) return served;
      if (parked_ && Wait::ending()) return attempt();
      if (nearest_ != machine::kNever) elapsed_ = machine::now() - start_;
    }
  }

  /// The first arm that could ever be ready.
  [[nodiscard]] std::size_t stop() noexcept {
    std::size_t i = 0;
    while (arms_[i]->never()) ++i;
    arms_[i]->stop();
    return i;
  }

  /// The others are done with.
  void settle(Chosen chosen) {
    for (std::size_t i = 0; i < arms_.size(); ++i) {
      if (!chosen || arms_[i] != arms_[*chosen]) arms_[i]->give_back();
    }
    settled_ = true;
  }

 private:
  // Before the first wait.
  void begin() {
    bool any = limit_ != machine::kNever;
    nearest_ = limit_;
    for (const SelectArm* arm : arms_) {
      if (arm->never()) continue;
      any = true;
      nearest_ = std::min(nearest_, arm->limit().nanoseconds());
    }
    if (!any) {
      throw std::logic_error(
          "bulkhead: select was called with no arm that can ever be ready: there are none, or "
          "their handles are empty");
    }
    clocked_ = true;
    if (nearest_ != machine::kNever) start_ = machine::now();
  }

  [[nodiscard]] Chosen wait() {
    for (std::size_t i = 0; i < arms_.size(); ++i) arms_[i]->prepare(arms_.first(i));
    parked_ = false;
    Enrolment enrolment(arms_);
    Wait wait;
    if (enrolment.enroll(wait.waiter())) {
      wait.park(left(), core::WaitsFor::kSelect);
    } else {
      if (wait.retire()) return std::nullopt;
      wait.park(kForever, core::WaitsFor::kSelect);
    }
    parked_ = true;
    return enrolment.withdraw();
  }

  [[nodiscard]] Timeout left() const {
    if (nearest_ == machine::kNever) return kForever;
    return std::chrono::nanoseconds(nearest_ - elapsed_);
  }

  void give_all_back() noexcept {
    for (SelectArm* arm : arms_) {
      try {
        arm->give_back();
      } catch (...) {  // NOLINT: another exception is under way, and a value is lost
      }
    }
  }

  Arms arms_;
  machine::Nanoseconds limit_;
  machine::Nanoseconds nearest_ = machine::kNever;  // that something is due, from the start
  machine::Nanoseconds start_ = 0;
  machine::Nanoseconds elapsed_ = 0;
  bool clocked_ = false;
  bool parked_ = false;  // in the last wait
  bool settled_ = false;
};

}  // namespace

std::size_t select(std::span<SelectArm* const> arms) {
  Selection selection(arms, kForever);
  const Chosen found = selection.find();
  const std::size_t chosen = found ? *found : selection.stop();
  selection.settle(chosen);
  arms[chosen]->run();
  return chosen;
}

std::optional<std::size_t> select_for(std::span<SelectArm* const> arms, Timeout limit) {
  Selection selection(arms, limit);
  const Chosen chosen = selection.find();
  selection.settle(chosen);
  if (chosen) arms[*chosen]->run();
  return chosen;
}

std::optional<std::size_t> try_select(std::span<SelectArm* const> arms) {
  Selection selection(arms, kForever);
  const Chosen chosen = selection.attempt();
  selection.settle(chosen);
  if (chosen) arms[*chosen]->run();
  return chosen;
}

}  // namespace bulkhead::core
