/// Senders number their messages; receivers check that none is missing, doubled or early.
#pragma once

#include <bulkhead/bulkhead.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

namespace support {

/// What all receivers of a test have seen.
struct Tally {
  std::atomic<std::uint64_t> handled{0};
  std::atomic<std::uint64_t> wrong{0};  ///< not the number that comes next from this sender
};

template <std::size_t Padding>
struct Padded {
  std::uint32_t sender;
  std::uint32_t number;
  std::array<unsigned char, Padding> padding{};
};

struct Numbered {
  std::uint32_t sender;
  std::uint32_t number;
};

/// To be asked with: answered with its number.
struct NumberedAsk {
  std::uint32_t sender;
  std::uint32_t number;
};

class NumberedReceiver {
 public:
  NumberedReceiver(Tally* tally, std::size_t senders) : tally_(tally), next_(senders, 0) {}

  void receive(Numbered message) { note(message.sender, message.number); }
  std::uint32_t receive(NumberedAsk message) {
    note(message.sender, message.number);
    return message.number;
  }
  template <std::size_t Padding>
  void receive(Padded<Padding> message) {
    note(message.sender, message.number);
  }

 private:
  void note(std::uint32_t sender, std::uint32_t number) {
    if (number != next_[sender]) tally_->wrong.fetch_add(1, std::memory_order_relaxed);
    next_[sender] = number + 1;
    tally_->handled.fetch_add(1, std::memory_order_relaxed);
  }

  Tally* tally_;
  std::vector<std::uint32_t> next_;
};

using Receivers = std::vector<bulkhead::Address<NumberedReceiver>>;

}  // namespace support
