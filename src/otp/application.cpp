#include "bulkhead/otp/application.hpp"

#include <algorithm>
#include <cstdio>
#include <expected>
#include <optional>
#include <stdexcept>
#include <utility>

#include "bulkhead/actor_info.hpp"
#include "bulkhead/links.hpp"
#include "bulkhead/spawn.hpp"
#include "bulkhead/stop_signals.hpp"
#include "bulkhead/this_actor.hpp"

namespace bulkhead {

namespace {

struct Start {};

// Starts the tree, and tells main how it has ended.
class Watch {
 public:
  Watch(SupervisorSpec spec, StopSignals& signals, std::optional<Exit>& ending)
      : spec_(std::move(spec)), signals_(signals), ending_(ending) {}
  void started() { this_actor::trap_exits(true); }
  std::expected<SupervisorRef, ChildError> receive(Start /*message*/) {
    auto root = start_supervisor(std::move(spec_));
    if (root) {
      root_ = root->pid();
    } else {
      this_actor::stop();
    }
    return root;
  }
  void receive(Exited exited) {
    if (exited.actor != root_) return;
    ending_ = std::move(exited.exit);
    signals_.wake();
    this_actor::stop();
  }

 private:
  SupervisorSpec spec_;
  StopSignals& signals_;
  std::optional<Exit>& ending_;
  Pid root_;
};

template <class... Args>
void tell(const Application& application, const char* format, const Args&... args) {
  std::fprintf(stderr, "%s: ", application.name.c_str());
  if constexpr (sizeof...(Args) == 0) {
    std::fputs(format, stderr);
  } else {
    std::fprintf(stderr, format, args...);
  }
  std::fputc('\n', stderr);
}

void kill_and_name(const Application& application, const Runtime& runtime) {
  constexpr std::size_t kMost = 20;
  const std::vector<Pid> living = runtime.actors();
  tell(application, "%zu actors have not ended in time, and are killed:", living.size());
  for (std::size_t i = 0; i < std::min(living.size(), kMost); ++i) {
    const auto info = actor_info(living[i]);
    if (!info) continue;
    tell(application, "  %s (%.*s), %s, %zu messages waiting", to_string(info->pid).c_str(),
         static_cast<int>(info->type.size()), info->type.data(),
         std::string(to_string(info->state)).c_str(), info->mailbox);
  }
  if (living.size() > kMost) tell(application, "  and %zu others", living.size() - kMost);
  for (const Pid pid : living) static_cast<void>(kill(pid));
}

// The runtime has ended: how the tree did, if it was not told to.
int ended_by_itself(const Application& application, const Exit& exit) {
  const bool in_order =
      exit.is_normal() || (exit.kind() == Exit::Kind::kShutdown && exit.message().empty());
  tell(application, "has ended: %s", to_string(exit).c_str());
  return in_order ? 0 : 1;
}

}  // namespace

int run_application(const Application& application) {
  if (!application.tree) {
    throw std::invalid_argument(
        "bulkhead: run_application: Application::tree is not set; it makes the root of the tree");
  }
  StopSignals signals;  // first of all, so that all threads inherit what they block
  std::optional<Exit> ending;
  Runtime runtime(application.config);
  runtime.start();
  std::expected<SupervisorRef, ChildError> root;
  try {
    const auto watch = runtime.spawn<Watch>(application.tree(runtime), signals, ending);
    root = watch.ask(Start{}, kForever).value();
    if (root && application.started) application.started(runtime, *root);
  } catch (const std::exception& error) {
    tell(application, "could not be started: %s", error.what());
    if (root) static_cast<void>(root->stop(Exit::shutdown(), application.patience));
    return 2;
  }
  if (!root) {
    tell(application, "could not be started: %s", to_string(root.error()).c_str());
    return 2;
  }
  const auto signal = signals.wait();
  if (!signal) {
    runtime.shutdown(application.patience);
    return ended_by_itself(application, *ending);
  }
  tell(application, "%s: it ends, in order; a second one ends it at once",
       std::string(to_string(*signal)).c_str());
  signals.let_through();
  if (application.stopping) application.stopping(runtime);
  const bool in_time = root->stop(Exit::shutdown(), application.patience);
  if (!in_time) kill_and_name(application, runtime);
  // What is left then is at its end: it is not to be named.
  runtime.shutdown(in_time ? application.patience : Timeout(std::chrono::seconds(0)));
  return in_time ? 0 : 1;
}

}  // namespace bulkhead
