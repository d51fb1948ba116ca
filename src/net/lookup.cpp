#include "bulkhead/net/lookup.hpp"

#include <netdb.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "bulkhead/net/stream.hpp"
#include "core/inside.hpp"
#include "core/slab.hpp"
#include "net/failure.hpp"
#include "net/operation.hpp"
#include "net/remaining.hpp"
#include "net/resolver.hpp"

namespace bulkhead::net {

namespace {

constexpr std::string_view kWhat = "look up";
constexpr std::size_t kLongestName = 254;  // RFC 1035, and a dot at the end

Error failed(const std::string& host, int code) { return failure(kWhat, printable(host), code); }

ErrorKind kind_of_lookup(int error) noexcept {
  switch (error) {
    case EAI_NONAME:
    case EAI_NODATA:
    case EAI_ADDRFAMILY:
      return ErrorKind::kNoSuchName;
    case EAI_AGAIN:
    case EAI_FAIL:
      return ErrorKind::kLookupFailed;
    case EAI_MEMORY:
      return ErrorKind::kNoMemory;
    default:
      return ErrorKind::kOther;
  }
}

Error error_of(const LookupRequest& request) {
  if (request.error == EAI_SYSTEM) return failed(request.host, request.system_error);
  const ErrorKind kind = kind_of_lookup(request.error);
  return {kind, 0, 0,
          std::string(kWhat) + " " + printable(request.host) + ": " + std::string(to_string(kind)) +
              " (" + gai_strerror(request.error) + ")"};
}

bool could_be_a_name(std::string_view host) noexcept {
  return !host.empty() && host.size() <= kLongestName &&
         std::none_of(host.begin(), host.end(),
                      [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == 0x7f; });
}

// In the process's memory, since a thread of the resolver's works on it.
std::shared_ptr<LookupRequest> request_for(std::string_view host, std::uint16_t port) {
  const core::BrieflyInside inside;
  auto request = std::make_shared<LookupRequest>();
  request->host = host;
  request->port = port;
  return request;
}

// Blocks the actor until the request is answered. 0, or an errno.
int ask(const std::shared_ptr<LookupRequest>& request, Timeout timeout) {
  const core::Inside inside;
  Resolver& resolver = Resolver::process();
  Resolver::Queue one{request};
  if (!core::Core::current()->may_wait()) return ECANCELED;
  std::uint64_t epoch = 0;
  try {
    epoch = core::Core::begin_wait();
  } catch (const std::logic_error&) {
    throw;  // where it must not block
  } catch (const std::exception&) {
    return ENOMEM;
  }
  core::Slot& slot = *core::Core::current()->running;
  request->waiter = {core::Slab::index_of(slot), epoch};
  struct Withdraw {
    Resolver& resolver;
    const LookupRequest& request;
    ~Withdraw() { resolver.withdraw(request); }
  };
  if (!resolver.submit(one)) {
    static_cast<void>(core::Core::retire_wait(epoch));  // nobody else knows of it
    return EAGAIN;
  }
  const Withdraw withdraw{resolver, *request};
  core::Core::park(epoch, timeout.nanoseconds(), core::WaitsFor::kLookUp);
  if (request->answered) return 0;
  return slot.has(core::Slot::kUnwind) ? ECANCELED : ETIMEDOUT;
}

}  // namespace

Result<std::vector<Endpoint>> lookup(std::string_view host, std::uint16_t port, Timeout timeout) {
  require_actor("net::lookup");
  std::string_view bare = host;
  if (bare.starts_with('[') && bare.ends_with(']')) bare = bare.substr(1, bare.size() - 2);
  if (const auto endpoint = numeric(bare, port)) {
    if (bare.size() == host.size() || endpoint->family() == Endpoint::Family::kV6) {
      return std::vector{*endpoint};
    }
  }
  if (!could_be_a_name(host)) {
    return std::unexpected(bad_address(std::string(kWhat) + " \"" + printable(host) +
                                       "\": neither a host name nor an address"));
  }
  const auto request = request_for(host, port);
  if (const int error = ask(request, timeout); error != 0) {
    return std::unexpected(failed(request->host, error));
  }
  if (request->error != 0) return std::unexpected(error_of(*request));
  return std::vector(request->found);
}

Result<Stream> Stream::connect(std::string_view host, std::uint16_t port, Timeout timeout) {
  require_actor("net::Stream::connect");
  Remaining remaining(timeout);
  const auto endpoints = lookup(host, port, remaining.now());
  if (!endpoints) return std::unexpected(endpoints.error());
  // Each may take its share of what is left, so that one that is silent leaves time for the others.
  for (std::size_t i = 0;; ++i) {
    Timeout share = remaining.now();
    const std::size_t left = endpoints->size() - i;
    if (!share.is_forever()) share = std::chrono::nanoseconds(share.nanoseconds()) / left;
    auto stream = connect((*endpoints)[i], share);
    if (stream || left == 1) return stream;
  }
}

}  // namespace bulkhead::net
