// A TCP echo server, as one would run it: a tree of supervisors, one actor a connection, bounded
// buffers, an idle deadline, a limit of connections, and an orderly end. What a client sends comes
// back. Each connection is isolated: one whose first byte is X makes its actor write to a null
// pointer, to show that only that connection ends.
//
//     root                 starts again what has ended, and what was started after it
//       connections        a supervisor: one temporary child for each client
//       listener           accepts
//       statistics         a line each second
//
//     echo [--port N] [--connections N] [--idle SECONDS] [--drain SECONDS] [--cores N]
//          [--kill-every SECONDS]
//
// The last is for trials: it kills actors of the tree at random, to show that the service goes on.
//
// Each second in which something has changed it prints what it does, and a line for each of the
// first traps. Ctrl-C or SIGTERM: it accepts no more, lets connections finish, closes those that do
// not, and exits with 0. A second signal ends it at once.
#include <bulkhead/net.hpp>
#include <bulkhead/otp.hpp>

#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <utility>

namespace net = bulkhead::net;
using namespace std::chrono_literals;

namespace {

struct Settings {
  std::uint16_t port = 7777;
  std::size_t connections = 10'000;
  std::chrono::duration<double> idle = 60s;
  std::chrono::duration<double> drain = 5s;
  std::optional<std::size_t> cores;
  std::optional<std::chrono::duration<double>> kill_every;
};

constexpr unsigned kMostTold = 5;  // of the traps of a second, each in a line

struct Counts {
  std::atomic<std::uint64_t> open{0};  // counted down when its actor has ended, however that was
  std::atomic<std::uint64_t> accepted{0};
  std::atomic<std::uint64_t> shed{0};
  std::atomic<std::uint64_t> requests{0};
  std::atomic<std::uint64_t> killed{0};
  std::atomic<unsigned> told{0};  // traps, in this second
};

// One client. It owns its stream, which is closed with it, however it ends.
class Connection {
 public:
  Connection(net::Stream stream, std::chrono::duration<double> idle,
             std::reference_wrapper<Counts> counts)
      : stream_(std::move(stream)), idle_(idle), counts_(counts) {}

  void started() {
    serve();
    bulkhead::this_actor::stop();
  }

 private:
  // Until the client ends the connection, breaks it off, or is silent for too long.
  void serve() {
    std::array<std::byte, 4096> buffer;
    for (bool first = true;; first = false) {
      const auto count = stream_.read_some(buffer, idle_);
      if (!count || *count == 0) return;
      if (first && buffer[0] == std::byte{'X'}) *no_object = 1;  // a bug
      if (!stream_.write_all(std::span(buffer).first(*count), idle_)) return;
      counts_.requests.fetch_add(1, std::memory_order_relaxed);
    }
  }

  static inline int* volatile no_object = nullptr;

  net::Stream stream_;
  std::chrono::duration<double> idle_;
  Counts& counts_;
};

// Accepts, and has an actor made of each connection, on one core after the other.
class Acceptor {
 public:
  Acceptor(net::Listener& listener, std::size_t cores, const Settings& settings, Counts& counts)
      : listener_(listener), cores_(cores), settings_(settings), counts_(counts) {}

  void operator()() {
    for (;;) {
      auto stream = listener_.accept();
      if (stream) {
        take(*std::move(stream));
      } else if (stream.error().kind == net::ErrorKind::kTooManyFiles) {
        make_room(stream.error());
      } else {
        if (stream.error().kind != net::ErrorKind::kClosed) complain(stream.error());
        return;
      }
    }
  }

 private:
  void take(net::Stream stream) {
    if (counts_.open >= settings_.connections) {
      ++counts_.shed;  // and closed
      return;
    }
    ++counts_.accepted;
    bulkhead::SpawnOptions options;
    options.core = counts_.accepted % cores_;
    options.linked = true;
    options.isolated = bulkhead::Isolation{.heap_limit = std::size_t{64} << 10};
    const bulkhead::SupervisorRef connections(bulkhead::whereis("connections"));
    const auto started = connections.start_child(
        [taken = std::make_shared<net::Stream>(std::move(stream)), options, &settings = settings_,
         &counts = counts_]() -> bulkhead::ChildStart {
          ++counts.open;
          return bulkhead::spawn_with<Connection>(options, std::move(*taken), settings.idle,
                                                  std::ref(counts))
              .pid();
        });
    if (!started) std::fprintf(stderr, "echo: %s\n", to_string(started.error()).c_str());
  }

