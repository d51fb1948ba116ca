// Fuzz target: whatever one thread does with a channel, in whatever order, comes to what it would
// with a plain queue.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "bulkhead/bulkhead.hpp"

namespace {

using bulkhead::ChannelError;
using bulkhead::Receiver;
using bulkhead::Sender;
using Received = std::expected<int, ChannelError>;
using Sent = std::expected<void, ChannelError>;

void require(bool condition) {
  if (!condition) std::abort();
}

/// The channel, and beside it what it ought to be.
class Pair {
 public:
  explicit Pair(std::optional<std::size_t> capacity)
      : capacity_(capacity.value_or(static_cast<std::size_t>(-1))) {
    auto [sender, receiver] =
        capacity ? bulkhead::make_channel<int>(*capacity) : bulkhead::make_channel<int>();
    senders_.push_back(std::move(sender));
    receivers_.push_back(std::move(receiver));
  }

  void step(std::uint8_t what, std::uint8_t which) {
    switch (what % 12) {
      case 0:
      case 1:
      case 2:
        send(which, [this](const Sender<int>& by) { return by.try_send(number_); });
        break;
      case 3:
        send(which, [this](const Sender<int>& by) {
          return late(by.send_for(number_, std::chrono::seconds(0)));
        });
        break;
      case 4:
        send(which, [this](const Sender<int>& by) { return select_to_send(by); });
        break;
      case 5:
      case 6:
        receive(which, [](const Receiver<int>& by) { return by.try_recv(); });
        break;
      case 7:
        receive(which, [](const Receiver<int>& by) { return select_to_receive(by); });
        break;
      case 8:
        if (senders_.size() < 4 && !senders_.empty()) senders_.push_back(one(senders_, which));
        if (receivers_.size() < 4 && !receivers_.empty()) {
          receivers_.push_back(one(receivers_, which));
        }
        break;
      case 9:
        if (!senders_.empty()) senders_.erase(senders_.begin() + which % senders_.size());
        if (senders_.empty()) closed_ = true;
        break;
      case 10:
        if (which % 4 != 0 || receivers_.empty()) break;
        receivers_.erase(receivers_.begin() + which % receivers_.size());
        if (receivers_.empty()) {
          closed_ = true;
          queue_.clear();
        }
        break;
      default:
        if (which % 8 != 0 || senders_.empty()) break;
        one(senders_, which).close();
        closed_ = true;
    }
  }

 private:
  template <class T>
  static T& one(std::vector<T>& among, std::uint8_t which) {
    return among[which % among.size()];
  }
  static Sent late(Sent sent) {
    if (!sent && sent.error() == ChannelError::kTimedOut)
      return std::unexpected(ChannelError::kFull);
    return sent;
  }

  Sent select_to_send(const Sender<int>& by) {
    Sent sent = std::unexpected(ChannelError::kFull);
    const Sender<int> nobody;
    static_cast<void>(bulkhead::try_select(on_send(nobody, number_, [](Sent) { std::abort(); }),
                                           on_send(by, number_, [&](Sent s) { sent = s; }),
                                           on_send(by, number_, [](Sent) { std::abort(); })));
    return sent;
  }
  static Received select_to_receive(const Receiver<int>& by) {
    Received received = std::unexpected(ChannelError::kEmpty);
    const Receiver<int> nobody;
    static_cast<void>(bulkhead::try_select(on_receive(nobody, [](Received) { std::abort(); }),
                                           on_receive(by, [&](Received r) { received = r; }),
                                           on_receive(by, [](Received) { std::abort(); })));
    return received;
  }

  template <class Send>
  void send(std::uint8_t which, Send send) {
    if (senders_.empty()) return;
    const int before = ++number_;
    const Sent sent = send(one(senders_, which));
    require(number_ == before);
    if (closed_) {
      require(!sent && sent.error() == ChannelError::kClosed);
    } else if (queue_.size() >= capacity_) {
      require(!sent && sent.error() == ChannelError::kFull);
    } else {
      require(sent.has_value());
      queue_.push_back(before);
    }
  }

  template <class Receive>
  void receive(std::uint8_t which, Receive receive) {
    if (receivers_.empty()) return;
    const Received received = receive(one(receivers_, which));
    if (!queue_.empty()) {
      require(received == Received(queue_.front()));
      queue_.pop_front();
    } else {
      require(!received &&
              received.error() == (closed_ ? ChannelError::kClosed : ChannelError::kEmpty));
    }
  }

  std::size_t capacity_;
  std::vector<Sender<int>> senders_;
  std::vector<Receiver<int>> receivers_;
  std::deque<int> queue_;
  bool closed_ = false;
  int number_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size == 0) return 0;
  const std::span input(bytes, size);
  const std::size_t capacity = input[0] % 6;
  Pair pair(capacity == 5 ? std::nullopt : std::optional(capacity));
  for (std::size_t i = 1; i + 1 < size; i += 2) pair.step(input[i], input[i + 1]);
  return 0;
}
