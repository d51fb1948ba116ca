/// Channels: queues of values between any number of senders and receivers, which may be actors and
/// threads outside alike.
///
///     auto [sender, receiver] = bulkhead::make_channel<int>(16);
///     bulkhead::spawn([sender = std::move(sender)] { sender.send(1); });
///     for (int value : receiver) use(value);
///
/// A channel is closed when all of its senders are gone, or by close(). What is in it then can
/// still be received. Where nobody receives any more nothing can be sent, and what is left is
/// destroyed.
/// Who waits is served in order of arrival. An actor that waits does not hold up its core; a thread
/// outside is blocked.
///
/// What has to wait inside NoPreempt throws std::logic_error; without memory for a value, or to
/// wait with, sending and waiting throw std::bad_alloc or std::runtime_error, and nothing was sent.
///
/// A value that was handed to an actor which ends before it could take it goes back to the front.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <new>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "bulkhead/duration.hpp"
#include "bulkhead/message.hpp"
#include "bulkhead/signal.hpp"
#include "bulkhead/timer.hpp"
#include "bulkhead/type_name.hpp"
#include "bulkhead/wait.hpp"

namespace bulkhead {

/// Why nothing was received, or sent.
enum class ChannelError : std::uint8_t {
  kClosed,    ///< it is closed, and to receive also empty
  kTimedOut,  ///< time was up before
  kEmpty,     ///< try_recv: nothing is there now
  kFull,      ///< try_send: no room now; in a rendezvous, nobody waits to receive
  kStopped,   ///< nothing can wait here: in a hook, or a destructor of an actor that is to end
};

[[nodiscard]] std::string_view to_string(ChannelError error) noexcept;

/// The untyped core: values are signals that nobody delivers.
namespace core {

struct ChannelCore;

enum class ChannelOutcome : std::uint8_t { kPending, kDone, kClosed };

/// The place of one who waits at a channel, in its frame. See src/wait/channel.hpp.
struct ChannelNode {
  ChannelNode* next;
  ChannelNode* previous;
  Signal* item;  // to be sent, or received
  Waiter waiter;
  ChannelOutcome outcome;
  bool linked;
};

struct Received {
  Signal* item;  // or null
  ChannelError why;
};

/// With one sender and one receiver. Throws std::bad_alloc.
/// Throws std::invalid_argument.
void check_capacity(std::size_t capacity);
[[nodiscard]] ChannelCore* open_channel(std::size_t capacity);
inline constexpr std::size_t kNoCapacity = static_cast<std::size_t>(-1);  // unbounded

void add_sender(ChannelCore& channel) noexcept;
void add_receiver(ChannelCore& channel) noexcept;
void drop_sender(ChannelCore& channel) noexcept;
void drop_receiver(ChannelCore& channel) noexcept;
void close(ChannelCore& channel) noexcept;

[[noreturn]] void refuse_empty_handle(const char* function);
/// Throws std::logic_error, naming `function`, for an empty handle.
inline ChannelCore& required(ChannelCore* channel, const char* function) {
  if (channel == nullptr) [[unlikely]]
    refuse_empty_handle(function);
  return *channel;
}

/// Memory for a value; an actor that floods gives way to others first. Throws std::bad_alloc.
[[nodiscard]] Signal* prepare_item(std::size_t bytes, std::uint8_t size_class);
/// Might an attempt succeed now?
[[nodiscard]] bool may_send(const ChannelCore& channel) noexcept;
/// What has become the channel's is set to null; also when it throws what unwinds the actor.
[[nodiscard]] std::optional<ChannelError> try_send(ChannelCore& channel, Signal*& item) noexcept;
[[nodiscard]] std::optional<ChannelError> send(ChannelCore& channel, Signal*& item,
                                               Timeout timeout);
[[nodiscard]] Received try_receive(ChannelCore& channel) noexcept;
[[nodiscard]] Received receive(ChannelCore& channel, Timeout timeout);

template <class T>
void destroy_item(Signal* signal, DropCause /*cause*/) {
  payload<T>(signal)->~T();
}

template <class T>
inline constexpr SignalOps kItemOps{nullptr, &destroy_item<T>, type_name<T>()};

/// A value of the caller's in a block, on its way into a channel. Unless it is sent, it goes back
/// to where it came from.
template <class T>
class OutgoingItem {
 public:
  explicit OutgoingItem(T& value) : value_(value), signal_(make(value)) {}
  OutgoingItem(const OutgoingItem&) = delete;
  OutgoingItem& operator=(const OutgoingItem&) = delete;
  ~OutgoingItem() {
    if (signal_ == nullptr) return;
    if constexpr (std::is_nothrow_move_constructible_v<T>) {
      give_back();
    } else {
      try {
        give_back();
      } catch (...) {  // NOLINT: the frame is being left by another exception; the value is lost
      }
    }
  }

  /// To be set to null when it is sent.
  [[nodiscard]] Signal*& signal() noexcept { return signal_; }

