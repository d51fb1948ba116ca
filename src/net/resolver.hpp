// The resolver: runs getaddrinfo, which blocks, on threads of its own. There are at most
// kMostThreads; one is started when there is something to look up and fewer are at work, and each
// ends when nothing waits any more.
//
// Rules
//  V1  A request is shared by its actor and, from when it is taken from the queue, by a thread. The
//      thread writes the outcome, then claims the actor's wait. If it wins it says so in
//      `answered`, and wakes the actor, which reads both only then. If not, nobody reads the
//      outcome, and it goes with the last who shares the request.
//  V2  An actor that leaves its wait takes its request out of the queue, if it is still there. So
//      the queue holds no more than there are actors that wait.
//  V3  The resolver is never destroyed: a thread may be within getaddrinfo, for long, when the
//      process ends. The end of the process waits a little for those at work, no longer.
#pragma once

#include <chrono>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "bulkhead/net/endpoint.hpp"
#include "machine/process_wide.hpp"
#include "net/readiness.hpp"
#include "sync/mutex.hpp"

namespace bulkhead::net {

struct LookupRequest {
  std::string host;
  std::uint16_t port = 0;
  Waiter waiter{};
  // The outcome.
  std::vector<Endpoint> found;
  int error = 0;         // of getaddrinfo, 0: none
  int system_error = 0;  // an errno
  bool answered = false;
};

class Resolver {
 public:
  using Queue = std::list<std::shared_ptr<LookupRequest>>;

  static constexpr unsigned kMostThreads = 4;

  [[nodiscard]] static Resolver& process();

  /// Queues the one request of `one`. False when there is no thread to do it, and none to be had.
  [[nodiscard]] bool submit(Queue& one) noexcept;
  /// Forgets a request that has not been begun.
  void withdraw(const LookupRequest& request) noexcept;
  /// The end of the process: nothing new is begun.
  void finish(std::chrono::milliseconds patience) noexcept;

 private:
  template <class T>
  friend T& machine::process_wide();
  explicit Resolver(const Resolver* /*parents*/) noexcept {}
  bool start_thread() noexcept;
  void work() noexcept;

  sync::Mutex lock_;
  sync::Condition ended_;
  Queue queue_;
  unsigned threads_ = 0;
};

}  // namespace bulkhead::net
