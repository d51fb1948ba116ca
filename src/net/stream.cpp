#include "bulkhead/net/stream.hpp"

#include <cerrno>
#include <string>
#include <utility>

#include "net/calls.hpp"
#include "net/failure.hpp"
#include "net/operation.hpp"

namespace bulkhead::net {

namespace {

std::unexpected<Error> fail(std::string_view what, const Endpoint& where, long negated,
                            std::size_t done = 0) {
  return std::unexpected(failure(what, where, static_cast<int>(-negated), done));
}

std::unexpected<Error> empty(std::string_view what, const Endpoint& where, const char* why) {
  return std::unexpected(
      Error{ErrorKind::kOther, EINVAL, 0, std::string(what) + ' ' + to_string(where) + ": " + why});
}

// A socket that was bound by itself to the very port that it then connects to meets itself, when
// nobody listens there: TCP allows it.
bool met_itself(int fd, const Endpoint& peer) {
  Endpoint local;
  return call::local(fd, local) == 0 && local == peer;
}

// Where the attempt stands: 0 when connected, -EAGAIN while under way, else a negated errno.
int progress(int fd) {
  if (const int error = call::pending_error(fd); error != 0) return -error;
  Endpoint peer;
  const int error = call::peer(fd, peer);
  return error == -ENOTCONN ? -EAGAIN : error;
}

}  // namespace

Result<Stream> Stream::connect(const Endpoint& to, Timeout timeout) {
  constexpr std::string_view kWhat = "connect to";
  require_actor("net::Stream::connect");
  if (to.port() == 0) {
    return std::unexpected(bad_address("connect to " + to_string(to) + ": port 0 is none"));
  }
  auto socket = adopted(call::make_socket(to.family()));
  if (!socket) return fail(kWhat, to, socket.error());
  const int fd = socket->number();
  static_cast<void>(call::set(fd, call::Option::kNoDelay, 1));
  int result = call::connect(fd, to);
  if (result == -EINPROGRESS) {
    Operation operation(*socket, Direction::kWrite, "net::Stream::connect");
    result = static_cast<int>(operation.perform(timeout, [fd] { return progress(fd); }));
  }
  if (result != 0) return fail(kWhat, to, result);
  if (met_itself(fd, to)) return fail(kWhat, to, -ECONNREFUSED);
  return Stream(*std::move(socket), to);
}

Result<std::size_t> Stream::read_some(std::span<std::byte> into, Timeout timeout) {
  constexpr std::string_view kWhat = "read from";
  Operation operation(descriptor_, Direction::kRead, "net::Stream::read_some");
  if (into.empty()) return empty(kWhat, peer_, "there is no room to read into");
  const int fd = descriptor_.number();
  const long count = operation.perform(timeout, [&] { return call::receive(fd, into); });
  if (count < 0) return fail(kWhat, peer_, count);
  const auto got = static_cast<std::size_t>(count);
  if (got != 0 && got < into.size()) operation.ran_dry();
  return got;
}

Result<std::size_t> Stream::write_some(std::span<const std::byte> from, Timeout timeout) {
  constexpr std::string_view kWhat = "write to";
  Operation operation(descriptor_, Direction::kWrite, "net::Stream::write_some");
  if (from.empty()) return empty(kWhat, peer_, "there are no bytes to write");
  const int fd = descriptor_.number();
  const long count = operation.perform(timeout, [&] { return call::send(fd, from); });
  if (count < 0) return fail(kWhat, peer_, count);
  return static_cast<std::size_t>(count);
}

Result<void> Stream::write_all(std::span<const std::byte> from, Timeout timeout) {
  Operation operation(descriptor_, Direction::kWrite, "net::Stream::write_all");
  const int fd = descriptor_.number();
  std::size_t done = 0;
  do {
    const auto rest = from.subspan(done);
    const long count = operation.perform(timeout, [&] { return call::send(fd, rest); });
    if (count < 0) return fail("write to", peer_, count, done);
    done += static_cast<std::size_t>(count);
  } while (done < from.size());
  return {};
}

Result<void> Stream::write_all(std::string_view text, Timeout timeout) {
  return write_all(std::as_bytes(std::span(text)), timeout);
}

Result<void> Stream::shutdown_write() {
  const int result = Hold(descriptor_).perform(&call::shutdown_write);
  if (result != 0) return fail("end the writing to", peer_, result);
  return {};
}

Result<void> Stream::set_no_delay(NoDelay setting) {
  const int result = Hold(descriptor_).perform([setting](int fd) {
    return call::set(fd, call::Option::kNoDelay, setting == NoDelay::kOn ? 1 : 0);
  });
  if (result != 0) return fail("set an option of the connection to", peer_, result);
  return {};
}

Result<Endpoint> Stream::local() const {
  Endpoint endpoint;
  const int result =
      Hold(descriptor_).perform([&endpoint](int fd) { return call::local(fd, endpoint); });
  if (result != 0) return fail("read the local address of the connection to", peer_, result);
  return endpoint;
}

}  // namespace bulkhead::net
