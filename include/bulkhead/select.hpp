/// select: waits for whichever of several things comes first.
///
///     const std::size_t chosen = bulkhead::select(
///         on_receive(jobs, [&](auto job) { if (job) run(*job); }),
///         on_send(results, result, [&](auto sent) { if (sent) result = next(); }),
///         bulkhead::after(1s, [] { report_idle(); }));
///
/// Exactly one arm is chosen, and its function is run in the caller, when nothing of the others is
/// left anywhere. Of those that are ready at the same time the one declared first is chosen.
/// A channel that is closed is ready; an empty handle never is.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "bulkhead/channel.hpp"
#include "bulkhead/duration.hpp"
#include "bulkhead/wait.hpp"

namespace bulkhead {

/// One of the things that a select waits for. An arm is used by one select at a time, and may be
/// used again. Given to one twice it is as if it were given once. docs/internals/channels.md tells
/// how to write one.
class SelectArm {
 public:
  SelectArm() = default;
  SelectArm(const SelectArm&) = delete;
  SelectArm& operator=(const SelectArm&) = delete;

  /// True when the arm cannot become ready, whatever happens.
  [[nodiscard]] virtual bool never() const noexcept { return false; }
  /// When it is ready, takes what there is to take, and returns true: it is chosen. No wait is
  /// open: it may run the user's code, allocate, and throw.
  [[nodiscard]] virtual bool attempt() = 0;
  /// Before a wait is opened: the last chance to allocate, and to throw. `earlier` are the arms
  /// that are declared before this one.
  virtual void prepare(std::span<SelectArm* const> /*earlier*/) {}
  /// Makes the wait known to whoever may end it; or returns false when an attempt may succeed now.
  /// Must not block, allocate, or claim. An arm that is never ready returns true.
  [[nodiscard]] virtual bool enroll(const core::Waiter& waiter) noexcept = 0;
  /// After an enroll that returned true, when the wait is over: makes nobody know it any more. True
  /// when who ended the wait has served this arm: it is chosen.
  [[nodiscard]] virtual bool withdraw() noexcept = 0;
  /// Another arm was chosen, or none, or this one's function cannot be run: gives back whatever
  /// attempt, prepare or who served it have taken. Throws what the user's moves throw.
  virtual void give_back() {}
  /// What it would send, for arms that share a value.
  struct Offered {
    const void* value = nullptr;
    const SignalOps* ops = nullptr;
    friend bool operator==(const Offered&, const Offered&) = default;
  };
  [[nodiscard]] virtual Offered offered() const noexcept { return {}; }
  /// It is ready by itself when so much time has passed since the select began. If that is no time
  /// at all, attempt() says so.
  [[nodiscard]] virtual Timeout limit() const noexcept { return kForever; }
  /// It is chosen although it is not ready, because the caller cannot wait: a destructor of an
  /// actor that is to end.
  virtual void stop() noexcept = 0;
  /// It was chosen: runs its function.
  virtual void run() = 0;

 protected:
  ~SelectArm() = default;
};

namespace core {

class ReceiveArm : public SelectArm {
 public:
  explicit ReceiveArm(ChannelCore* channel) noexcept : channel_(channel) {}
  [[nodiscard]] bool never() const noexcept final { return channel_ == nullptr; }
  [[nodiscard]] bool attempt() final;
  [[nodiscard]] bool enroll(const Waiter& waiter) noexcept final;
  [[nodiscard]] bool withdraw() noexcept final;
  void give_back() noexcept final;
  void stop() noexcept final { received_ = {nullptr, ChannelError::kStopped}; }

 protected:
  ~ReceiveArm() { give_back(); }
  [[nodiscard]] Received take() noexcept {
    return {std::exchange(received_.item, nullptr), received_.why};
  }