  // Without descriptors nothing can be accepted, and those who knock would wait for long.
  void make_room(const net::Error& error) {
    complain(error);
    if (const auto shed = listener_.shed()) counts_.shed += *shed;
    bulkhead::this_actor::sleep_for(100ms);
  }

  static void complain(const net::Error& error) {
    std::fprintf(stderr, "echo: %s\n", error.text.c_str());
  }

  net::Listener& listener_;
  std::size_t cores_;
  const Settings& settings_;
  Counts& counts_;
};

// For trials. As long as there are clients, it kills one connection after the other, and each
// twentieth time one of the root's children in its place: which at ten kills a second is as often
// as the root puts up with.
class Killer {
 public:
  Killer(bulkhead::SupervisorRef root, std::chrono::duration<double> every, Counts& counts)
      : root_(root), every_(every), counts_(counts) {}

  void operator()() {
    for (;;) {
      bulkhead::this_actor::sleep_for(every_);
      const bulkhead::SupervisorRef connections(bulkhead::whereis("connections"));
      auto victims = connections.which_children();
      if (!victims || victims->empty()) continue;
      if (counts_.killed % 20 == 19) victims = root_.which_children();
      if (!victims || victims->empty()) continue;
      std::uniform_int_distribution<std::size_t> any(0, victims->size() - 1);
      static_cast<void>(bulkhead::kill((*victims)[any(random_)].pid));
      ++counts_.killed;
    }
  }

 private:
  bulkhead::SupervisorRef root_;
  std::chrono::duration<double> every_;
  Counts& counts_;
  std::minstd_rand random_{std::random_device()()};
};

// One line each second, but none that is as the last one.
class Report {
 public:
  Report(const bulkhead::Runtime& runtime, const Counts& counts)
      : runtime_(runtime), counts_(counts) {}

  void print() {
    const bulkhead::Stats stats = runtime_.stats();
    const std::uint64_t requests = counts_.requests.load();
    char line[400];
    std::snprintf(
        line, sizeof line,
        "connections %llu open, %llu accepted, %llu shed | requests %llu, %llu/s | trapped %llu | "
        "killed %llu | actors %llu | messages %llu, %llu/s\n",
        number(counts_.open.load()), number(counts_.accepted.load()), number(counts_.shed.load()),
        number(requests), number(requests - requests_), number(stats.actors_trapped),
        number(counts_.killed.load()), number(stats.actors()), number(stats.handled),
        number(stats.handled - handled_));
    if (std::exchange(last_, line) != line) {
      std::fputs(line, stdout);
      std::fflush(stdout);
    }
    requests_ = requests;
    handled_ = stats.handled;
  }

 private:
  static unsigned long long number(std::uint64_t value) { return value; }

