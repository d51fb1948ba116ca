/// Applications: a program that is one tree of supervisors, from its start to its end in order.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "bulkhead/config.hpp"
#include "bulkhead/otp/supervisor.hpp"
#include "bulkhead/runtime.hpp"

namespace bulkhead {

/// Not to be derived from: its hooks are members that are set.
struct Application final {
  /// What it is called in what is told of it.
  std::string name = "application";
  Config config = {};
  /// Makes the root of the tree. Called by run_application when the runtime runs.
  std::function<SupervisorSpec(Runtime&)> tree;
  /// How long the tree may take to end in order.
  Timeout patience = std::chrono::seconds(10);
  /// Called when the tree has been started, and when a signal has come and it is about to be ended.
  /// What these throw is told: by `tree` and `started` it could not be started; after `stopping`
  /// it ends as it would have.
  std::function<void(Runtime&, SupervisorRef)> started = {};
  std::function<void(Runtime&)> stopping = {};
};

/// The main function of a service: starts a runtime, and in it the tree; waits for SIGINT or
/// SIGTERM, or for the tree's end; ends it in order, children first, last started first, and then
/// the runtime. Tells the runtime's log what it does, and who has not ended in time: those are
/// killed. A second signal ends the process at once, by that signal. Call it in main, before there
/// are threads.
///
/// Returns what main should: 0 when it was told to stop and did, or the tree has ended normally; 1
/// when the tree gave up, or did not end in time, or `stopping` has failed; 2 when it could not be
/// started. Throws what Runtime's constructor and start throw, std::system_error, std::bad_alloc;
/// std::invalid_argument when there is no `tree`.
[[nodiscard]] int run_application(const Application& application);

}  // namespace bulkhead