 private:
  ChannelCore* channel_;
  Received received_{nullptr, ChannelError::kClosed};
  bool enrolled_ = false;
  ChannelNode node_;  // NOLINT: enroll sets it
};

/// Arms of one select that offer the same value share its block: only one of them sends it.
class SendArm : public SelectArm {
 public:
  explicit SendArm(ChannelCore* channel) noexcept : channel_(channel) {}
  [[nodiscard]] bool never() const noexcept final { return channel_ == nullptr; }
  [[nodiscard]] bool attempt() final;
  void prepare(std::span<SelectArm* const> earlier) final;
  [[nodiscard]] bool enroll(const Waiter& waiter) noexcept final;
  [[nodiscard]] bool withdraw() noexcept final;
  void give_back() final;
  void stop() noexcept final { error_ = ChannelError::kStopped; }

 protected:
  ~SendArm() = default;
  [[nodiscard]] std::optional<ChannelError> error() const noexcept { return error_; }

 private:
  /// The block that the value is in, made when first asked for; set to null when it is sent.
  [[nodiscard]] virtual Signal*& own_block() = 0;
  virtual void empty_block() = 0;

  [[nodiscard]] Signal*& block() { return (lender_ != nullptr ? lender_ : this)->own_block(); }

  ChannelCore* channel_;
  SendArm* lender_ = nullptr;  // whose block it uses
  std::optional<ChannelError> error_;
  bool prepared_ = false;
  bool enrolled_ = false;
  ChannelNode node_;  // NOLINT: enroll sets it
};

template <class T, class F>
class ReceiveArmOf final : public ReceiveArm {
 public:
  ReceiveArmOf(ChannelCore* channel, F function) noexcept(std::is_nothrow_move_constructible_v<F>)
      : ReceiveArm(channel), function_(std::move(function)) {}
  void run() override { function_(unpack<T>(take())); }

 private:
  F function_;
};

template <class T, class F>
class SendArmOf final : public SendArm {
 public:
  SendArmOf(ChannelCore* channel, T& value,
            F function) noexcept(std::is_nothrow_move_constructible_v<F>)
      : SendArm(channel), value_(value), function_(std::move(function)) {}

  [[nodiscard]] Offered offered() const noexcept override {
    return {std::addressof(value_), &kItemOps<T>};
  }
  void run() override {
    give_back();
    using Sent = std::expected<void, ChannelError>;
    function_(error() ? Sent(std::unexpected(*error())) : Sent());
  }

 private:
  Signal*& own_block() override {
    if (!outgoing_) outgoing_.emplace(value_);
    return outgoing_->signal();
  }
  void empty_block() override {
    if (!outgoing_) return;
    struct Done {
      std::optional<OutgoingItem<T>>& outgoing;
      ~Done() { outgoing.reset(); }
    } done{outgoing_};
    if (outgoing_->signal() != nullptr) outgoing_->give_back();
  }

  T& value_;
  std::optional<OutgoingItem<T>> outgoing_;
  F function_;
};

/// Ready when the calling actor is asked to stop.
class StopArm : public SelectArm {
 public:
  [[nodiscard]] bool attempt() final;
  [[nodiscard]] bool enroll(const Waiter& waiter) noexcept final;
  [[nodiscard]] bool withdraw() noexcept final;
  void stop() noexcept final {}

 protected:
  ~StopArm() = default;
};

template <class F>
class StopArmOf final : public StopArm {
 public:
  explicit StopArmOf(F function) : function_(std::move(function)) {}
  void run() override { function_(); }

 private:
  F function_;
};

template <class F>
class AfterArm final : public SelectArm {
 public:
  AfterArm(Timeout limit, F function) : limit_(limit), function_(std::move(function)) {}
  [[nodiscard]] bool never() const noexcept override { return limit_.is_forever(); }
  [[nodiscard]] bool attempt() override { return limit_.nanoseconds() == 0; }
  [[nodiscard]] bool enroll(const Waiter& /*waiter*/) noexcept override { return true; }
  [[nodiscard]] bool withdraw() noexcept override { return false; }
  [[nodiscard]] Timeout limit() const noexcept override { return limit_; }
  void stop() noexcept override {}
  void run() override { function_(); }