  const bulkhead::Runtime& runtime_;
  const Counts& counts_;
  std::uint64_t requests_ = 0;
  std::uint64_t handled_ = 0;
  std::string last_;
};

void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

// All that the parts of the tree share.
struct Service {
  Settings settings;
  Counts counts;
  net::Listener listener;
  std::optional<Report> report;
};

bulkhead::SupervisorSpec tree(bulkhead::Runtime& runtime, Service& service) {
  bulkhead::ChildSpec connection;
  connection.restart = bulkhead::Restart::kTemporary;
  auto connections = bulkhead::child_supervisor(
      "connections",
      {.strategy = bulkhead::Strategy::kSimpleOneForOne, .like = std::move(connection)});
  connections.name = "connections";
  auto listener = bulkhead::child_thread(
      "listener", Acceptor(service.listener, runtime.cores(), service.settings, service.counts));
  listener.restart = bulkhead::Restart::kTransient;  // it ends when the listener is closed
  auto statistics = bulkhead::child_thread("statistics", [&service] {
    for (;;) {
      bulkhead::this_actor::sleep_for(1s);
      service.counts.told = 0;
      service.report->print();
    }
  });
  return {.strategy = bulkhead::Strategy::kRestForOne,
          .children = {std::move(connections), std::move(listener), std::move(statistics)}};
}

// Nobody new comes, and those who are there may finish.
void drain(Service& service) {
  service.listener.close();
  std::printf("draining: %llu connections have %.1f s to finish; a second signal ends them now\n",
              static_cast<unsigned long long>(service.counts.open.load()),
              service.settings.drain.count());
  std::fflush(stdout);
  const auto end = std::chrono::steady_clock::now() + service.settings.drain;
  while (service.counts.open != 0 && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(10ms);
  }
}

int serve(const Settings& settings) {
  raise_descriptor_limit();
  auto listener = net::Listener::listen(net::Endpoint::loopback(settings.port));
  if (!listener) {
    const bool taken = listener.error().kind == net::ErrorKind::kAddressInUse;
    std::fprintf(stderr, "echo: cannot %s.%s\n", listener.error().text.c_str(),
                 taken ? " Stop the other server, or choose another port with --port N "
                         "(0 takes a free one)."
                       : "");
    return 1;
  }
  Service service{settings, {}, *std::move(listener), {}};
  unsigned long long cut = 0;
  bulkhead::Pid killer;
  bulkhead::Application echo;
  echo.name = "echo";
  echo.config.cores = settings.cores;
  echo.config.log.format = bulkhead::LogFormat::kOff;  // one line for each does here
  echo.config.on_death = [&service](const bulkhead::Death& death) {
    if (!death.actor_type.ends_with("Connection")) return;
    --service.counts.open;
    if (death.exit.kind() != bulkhead::Exit::Kind::kTrapped) return;
    if (++service.counts.told > kMostTold) return;  // the others are counted
    std::printf("connection %s trapped, which is contained: %s\n", to_string(death.actor).c_str(),
                std::string(death.exit.message()).c_str());
    std::fflush(stdout);
  };
  echo.tree = [&service](bulkhead::Runtime& runtime) {
    service.report.emplace(runtime, service.counts);
    return tree(runtime, service);
  };
  echo.started = [&service, &killer](bulkhead::Runtime& runtime, bulkhead::SupervisorRef root) {
    const Settings& given = service.settings;
    if (given.kill_every) killer = runtime.spawn(Killer(root, *given.kill_every, service.counts));
    std::printf("listening on %s, with %zu cores; Ctrl-C ends it\n",
                to_string(service.listener.local()).c_str(), runtime.cores());
    std::fflush(stdout);
  };
  echo.stopping = [&service, &cut, &killer](bulkhead::Runtime&) {
    static_cast<void>(bulkhead::kill(killer));
    drain(service);
    cut = service.counts.open.load();
  };
  const int status = bulkhead::run_application(echo);
  std::printf("ended; %llu connections were still open and have been closed\n", cut);
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  unsigned port = settings.port;
  double idle = settings.idle.count();
  double drain = settings.drain.count();
  std::optional<double> kill_every;
  CLI::App app("A TCP echo server on 127.0.0.1, one actor a connection.");
  app.add_option("-p,--port", port, "TCP port; 0 takes a free one")
      ->capture_default_str()
      ->check(CLI::Range(0, 65535));
  app.add_option("--connections", settings.connections, "More are closed at once")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("--idle", idle, "Seconds after which a silent connection is closed")
      ->capture_default_str()
      ->check(CLI::Range(0.001, 1e6));
  app.add_option("--drain", drain, "Seconds that connections have to finish at the end")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1e6));
  app.add_option("--cores", settings.cores, "Scheduler threads; default: one a CPU")
      ->check(CLI::Range(1, 256));
  app.add_option("--kill-every", kill_every,
                 "For trials: seconds after which an actor of the tree is killed, again and again")
      ->check(CLI::Range(0.1, 1e6));
  app.failure_message([](const CLI::App*, const CLI::Error& error) {
    return std::string("echo: ") + error.what() + "\nRun echo --help for what it understands.\n";
  });
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  settings.port = static_cast<std::uint16_t>(port);
  settings.idle = std::chrono::duration<double>(idle);
  settings.drain = std::chrono::duration<double>(drain);
  if (kill_every) settings.kill_every = std::chrono::duration<double>(*kill_every);
  try {
    return serve(settings);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "echo: %s\n", error.what());
    return 1;
  }
}
