/// Requests: calls whose answer is fetched later.
#pragma once

#include <algorithm>
#include <cstddef>
#include <list>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "bulkhead/channel.hpp"
#include "bulkhead/otp/call.hpp"
#include "bulkhead/select.hpp"

namespace bulkhead {

template <class R, class Label>
class RequestSet;

/// What becomes of a request whose answer has not come in time.
enum class IfLate : std::uint8_t {
  kKeep,     ///< it can be waited for again
  kAbandon,  ///< its answer is dropped when it comes
};

/// A call that was sent by send_request, to be waited for once. Let go, its answer is dropped; the
/// server handles it all the same. Moves, is not copied; one thread or actor at a time uses it.
template <class R>
class Request {
 public:
  Request() = default;
  explicit Request(Receiver<CallResult<R>> receiver) noexcept : receiver_(std::move(receiver)) {}
  Request(Request&&) noexcept = default;
  Request& operator=(Request&&) noexcept = default;

  /// False when it was answered, abandoned or moved from, or never was one.
  [[nodiscard]] bool pending() const noexcept { return static_cast<bool>(receiver_); }

  /// The answer, if it has come; else none, and the request is still pending. Throws
  /// std::logic_error when it is not.
  [[nodiscard]] std::optional<CallResult<R>> check() { return take(std::chrono::nanoseconds(0)); }

  /// Waits for the answer. When that has not come in time: AskError::kTimedOut. In an actor only
  /// the actor waits. Throws std::logic_error when it is not pending.
  [[nodiscard]] CallResult<R> wait_for(Timeout timeout, IfLate late = IfLate::kAbandon) {
    if (auto answer = take(timeout)) return *std::move(answer);
    if (late == IfLate::kAbandon) receiver_ = {};
    return std::unexpected(CallError{AskError::kTimedOut});
  }
  [[nodiscard]] CallResult<R> wait() { return wait_for(kForever); }

 private:
  template <class, class>
  friend class RequestSet;

  [[nodiscard]] std::optional<CallResult<R>> take(Timeout timeout) {
    if (!pending()) {
      throw std::logic_error(
          "bulkhead: Request: it was answered or abandoned already, or never was one");
    }
    return settle(receiver_.recv_for(timeout));
  }

  // What has come of a look at the channel.
  [[nodiscard]] std::optional<CallResult<R>> settle(
      std::expected<CallResult<R>, ChannelError> received) {
    if (!received &&
        (received.error() == ChannelError::kTimedOut || received.error() == ChannelError::kEmpty)) {
      return std::nullopt;
    }
    if (!received && received.error() == ChannelError::kStopped) {
      return CallResult<R>(std::unexpected(CallError{AskError::kStopped}));
    }
    receiver_ = {};
    if (received) return *std::move(received);
    return CallResult<R>(std::unexpected(CallError{AskError::kNoMemory}));
  }

  Receiver<CallResult<R>> receiver_;
};

/// Requests of the same answer, each with a label of the caller's: whichever is answered first is
/// taken first. One thread or actor at a time uses it.
template <class R, class Label = std::size_t>
class RequestSet {
 public:
  struct Answer {
    Label label;
    CallResult<R> result;
  };

  /// Throws std::logic_error when the request is not pending.
  void add(Request<R> request, Label label) {
    if (!request.pending()) {
      throw std::logic_error("bulkhead: RequestSet: that request is not pending");
    }
    requests_.push_back({std::move(label), std::move(request)});
  }
  [[nodiscard]] std::size_t size() const noexcept { return requests_.size(); }
  [[nodiscard]] bool empty() const noexcept { return requests_.empty(); }

  /// An answer that has come, which leaves the set; none when there is none yet.
  [[nodiscard]] std::optional<Answer> check() {
    return wait_for(std::chrono::nanoseconds(0), IfLate::kKeep);
  }
  /// Waits for one. None when the set is empty, or time is up: then the others stay, or, with
  /// kAbandon, are let go.
  [[nodiscard]] std::optional<Answer> wait_for(Timeout timeout, IfLate late = IfLate::kKeep) {
    if (requests_.empty()) return std::nullopt;
    std::optional<std::expected<CallResult<R>, ChannelError>> received;
    const auto place = select_one(timeout, received);
    if (!place) {
      if (late == IfLate::kAbandon) requests_.clear();
      return std::nullopt;
    }
    Entry& entry = requests_[*place];
    auto result = entry.request.settle(*std::move(received));
    if (!result) return std::nullopt;
    Answer answer{std::move(entry.label), *std::move(result)};
    requests_.erase(requests_.begin() + static_cast<std::ptrdiff_t>(*place));
    return answer;
  }

 private:
  struct Entry {
    Label label;
    Request<R> request;
  };

  std::optional<std::size_t> select_one(
      Timeout timeout, std::optional<std::expected<CallResult<R>, ChannelError>>& received) {
    const auto take = [&received](std::expected<CallResult<R>, ChannelError> result) {
      received.emplace(std::move(result));
    };
    using Arm = decltype(on_receive(requests_.front().request.receiver_, take));
    struct Make {  // arms stay where they are made
      const Receiver<CallResult<R>>& receiver;
      decltype(take)& function;
      operator Arm() const { return on_receive(receiver, function); }  // NOLINT
    };
    std::list<Arm> arms;
    std::vector<SelectArm*> all;
    all.reserve(requests_.size());
    for (const Entry& entry : requests_) {
      all.push_back(&arms.emplace_back(Make{entry.request.receiver_, take}));
    }
    return select_for(timeout, all);
  }

  std::vector<Entry> requests_;
};

}  // namespace bulkhead
