#include "bulkhead/net/endpoint.hpp"

#include <arpa/inet.h>
#include <net/if.h>

#include <charconv>
#include <cstring>
#include <optional>

#include "net/failure.hpp"
#include "net/sockaddr.hpp"

namespace bulkhead::net {

namespace {

std::unexpected<Error> refuse(std::string_view text, std::string_view why) {
  return std::unexpected(bad_address("\"" + printable(text) + "\": " + std::string(why)));
}

template <class Number>
std::optional<Number> number(std::string_view digits) {
  Number value = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value);
  if (error != std::errc() || stop != end || digits.empty()) return std::nullopt;
  if (digits.size() > 1 && digits.front() == '0') return std::nullopt;
  return value;
}

// The number of an interface: its own, or its name's.
std::optional<std::uint32_t> scope_of(std::string_view text) {
  if (const auto given = number<std::uint32_t>(text)) return given;
  char name[IF_NAMESIZE] = {};
  if (text.empty() || text.size() >= sizeof name) return std::nullopt;
  std::memcpy(name, text.data(), text.size());
  const unsigned index = if_nametoindex(name);
  return index != 0 ? std::optional<std::uint32_t>(index) : std::nullopt;
}

}  // namespace

std::optional<Endpoint> numeric(std::string_view host, std::uint16_t port) {
  char text[INET6_ADDRSTRLEN] = {};
  std::uint32_t scope = 0;
  if (const auto percent = host.find('%'); percent != host.npos) {
    const auto found = scope_of(host.substr(percent + 1));
    if (!found) return std::nullopt;
    scope = *found;
    host = host.substr(0, percent);
  }
  if (host.size() >= sizeof text || host.find('\0') != host.npos) return std::nullopt;
  std::memcpy(text, host.data(), host.size());
  Endpoint::Bytes bytes{};
  if (host.find(':') != host.npos) {
    if (inet_pton(AF_INET6, text, bytes.data()) != 1) return std::nullopt;
    return Endpoint(Endpoint::Family::kV6, bytes, port, scope);
  }
  if (scope != 0 || inet_pton(AF_INET, text, bytes.data()) != 1) return std::nullopt;
  return Endpoint(Endpoint::Family::kV4, bytes, port);
}

Result<Endpoint> Endpoint::parse(std::string_view text) {
  const auto colon = text.rfind(':');
  if (colon == text.npos) {
    return refuse(text, "an address and a port are wanted, such as 127.0.0.1:7777 or [::1]:80");
  }
  const auto port = number<std::uint16_t>(text.substr(colon + 1));
  if (!port) return refuse(text, "the port must be a whole number from 0 to 65535");
  std::string_view host = text.substr(0, colon);
  const bool bracketed = host.size() >= 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  const auto endpoint = numeric(host, *port);
  if (!endpoint || (endpoint->family() == Family::kV6) != bracketed) {
    return refuse(text,
                  "that is no numeric address; IPv6 addresses stand in brackets, and names "
                  "are for net::lookup");
  }
  return *endpoint;
}

std::string to_string(const Endpoint& endpoint) {
  char text[INET6_ADDRSTRLEN] = {};
  const bool v4 = endpoint.family() == Endpoint::Family::kV4;
  inet_ntop(v4 ? AF_INET : AF_INET6, endpoint.address().data(), text, sizeof text);
  std::string whole(text);
  if (endpoint.scope() != 0) whole += '%' + std::to_string(endpoint.scope());
  if (!v4) whole = '[' + whole + ']';
  return whole + ':' + std::to_string(endpoint.port());
}

SocketAddress to_system(const Endpoint& endpoint) noexcept {
  SocketAddress address;
  if (endpoint.family() == Endpoint::Family::kV4) {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(endpoint.port());
    std::memcpy(&v4.sin_addr, endpoint.address().data(), sizeof v4.sin_addr);
    std::memcpy(&address.storage, &v4, sizeof v4);
    address.length = sizeof v4;
  } else {
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(endpoint.port());
    v6.sin6_scope_id = endpoint.scope();
    std::memcpy(&v6.sin6_addr, endpoint.address().data(), sizeof v6.sin6_addr);
    std::memcpy(&address.storage, &v6, sizeof v6);
    address.length = sizeof v6;
  }
  return address;
}

Endpoint from_system(const sockaddr* address) noexcept {
  Endpoint::Bytes bytes{};
  if (address->sa_family == AF_INET) {
    sockaddr_in v4;
    std::memcpy(&v4, address, sizeof v4);
    std::memcpy(bytes.data(), &v4.sin_addr, sizeof v4.sin_addr);
    return Endpoint(Endpoint::Family::kV4, bytes, ntohs(v4.sin_port));
  }
  if (address->sa_family == AF_INET6) {
    sockaddr_in6 v6;
    std::memcpy(&v6, address, sizeof v6);
    std::memcpy(bytes.data(), &v6.sin6_addr, sizeof v6.sin6_addr);
    return Endpoint(Endpoint::Family::kV6, bytes, ntohs(v6.sin6_port), v6.sin6_scope_id);
  }
  return {};
}

}  // namespace bulkhead::net