  /// Throws what T's move throws; the value is lost then.
  void give_back() {
    struct Release {
      Signal* signal;
      ~Release() {
        payload<T>(signal)->~T();
        withdraw_later(signal);
      }
    } release{std::exchange(signal_, nullptr)};
    T* back = payload<T>(release.signal);
    if constexpr (std::is_move_assignable_v<T> && !std::is_const_v<T>) {
      value_ = std::move(*back);
    } else {
      value_.~T();
      new (std::addressof(value_)) T(std::move(*back));
    }
  }

 private:
  static Signal* make(T& value) {
    constexpr std::size_t bytes = kSignalBytes<T>;
    struct Back {
      Signal* signal;
      ~Back() {
        if (signal != nullptr) withdraw_later(signal);
      }
    } back{prepare_item(bytes, block_class(bytes))};
    back.signal->ops = &kItemOps<T>;
    new (payload<T>(back.signal)) T(std::move(value));
    return std::exchange(back.signal, nullptr);
  }

  T& value_;
  Signal* signal_;
};

/// Takes a value out of its block.
template <class T>
[[nodiscard]] std::expected<T, ChannelError> unpack(Received received) {
  if (received.item == nullptr) return std::unexpected(received.why);
  struct Release {
    Signal* signal;
    ~Release() {
      payload<T>(signal)->~T();
      withdraw_later(signal);
    }
  } release{received.item};
  return std::expected<T, ChannelError>(std::in_place, std::move(*payload<T>(received.item)));
}

/// Calls once(timeout) until it comes to anything but kTimedOut, or `deadline` has passed by its
/// own clock, which may be set meanwhile.
template <class Clock, class Span, class Once>
[[nodiscard]] auto until(std::chrono::time_point<Clock, Span> deadline, Once once) {
  using Deadline = std::chrono::time_point<Clock, Span>;
  if (deadline == Deadline::max()) return once(kForever);
  for (;;) {
    const auto now = Clock::now();
    auto result =
        once(deadline > now ? Timeout(deadline - now) : Timeout(std::chrono::nanoseconds::zero()));
    if (result || result.error() != ChannelError::kTimedOut || Clock::now() >= deadline) {
      return result;
    }
  }
}

}  // namespace core

struct ChannelAccess;

/// The sending end of a channel of Ts: a counted reference, to be copied, moved, kept and sent at
/// will. One that is default constructed or moved from is empty: to send by it throws
/// std::logic_error. Any thread may use a Sender of its own.
template <class T>
class Sender {
 public:
  using Value = T;

  Sender() = default;
  Sender(const Sender& other) noexcept : channel_(other.channel_) {
    if (channel_ != nullptr) core::add_sender(*channel_);
  }
  Sender(Sender&& other) noexcept : channel_(std::exchange(other.channel_, nullptr)) {}
  Sender& operator=(Sender other) noexcept {
    std::swap(channel_, other.channel_);
    return *this;
  }
  ~Sender() {
    if (channel_ != nullptr) core::drop_sender(*channel_);
  }

  /// Waits while the channel is full; in a rendezvous, until a receiver has taken the value. Fails
  /// with kClosed or kStopped, and then destroys the value.
  std::expected<void, ChannelError> send(T value) const { return send_for(value, kForever); }
  /// The same, for so long at most; when it fails, `value` is as it was. (If T's move throws on the
  /// way back, that is thrown, and the value lost.)
  [[nodiscard]] std::expected<void, ChannelError> send_for(T& value, Timeout timeout) const {
    core::ChannelCore& channel = core::required(channel_, "Sender::send");
    core::OutgoingItem<T> item(value);
    return sent(item, core::send(channel, item.signal(), timeout));
  }
  /// The same, until a time of any clock.
  template <class Clock, class Span>
  [[nodiscard]] std::expected<void, ChannelError> send_until(
      T& value, std::chrono::time_point<Clock, Span> deadline) const {
    return core::until(deadline, [&](Timeout timeout) { return send_for(value, timeout); });
  }
  /// At once, or not at all: kFull or kClosed, and `value` is as it was. Never waits.
  [[nodiscard]] std::expected<void, ChannelError> try_send(T& value) const {
    core::ChannelCore& channel = core::required(channel_, "Sender::try_send");
    if (!core::may_send(channel)) return std::unexpected(ChannelError::kFull);
    core::OutgoingItem<T> item(value);
    return sent(item, core::try_send(channel, item.signal()));
  }

  /// For all senders: nothing more is sent, and those who wait to send get kClosed. Without effect
  /// when it is closed.
  void close() const { core::close(core::required(channel_, "Sender::close")); }

  explicit operator bool() const noexcept { return channel_ != nullptr; }
  /// Of the same channel?
  friend bool operator==(const Sender&, const Sender&) = default;

 private:
  friend struct ChannelAccess;
  explicit Sender(core::ChannelCore* channel) noexcept : channel_(channel) {}

