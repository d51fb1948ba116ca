// Where the load goes. Only addresses of this very machine are accepted: a load generator must not
// be pointed at somebody else's computer.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

namespace echo {

struct Target {
  sockaddr_storage address{};
  socklen_t length = 0;
  std::string text;  ///< As people write it, with the port.

  [[nodiscard]] int family() const { return address.ss_family; }
  [[nodiscard]] const sockaddr* generic() const {
    return reinterpret_cast<const sockaddr*>(&address);
  }
};

/// Nothing unless `host` is 127.0.0.0/8, ::1 or "localhost". No name is looked up.
inline std::optional<Target> loopback_target(const std::string& host, std::uint16_t port) {
  const std::string literal = host == "localhost" ? "127.0.0.1" : host;
  Target target;
  in_addr v4{};
  if (::inet_pton(AF_INET, literal.c_str(), &v4) == 1) {
    if ((ntohl(v4.s_addr) >> 24) != 127) return std::nullopt;
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr = v4;
    std::memcpy(&target.address, &address, sizeof address);
    target.length = sizeof address;
    target.text = literal + ":" + std::to_string(port);
    return target;
  }
  in6_addr v6{};
  if (::inet_pton(AF_INET6, literal.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6)) {
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(port);
    address.sin6_addr = v6;
    std::memcpy(&target.address, &address, sizeof address);
    target.length = sizeof address;
    target.text = "[" + literal + "]:" + std::to_string(port);
    return target;
  }
  return std::nullopt;
}

}  // namespace echo
