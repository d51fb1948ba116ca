// The TCP front of the store: who accepts clients, and an actor for each of them.
#pragma once

#include <bulkhead/net.hpp>
#include <bulkhead/otp.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <string_view>

// The class of those actors, for those who hear of their ends.
inline constexpr std::string_view kConnectionType = "Connection";

struct Limits {
  std::size_t connections = 1000;
  std::chrono::duration<double> idle = std::chrono::seconds(300);
};

// Accepts, and has the supervisor that is named "connections" start an actor for each client, on
// one core after the other. Each is isolated, so that a bug in what reads the words of strangers
// ends one connection. Ends when the listener is closed.
class Acceptor {
 public:
  // `open` counts the connections; whoever hears that one has ended counts it down.
  Acceptor(bulkhead::net::Listener& listener, std::size_t cores, const Limits& limits,
           std::atomic<std::size_t>& open)
      : listener_(listener), cores_(cores), limits_(limits), open_(open) {}

  void operator()();

 private:
  void take(bulkhead::net::Stream stream);
  void make_room(const bulkhead::net::Error& error);

  bulkhead::net::Listener& listener_;
  std::size_t cores_;
  const Limits& limits_;
  std::atomic<std::size_t>& open_;
  std::size_t accepted_ = 0;
};
