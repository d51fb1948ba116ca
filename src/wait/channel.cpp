// Channels: the operations, and what becomes of those that wait. See channel.hpp for the state.
#include "bulkhead/channel.hpp"

#include <stdexcept>
#include <string>

#include "core/compartment.hpp"
#include "core/core.hpp"
#include "core/inside.hpp"
#include "wait/channel_core.hpp"

namespace bulkhead {

namespace core {

namespace {

using wait::Came;

constexpr std::size_t kMostCapacity = 1'000'000'000;

/// The place of one who waits, for as long as its frame lasts.
class WaitingReceiver {
 public:
  explicit WaitingReceiver(ChannelCore& channel) noexcept : channel_(channel) {}
  WaitingReceiver(const WaitingReceiver&) = delete;
  WaitingReceiver& operator=(const WaitingReceiver&) = delete;
  ~WaitingReceiver() {
    if (!enrolled_) return;  // this actor is being unwound
    channel_.state.withdraw_receiver(node_);
    if (node_.outcome == ChannelOutcome::kDone) put_back(channel_, node_.item);
  }

  [[nodiscard]] Came receive_or_enroll(const Waiter& waiter, Signal*& item) noexcept {
    open_node(node_, waiter, nullptr);
    const Came came = channel_.state.receive_or_enroll(node_, item);
    enrolled_ = came == Came::kNotYet;
    return came;
  }
  [[nodiscard]] ChannelNode& withdraw() noexcept {
    channel_.state.withdraw_receiver(node_);
    enrolled_ = false;
    return node_;
  }

 private:
  ChannelCore& channel_;
  ChannelNode node_;  // NOLINT: open_node sets it
  bool enrolled_ = false;
};

class WaitingSender {
 public:
  WaitingSender(ChannelCore& channel, Signal*& item) noexcept : channel_(channel), item_(item) {}
  WaitingSender(const WaitingSender&) = delete;
  WaitingSender& operator=(const WaitingSender&) = delete;
  ~WaitingSender() {
    if (enrolled_) static_cast<void>(withdraw());
  }

  [[nodiscard]] Came send_or_enroll(const Waiter& waiter) noexcept {
    open_node(node_, waiter, item_);
    const Came came = channel_.state.send_or_enroll(node_);
    enrolled_ = came == Came::kNotYet;
    if (came == Came::kDone) item_ = nullptr;
    return came;
  }
  [[nodiscard]] ChannelOutcome withdraw() noexcept {
    channel_.state.withdraw_sender(node_);
    enrolled_ = false;
    if (node_.outcome == ChannelOutcome::kDone) item_ = nullptr;
    return node_.outcome;
  }