 private:
  Timeout limit_;
  F function_;
};

[[nodiscard]] std::size_t select(std::span<SelectArm* const> arms);
[[nodiscard]] std::optional<std::size_t> select_for(std::span<SelectArm* const> arms,
                                                    Timeout limit);
[[nodiscard]] std::optional<std::size_t> try_select(std::span<SelectArm* const> arms);

}  // namespace core

/// Ready when a value can be received, or the channel is closed and empty. `function` takes a
/// std::expected<T, ChannelError>. The receiver must outlive the arm.
template <class T, class F>
[[nodiscard]] auto on_receive(const Receiver<T>& receiver, F function) {
  static_assert(std::invocable<F&, std::expected<T, ChannelError>>,
                "bulkhead: the function of on_receive takes a std::expected<T, ChannelError>");
  return core::ReceiveArmOf<T, F>(ChannelAccess::core_of(receiver), std::move(function));
}

/// Ready when `value` can be sent, or the channel is closed. `function` takes a std::expected<void,
/// ChannelError>. Unless the value was sent it is as it was when a function runs. Both must outlive
/// the arm.
template <class T, class F>
[[nodiscard]] auto on_send(const Sender<T>& sender, std::type_identity_t<T>& value, F function) {
  static_assert(std::invocable<F&, std::expected<void, ChannelError>>,
                "bulkhead: the function of on_send takes a std::expected<void, ChannelError>");
  return core::SendArmOf<T, F>(ChannelAccess::core_of(sender), value, std::move(function));
}

/// Ready when so much time has passed since the select began. To be called as bulkhead::after: its
/// arguments do not lead the compiler here, as those of on_receive do. So it is with on_stop.
template <class F>
[[nodiscard]] auto after(Timeout time, F function) {
  static_assert(std::invocable<F&>, "bulkhead: the function of after takes no argument");
  return core::AfterArm<F>(time, std::move(function));
}

/// Ready when the calling actor is asked to stop (request_stop). It is not unwound then: it may go
/// on, and ends when its handler or body returns, or when it is asked again. A shutdown of the
/// runtime unwinds it all the same. In destructors of one that is being unwound already it is
/// ready, and changes nothing. Never ready on threads outside.
template <class F>
[[nodiscard]] auto on_stop(F function) {
  static_assert(std::invocable<F&>, "bulkhead: the function of on_stop takes no argument");
  return core::StopArmOf<F>(std::move(function));
}

template <class A>
concept Arm = std::derived_from<std::remove_reference_t<A>, SelectArm>;

/// Waits until one of the arms is ready, runs its function, and returns its place. What that
/// function throws is passed on. Throws std::logic_error when no arm can ever be ready, or when it
/// has to wait inside NoPreempt. In the destructor of an actor that is to end, and in hooks, it
/// does not wait: the first arm that could ever be ready is chosen, one of a channel with kStopped.
inline std::size_t select(std::span<SelectArm* const> arms) { return core::select(arms); }
template <Arm... Arms>
std::size_t select(Arms&&... arms) {
  SelectArm* const list[] = {&arms..., nullptr};
  return core::select({list, sizeof...(arms)});
}

/// The same, for so long at most: then nullopt, and no function has run.
inline std::optional<std::size_t> select_for(Timeout limit, std::span<SelectArm* const> arms) {
  return core::select_for(arms, limit);
}
template <Arm... Arms>
std::optional<std::size_t> select_for(Timeout limit, Arms&&... arms) {
  SelectArm* const list[] = {&arms..., nullptr};
  return core::select_for({list, sizeof...(arms)}, limit);
}

/// The same, at once or not at all.
inline std::optional<std::size_t> try_select(std::span<SelectArm* const> arms) {
  return core::try_select(arms);
}
template <Arm... Arms>
std::optional<std::size_t> try_select(Arms&&... arms) {
  SelectArm* const list[] = {&arms..., nullptr};
  return core::try_select({list, sizeof...(arms)});
}

}  // namespace bulkhead
