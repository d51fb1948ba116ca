/// Door: an actor at which others wait, without holding their cores, until it is opened.
#pragma once

#include <bulkhead/bulkhead.hpp>

#include <utility>
#include <vector>

namespace support {

class Door {
 public:
  struct Pass {
    using Answer = void;
  };
  struct Open {};
  struct Waiting {};

  void receive(Pass /*message*/, bulkhead::Reply<void> reply) {
    if (open_) {
      reply();
    } else {
      waiting_.push_back(std::move(reply));
    }
  }
  void receive(Open /*message*/) {
    open_ = true;
    for (auto& reply : waiting_) reply();
    waiting_.clear();
  }
  std::size_t receive(Waiting /*message*/) { return waiting_.size(); }

 private:
  bool open_ = false;
  std::vector<bulkhead::Reply<void>> waiting_;
};

}  // namespace support
