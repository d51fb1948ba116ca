// A key-value store with a TCP front, as an application: keys that expire, snapshots on disk, and a
// tree of supervisors that brings the store back from the last snapshot when it fails.
//
//     root              starts again what has ended, and what was started after it: nobody goes on
//                       with a store that has forgotten what was told to the one before
//       store           a server that holds the keys; begins with the snapshot (store.hpp)
//       snapshotter     a server that writes the snapshot (store.hpp, snapshot.hpp)
//       connections     a supervisor: one temporary child for each client, which is isolated
//       listener        accepts (front.hpp)
//
//     store [--port N] [--file PATH] [--every SECONDS] [--keys N] [--connections N]
//           [--idle SECONDS] [--drain SECONDS] [--cores N]
//
// A client sends lines of words, and gets a line for each:
//
//     SET key value [seconds]   OK             it is kept, for so long, or for ever
//     GET key                   VALUE value    or NONE
//     DEL key                   OK             or NONE
//     COUNT                     COUNT n        so many keys there are
//     SNAPSHOT                  OK n           so many keys are on the disk now
//     CRASH                     OK             and the store fails, to show what comes of it
//     TRAP                                     and this connection's actor calls abort()
//     QUIT                      OK             and the connection ends
//
// or ERROR and what is wrong. Ctrl-C or SIGTERM: it accepts no more, lets connections finish,
// writes a last snapshot, and exits with 0. A second signal ends it at once.
#include <bulkhead/net.hpp>
#include <bulkhead/otp.hpp>

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "front.hpp"
#include "store.hpp"

namespace net = bulkhead::net;
using namespace std::chrono_literals;

namespace {

struct Settings {
  std::uint16_t port = 7778;
  std::string file = "store.snapshot";
  std::chrono::duration<double> every = 30s;
  std::size_t keys = 1'000'000;
  Limits limits;
  std::chrono::duration<double> drain = 5s;
  std::optional<std::size_t> cores;
};

// What outlives the tree, whatever of it is started again. The listener does, so that clients who
// come meanwhile just wait.
struct Service {
  Settings settings;
  net::Listener listener;
  std::atomic<std::size_t> open{0};
  std::atomic<bool> unsaved{false};
};

bulkhead::SupervisorSpec tree(bulkhead::Runtime& runtime, Service& service) {
  const Settings& settings = service.settings;
  auto store = bulkhead::child_server<Store>("store", settings.file, settings.keys);
  store.name = "store";

  auto snapshotter = bulkhead::child_server<Snapshotter>("snapshotter", settings.file,
                                                         settings.every, &service.unsaved);
  snapshotter.name = "snapshotter";
  snapshotter.shutdown = bulkhead::Shutdown::whenever();  // never two that write the same file

  bulkhead::ChildSpec connection;
  connection.restart = bulkhead::Restart::kTemporary;
  auto connections = bulkhead::child_supervisor(
      "connections",
      {.strategy = bulkhead::Strategy::kSimpleOneForOne, .like = std::move(connection)});
  connections.name = "connections";

  auto listener = bulkhead::child_thread(
      "listener", Acceptor(service.listener, runtime.cores(), settings.limits, service.open));
  listener.restart = bulkhead::Restart::kTransient;  // it ends when the listener is closed

  return {.strategy = bulkhead::Strategy::kRestForOne,
          .children = {std::move(store), std::move(snapshotter), std::move(connections),
                       std::move(listener)}};
}

// Nobody new comes, and those who are there may finish.
void drain(Service& service) {
  service.listener.close();
  std::printf("draining: %zu connections have %.1f s to finish\n", service.open.load(),
              service.settings.drain.count());
  std::fflush(stdout);
  const auto end = std::chrono::steady_clock::now() + service.settings.drain;
  while (service.open != 0 && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(10ms);
  }
}

int serve(const Settings& settings) {
  auto listener = net::Listener::listen(net::Endpoint::loopback(settings.port));
  if (!listener) {
    const bool taken = listener.error().kind == net::ErrorKind::kAddressInUse;
    std::fprintf(stderr, "store: cannot %s.%s\n", listener.error().text.c_str(),
                 taken ? " Choose another port with --port N (0 takes a free one)." : "");
    return 1;
  }
  Service service{settings, *std::move(listener)};
  bulkhead::Application application;
  application.name = "store";
  application.config.cores = settings.cores;
  application.config.on_death = [&service](const bulkhead::Death& death) {
    if (death.actor_type.ends_with(kConnectionType)) --service.open;
  };
  application.patience = 60s;
  application.tree = [&service](bulkhead::Runtime& runtime) { return tree(runtime, service); };
  application.started = [&service](bulkhead::Runtime&, bulkhead::SupervisorRef) {
    std::printf("listening on %s; Ctrl-C ends it\n", to_string(service.listener.local()).c_str());
    std::fflush(stdout);
  };
  application.stopping = [&service](bulkhead::Runtime&) { drain(service); };
  const int status = bulkhead::run_application(application);
  if (status == 0 && service.unsaved) return 1;
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  double every = settings.every.count();
  double idle = settings.limits.idle.count();
  double drain = settings.drain.count();
  CLI::App app("A key-value store on 127.0.0.1.");
  app.add_option("-p,--port", settings.port, "TCP port; 0 takes a free one")
      ->capture_default_str()
      ->check(CLI::Range(0, 65535));
  app.add_option("--file", settings.file, "The snapshot")
      ->capture_default_str()
      ->check([](const std::string& file) { return file.empty() ? "it has no name" : ""; });
  app.add_option("--every", every, "Seconds between two snapshots, when something has changed")
      ->capture_default_str()
      ->check(CLI::Range(0.01, 1e6));
  app.add_option("--keys", settings.keys, "More are refused")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000'000'000));
  app.add_option("--connections", settings.limits.connections, "More are refused")
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
  app.failure_message([](const CLI::App*, const CLI::Error& error) {
    return std::string("store: ") + error.what() + "\nRun store --help for what it understands.\n";
  });
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  settings.every = std::chrono::duration<double>(every);
  settings.limits.idle = std::chrono::duration<double>(idle);
  settings.drain = std::chrono::duration<double>(drain);
  try {
    return serve(settings);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "store: %s\n", error.what());
    return 1;
  }
}
