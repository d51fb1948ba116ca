/// Descriptor: what streams and listeners own.
#pragma once

#include <cstdint>
#include <utility>

namespace bulkhead {

template <class T>
struct Crossing;

}  // namespace bulkhead

namespace bulkhead::net {

/// A descriptor of the system, owned, non-blocking, and known to the pollers. Move-only; closed
/// when it is destroyed. Whoever closes its number by other means than this takes it from under us.
class Descriptor {
 public:
  Descriptor() = default;
  Descriptor(Descriptor&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), generation_(other.generation_) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      close();
      fd_ = std::exchange(other.fd_, -1);
      generation_ = other.generation_;
    }
    return *this;
  }
  ~Descriptor() { close(); }

  /// Any thread. Those who wait on it are woken and fail with kClosed; the descriptor itself is
  /// closed when the last of them has left. Without effect when it is closed.
  void close() noexcept;
  [[nodiscard]] bool is_open() const noexcept;
  /// The system's number, for setsockopt and the like; -1 when there is none.
  [[nodiscard]] int number() const noexcept { return fd_; }
  [[nodiscard]] std::uint64_t generation() const noexcept { return generation_; }

 private:
  friend Descriptor adopt(int fd);
  friend struct Crossing<Descriptor>;
  Descriptor(int fd, std::uint64_t generation) noexcept : fd_(fd), generation_(generation) {}

  int fd_ = -1;
  std::uint64_t generation_ = 0;
};

/// Before it is handed over to the caller. Throws std::bad_alloc.
void expect();
/// Who has the next generation of an open descriptor is its owner from now on.
void hand_over(int fd, std::uint64_t generation) noexcept;

/// Takes a non-blocking descriptor over, which nobody else closes. Throws std::bad_alloc, and has
/// closed it then.
[[nodiscard]] Descriptor adopt(int fd);

}  // namespace bulkhead::net

/// A descriptor is handed over: it belongs to whoever the message is for.
template <>
struct bulkhead::Crossing<bulkhead::net::Descriptor> {
  static net::Descriptor cross(const net::Descriptor& from) {
    net::expect();
    return net::Descriptor(from.fd_, from.generation_ + 1);
  }
  static void let_go(net::Descriptor& from) noexcept {
    if (from.fd_ >= 0) net::hand_over(from.fd_, from.generation_);
    from.fd_ = -1;
  }
};
