#include "bulkhead/net/listener.hpp"

#include <utility>

#include "net/calls.hpp"
#include "net/failure.hpp"
#include "net/operation.hpp"

namespace bulkhead::net {

namespace {

std::unexpected<Error> fail(std::string_view what, const Endpoint& where, long negated) {
  return std::unexpected(failure(what, where, static_cast<int>(-negated)));
}

// Errors that belong to one connection, which has gone, not to the listener. See accept(2).
bool concerns_one(int code) noexcept {
  switch (code) {
    case ECONNABORTED:
    case EPROTO:
    case ENOPROTOOPT:
    case EOPNOTSUPP:
    case ENETDOWN:
    case ENETUNREACH:
    case EHOSTDOWN:
    case EHOSTUNREACH:
    case ENONET:
    case EPERM:
    case ETIMEDOUT:
      return true;
    default:
      return false;
  }
}

// As call::accept, but passes over the connections that have gone.
int accept_next(int fd, Endpoint& peer) noexcept {
  int accepted = call::accept(fd, peer);
  while (accepted < 0 && concerns_one(-accepted)) accepted = call::accept(fd, peer);
  return accepted;
}

// 0, or a negated errno.
int prepare(int fd, const Endpoint& at, const ListenOptions& options) noexcept {
  using call::Option;
  int result = call::set(fd, Option::kReuseAddress, options.reuse_address ? 1 : 0);
  if (result == 0 && options.share_port) result = call::set(fd, Option::kSharePort, 1);
  if (result == 0 && at.family() == Endpoint::Family::kV6) {
    result = call::set(fd, Option::kV6Only, options.v6_only ? 1 : 0);
  }
  // What is accepted inherits it.
  if (result == 0) result = call::set(fd, Option::kNoDelay, 1);
  if (result == 0) result = call::bind(fd, at);
  if (result == 0) result = call::listen(fd, options.backlog);
  return result;
}

}  // namespace

Result<Listener> Listener::listen(const Endpoint& at, ListenOptions options) {
  constexpr std::string_view kWhat = "listen on";
  if (options.backlog < 1) return fail(kWhat, at, -EINVAL);
  auto socket = adopted(call::make_socket(at.family()));
  if (!socket) return fail(kWhat, at, socket.error());
  Listener listener;
  int result = prepare(socket->number(), at, options);
  if (result == 0) result = call::local(socket->number(), listener.local_);
  if (result != 0) return fail(kWhat, at, result);
  auto reserve = adopted(call::make_spare());
  if (!reserve) return fail(kWhat, at, reserve.error());
  listener.descriptor_ = *std::move(socket);
  listener.reserve_ = *std::move(reserve);
  return listener;
}

Result<Stream> Listener::accept(Timeout timeout) {
  constexpr std::string_view kWhat = "accept on";
  Endpoint peer;
  Operation operation(descriptor_, Direction::kRead, "net::Listener::accept");
  const int fd = descriptor_.number();
  const long result = operation.perform(timeout, [&] { return accept_next(fd, peer); });
  if (result < 0) return fail(kWhat, local_, result);
  auto socket = adopted(static_cast<int>(result));
  if (!socket) return fail(kWhat, local_, socket.error());
  return Stream(*std::move(socket), peer);
}

Result<std::size_t> Listener::shed(std::size_t most) {
  constexpr std::string_view kWhat = "shed connections on";
  reserve_.close();
  std::size_t count = 0;
  int result = 0;
  for (; count < most; ++count) {
    Endpoint peer;
    result = Hold(descriptor_).perform([&peer](int fd) { return accept_next(fd, peer); });
    if (result < 0) break;
    call::close(result);
  }
  // Whoever is faster may have taken the reserve's place; then there is none until the next time.
  if (auto reserve = adopted(call::make_spare()); reserve) reserve_ = *std::move(reserve);
  if (result < 0 && result != -EAGAIN) return fail(kWhat, local_, result);
  return count;
}

}  // namespace bulkhead::net
