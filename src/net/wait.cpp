#include "bulkhead/net/wait.hpp"

#include <string>

#include "net/calls.hpp"
#include "net/failure.hpp"
#include "net/operation.hpp"

namespace bulkhead::net {

namespace {

struct Way {
  call::Wanted wanted;
  Direction direction;
  const char* function;
  std::string_view what;
};

constexpr Way kReading = {call::kRead, Direction::kRead, "net::wait_readable", "wait to read from"};
constexpr Way kWriting = {call::kWrite, Direction::kWrite, "net::wait_writable",
                          "wait to write to"};

// 0 when ready, -EAGAIN when not yet, else a negated errno.
int look(int fd, const Way& way) noexcept {
  const int count = call::poll_now(fd, way.wanted);
  return count < 0 ? count : count == 0 ? -EAGAIN : 0;
}

// A duplicate of the descriptor is watched, not the descriptor: it is ours alone, so whatever
// happens to the caller's meanwhile, our number cannot come to mean another file.
int wait(int fd, const Way& way, Timeout timeout) {
  const int at_once = look(fd, way);
  if (at_once != -EAGAIN) return at_once;
  if (timeout.nanoseconds() == 0) return -ETIMEDOUT;
  const auto duplicate = adopted(call::duplicate(fd));
  if (!duplicate) return duplicate.error();
  Operation operation(*duplicate, way.direction, way.function);
  return static_cast<int>(
      operation.perform(timeout, [&] { return look(duplicate->number(), way); }));
}

Result<void> wait_or_fail(int fd, const Way& way, Timeout timeout) {
  require_actor(way.function);
  const int result = wait(fd, way, timeout);
  if (result == 0) return {};
  return std::unexpected(failure(way.what, "descriptor " + std::to_string(fd), -result));
}

}  // namespace

Result<void> wait_readable(int fd, Timeout timeout) { return wait_or_fail(fd, kReading, timeout); }
Result<void> wait_writable(int fd, Timeout timeout) { return wait_or_fail(fd, kWriting, timeout); }

}  // namespace bulkhead::net