  static std::expected<void, ChannelError> sent(core::OutgoingItem<T>& item,
                                                std::optional<ChannelError> error) {
    if (!error) return {};
    item.give_back();
    return std::unexpected(*error);
  }

  core::ChannelCore* channel_ = nullptr;
};

/// The receiving end: as Sender. Each value is received once, by one of the receivers.
template <class T>
class Receiver {
 public:
  using Value = T;

  Receiver() = default;
  Receiver(const Receiver& other) noexcept : channel_(other.channel_) {
    if (channel_ != nullptr) core::add_receiver(*channel_);
  }
  Receiver(Receiver&& other) noexcept : channel_(std::exchange(other.channel_, nullptr)) {}
  Receiver& operator=(Receiver other) noexcept {
    std::swap(channel_, other.channel_);
    return *this;
  }
  ~Receiver() {
    if (channel_ != nullptr) core::drop_receiver(*channel_);
  }

  /// Waits for a value. Fails with kClosed or kStopped. If T's move throws, the value is lost.
  [[nodiscard]] std::expected<T, ChannelError> recv() const { return recv_for(kForever); }
  /// The same, for so long at most: kTimedOut.
  [[nodiscard]] std::expected<T, ChannelError> recv_for(Timeout timeout) const {
    return core::unpack<T>(core::receive(core::required(channel_, "Receiver::recv"), timeout));
  }
  /// The same, until a time of any clock.
  template <class Clock, class Span>
  [[nodiscard]] std::expected<T, ChannelError> recv_until(
      std::chrono::time_point<Clock, Span> deadline) const {
    return core::until(deadline, [this](Timeout timeout) { return recv_for(timeout); });
  }
  /// At once, or not at all: kEmpty or kClosed. Never waits.
  [[nodiscard]] std::expected<T, ChannelError> try_recv() const {
    return core::unpack<T>(core::try_receive(core::required(channel_, "Receiver::try_recv")));
  }

  explicit operator bool() const noexcept { return channel_ != nullptr; }
  friend bool operator==(const Receiver&, const Receiver&) = default;

  struct End {};
  /// For range-for: receives until the channel is closed and empty, or nothing can be waited for
  /// (ChannelError::kStopped). The value stays where it came in until the next one is received.
  class Iterator {
   public:
    explicit Iterator(const Receiver& receiver) : receiver_(receiver) { receive(); }
    Iterator(const Iterator&) = delete;
    Iterator& operator=(const Iterator&) = delete;
    ~Iterator() { let_go(); }
    Iterator& operator++() {
      let_go();
      receive();
      return *this;
    }
    [[nodiscard]] T& operator*() noexcept { return *payload<T>(item_); }
    friend bool operator==(const Iterator& at, End) noexcept { return at.item_ == nullptr; }

   private:
    void receive() {
      core::ChannelCore& channel = core::required(receiver_.channel_, "Receiver::begin");
      item_ = core::receive(channel, kForever).item;
    }
    void let_go() noexcept {
      if (Signal* item = std::exchange(item_, nullptr); item != nullptr) {
        payload<T>(item)->~T();
        core::withdraw_later(item);
      }
    }

    const Receiver& receiver_;
    Signal* item_ = nullptr;
  };
  [[nodiscard]] Iterator begin() const { return Iterator(*this); }
  [[nodiscard]] End end() const noexcept { return {}; }

 private:
  friend struct ChannelAccess;
  explicit Receiver(core::ChannelCore* channel) noexcept : channel_(channel) {}

  core::ChannelCore* channel_ = nullptr;
};

/// Both ends of a new channel.
template <class T>
struct Channel {
  Sender<T> sender;
  Receiver<T> receiver;
};

template <class T>
inline constexpr bool kSendable<Sender<T>> = true;
template <class T>
inline constexpr bool kSendable<Receiver<T>> = true;

/// For this library: makes handles, and looks into them.
struct ChannelAccess {
  template <class T>
  [[nodiscard]] static Channel<T> make(std::size_t capacity) {
    core::ChannelCore* channel = core::open_channel(capacity);
    return {Sender<T>(channel), Receiver<T>(channel)};
  }
  template <class End>
  [[nodiscard]] static core::ChannelCore* core_of(const End& end) noexcept {
    return end.channel_;
  }
};

/// A channel that holds as many values as memory allows. Throws std::bad_alloc.
template <class T>
[[nodiscard]] Channel<T> make_channel() {
  check_sendable<T>();
  return ChannelAccess::make<T>(core::kNoCapacity);
}
/// One that holds up to `capacity` values, 1,000,000,000 at most. With 0 it is a rendezvous: who
/// sends waits until a receiver has taken the value. Throws std::invalid_argument for more, which a
/// negative number is, too; std::bad_alloc.
template <class T>
[[nodiscard]] Channel<T> make_channel(std::size_t capacity) {
  check_sendable<T>();
  core::check_capacity(capacity);
  return ChannelAccess::make<T>(capacity);
}

}  // namespace bulkhead
