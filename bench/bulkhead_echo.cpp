// The leanest TCP echo server on Bulkhead, for comparison with a bare epoll loop (bench/echo): one
// actor a connection, in plain blocking style. A connection whose first byte is X ends by a panic.
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <utility>

#include "bulkhead/bulkhead.hpp"
#include "bulkhead/net.hpp"

namespace net = bulkhead::net;

namespace {

void echo(net::Stream& stream) {
  std::array<std::byte, 16 * 1024> buffer;
  bool fresh = true;
  for (;;) {
    const auto count = stream.read_some(buffer);
    if (!count || *count == 0) return;
    if (fresh && buffer[0] == std::byte{'X'}) bulkhead::panic("a connection began with X");
    fresh = false;
    if (!stream.write_all(std::span(buffer).first(*count))) return;
  }
}

void accept_all(net::Listener& listener, std::size_t cores) {
  for (std::size_t next = 0;; next = (next + 1) % cores) {
    auto stream = listener.accept();
    if (!stream) {
      std::fprintf(stderr, "bulkhead_echo: %s\n", stream.error().text.c_str());
      if (stream.error().kind != net::ErrorKind::kTooManyFiles || !listener.shed()) return;
      continue;
    }
    bulkhead::spawn_with({.core = next},
                         [stream = *std::move(stream)]() mutable { echo(stream); });
  }
}

void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("TCP echo server on Bulkhead, on 127.0.0.1.");
  std::uint16_t port = 0;
  std::size_t cores = 1;
  app.add_option("-p,--port", port, "TCP port; 0 takes a free one")->capture_default_str();
  app.add_option("-c,--cores", cores, "Scheduler threads")
      ->capture_default_str()
      ->check(CLI::Range(1, 256));
  CLI11_PARSE(app, argc, argv);
  raise_descriptor_limit();

  auto listener = net::Listener::listen(net::Endpoint::loopback(port));
  if (!listener) {
    std::fprintf(stderr, "bulkhead_echo: %s\n", listener.error().text.c_str());
    return 1;
  }
  std::printf("listening on %s\n", to_string(listener->local()).c_str());
  std::fflush(stdout);

  // The stack holds the buffer of a connection, and what send and receive need below it.
  bulkhead::Runtime runtime({.cores = cores, .bind_cores = false});
  runtime.start();
  runtime.spawn([&] { accept_all(*listener, cores); });
  static_cast<void>(runtime.wait_for_idle());
  return 1;
}
