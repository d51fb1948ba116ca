// The leanest TCP echo server on Bulkhead, for comparison with a bare epoll loop (bench/echo): one
// actor a connection, in plain blocking style. A connection whose first byte is X ends by a panic.
#include <sys/resource.h>
#include <unistd.h>

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
  std::array<std::byte, 2048> buffer;
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
    bulkhead::SpawnOptions options;
    options.core = next;
    bulkhead::spawn_with(options, [stream = *std::move(stream)]() mutable { echo(stream); });
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

  bulkhead::Config config;
  config.cores = cores;
  config.bind_cores = false;
  bulkhead::Runtime runtime(config);
  runtime.start();
  runtime.spawn([&] { accept_all(*listener, cores); });
  for (;;) ::pause();
}