 private:
  ChannelCore& channel_;
  Signal*& item_;
  ChannelNode node_;  // NOLINT: open_node sets it
  bool enrolled_ = false;
};

// Nobody has served a wait that is over.
ChannelError unserved() noexcept {
  return Wait::ending() ? ChannelError::kStopped : ChannelError::kTimedOut;
}

[[gnu::noinline]] Received wait_to_receive(ChannelCore& channel, Timeout timeout) {
  WaitingReceiver receiver(channel);
  Wait wait;
  Signal* item = nullptr;
  const Came came = receiver.receive_or_enroll(wait.waiter(), item);
  if (came != Came::kNotYet) {
    static_cast<void>(wait.retire());  // nobody else knows of it
    return {item, ChannelError::kClosed};
  }
  wait.park(timeout, core::WaitsFor::kChannel);
  const ChannelNode& node = receiver.withdraw();
  if (node.outcome == ChannelOutcome::kPending) return {nullptr, unserved()};
  return {node.item, ChannelError::kClosed};
}

[[gnu::noinline]] std::optional<ChannelError> wait_to_send(ChannelCore& channel, Signal*& item,
                                                           Timeout timeout) {
  WaitingSender sender(channel, item);
  Wait wait;
  const Came came = sender.send_or_enroll(wait.waiter());
  if (came != Came::kNotYet) {
    static_cast<void>(wait.retire());
    if (came == Came::kDone) return std::nullopt;
    return ChannelError::kClosed;
  }
  wait.park(timeout, core::WaitsFor::kChannel);
  switch (sender.withdraw()) {
    case ChannelOutcome::kDone:
      return std::nullopt;
    case ChannelOutcome::kClosed:
      return ChannelError::kClosed;
    case ChannelOutcome::kPending:
      break;
  }
  return unserved();
}

}  // namespace

// --- handles -------------------------------------------------------------------------------------

void check_capacity(std::size_t capacity) {
  if (capacity <= kMostCapacity) return;
  throw std::invalid_argument(
      "bulkhead: make_channel: the capacity is " + std::to_string(capacity) + "; it must be 0 to " +
      std::to_string(kMostCapacity) + ", or left out for as many as memory allows");
}

namespace {

void check_isolation(const char* function) {
  check_shares(function, "send messages instead of values in a channel");
}

}  // namespace

ChannelCore* open_channel(std::size_t capacity) {
  check_isolation("make_channel");
  return new ChannelCore(capacity);
}

void add_sender(ChannelCore& channel) noexcept { channel.ends.add_sender(); }
void add_receiver(ChannelCore& channel) noexcept { channel.ends.add_receiver(); }

void drop_sender(ChannelCore& channel) noexcept {
  if (!channel.ends.drop_sender()) return;
  channel.state.close();
  if (channel.ends.leave()) delete &channel;
}

void drop_receiver(ChannelCore& channel) noexcept {
  if (!channel.ends.drop_receiver()) return;
  Signal* left = channel.state.abandon();
  while (left != nullptr) {
    Signal* next = left->next;
    discard_item(left);
    left = next;
  }
  if (channel.ends.leave()) delete &channel;
}

void close(ChannelCore& channel) noexcept { channel.state.close(); }

void refuse_empty_handle(const char* function) {
  throw std::logic_error(std::string("bulkhead: ") + function +
                         " was called on a handle that is empty: default constructed, or moved "
                         "from");
}

// --- values --------------------------------------------------------------------------------------

Signal* prepare_item(std::size_t bytes, std::uint8_t size_class) {
  check_isolation("Sender::send");
  BrieflyInside inside;
  if (inside.core() == nullptr || size_class == kHeapClass) [[unlikely]]
    return prepare_later(bytes, size_class, Stays::kAsItIs);
  if (inside.core()->pool.dry(size_class)) [[unlikely]]
    inside.goes_on_on(Core::give_way(size_class));
  Core* core = inside.core();
  auto* signal = static_cast<Signal*>(core->pool.take(size_class));
  signal->pool = core->index;
  signal->size_class = size_class;
  return signal;
}

void discard_item(Signal* item) noexcept {
  item->ops->destroy(item, DropCause::kGone);
  withdraw_later(item);
}

void put_back(ChannelCore& channel, Signal* item) noexcept {
  if (!channel.state.put_back(*item)) discard_item(item);
}

// --- operations ----------------------------------------------------------------------------------

bool may_send(const ChannelCore& channel) noexcept { return channel.state.may_send(); }

Received try_receive(ChannelCore& channel) noexcept {
  Signal* item = nullptr;
  const Came came = channel.state.try_receive(item);
  return {item, came == Came::kClosed ? ChannelError::kClosed : ChannelError::kEmpty};
}

Received receive(ChannelCore& channel, Timeout timeout) {
  check_isolation("Receiver::recv");
  Signal* item = nullptr;
  const Came came = channel.state.try_receive(item);
  if (came != Came::kNotYet) return {item, ChannelError::kClosed};
  if (timeout.nanoseconds() == 0) return {nullptr, ChannelError::kTimedOut};
  return wait_to_receive(channel, timeout);
}

std::optional<ChannelError> try_send(ChannelCore& channel, Signal*& item) noexcept {
  switch (channel.state.try_send(*item)) {
    case Came::kDone:
      item = nullptr;
      return std::nullopt;
    case Came::kClosed:
      return ChannelError::kClosed;
    case Came::kNotYet:
      break;
  }
  return ChannelError::kFull;
}

std::optional<ChannelError> send(ChannelCore& channel, Signal*& item, Timeout timeout) {
  const std::optional<ChannelError> error = try_send(channel, item);
  if (error != ChannelError::kFull) return error;
  if (timeout.nanoseconds() == 0) return ChannelError::kTimedOut;
  return wait_to_send(channel, item, timeout);
}

}  // namespace core

std::string_view to_string(ChannelError error) noexcept {
  switch (error) {
    case ChannelError::kClosed:
      return "the channel is closed";
    case ChannelError::kTimedOut:
      return "timed out";
    case ChannelError::kEmpty:
      return "the channel is empty";
    case ChannelError::kFull:
      return "the channel is full";
    case ChannelError::kStopped:
      return "the actor is ending and cannot wait";
  }
  return "unknown";
}

}  // namespace bulkhead
