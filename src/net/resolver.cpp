#include "net/resolver.hpp"

#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <system_error>

#include "machine/cpus.hpp"
#include "net/sockaddr.hpp"
#include "net/table.hpp"
#include "sync/thread.hpp"

namespace bulkhead::net {

namespace {

void resolve(LookupRequest& request) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_ADDRCONFIG;
  addrinfo* list = nullptr;
  request.error = getaddrinfo(request.host.c_str(), nullptr, &hints, &list);
  if (request.error == EAI_SYSTEM) request.system_error = errno;
  if (request.error != 0) return;
  try {
    for (const addrinfo* each = list; each != nullptr; each = each->ai_next) {
      request.found.push_back(from_system(each->ai_addr).with_port(request.port));
    }
  } catch (const std::bad_alloc&) {
    request.error = EAI_MEMORY;
  }
  freeaddrinfo(list);
}

void answer(LookupRequest& request) noexcept {
  if (!Actors::claim(request.waiter)) return;  // V1
  request.answered = true;
  Actors::wake(request.waiter);
}

struct AtExit {
  ~AtExit() { Resolver::process().finish(std::chrono::seconds(1)); }
};

}  // namespace

Resolver& Resolver::process() { return machine::process_wide<Resolver>(); }  // V3

bool Resolver::submit(Queue& one) noexcept {
  static const AtExit at_exit;
  const sync::Guard guard(lock_);
  if (threads_ < kMostThreads && !start_thread() && threads_ == 0) return false;
  queue_.splice(queue_.end(), one);
  return true;
}

// Under the lock, so that the thread finds the request that it is started for.
bool Resolver::start_thread() noexcept {
  try {
    sync::Thread([this] { work(); }).detach();
  } catch (const std::system_error&) {
    return false;
  }
  ++threads_;
  return true;
}

void Resolver::withdraw(const LookupRequest& request) noexcept {
  Queue gone;  // let go of outside the lock
  const sync::Guard guard(lock_);
  const auto place = std::find_if(queue_.begin(), queue_.end(),
                                  [&](const auto& each) { return each.get() == &request; });
  if (place != queue_.end()) gone.splice(gone.end(), queue_, place);
}

void Resolver::work() noexcept {
  machine::name_thread("bulkhead-lookup");
  sync::UniqueGuard guard(lock_);
  while (!queue_.empty()) {
    Queue mine;
    mine.splice(mine.end(), queue_, queue_.begin());
    guard.unlock();
    resolve(*mine.front());
    answer(*mine.front());
    mine.clear();
    guard.lock();
  }
  --threads_;
  ended_.notify_all();
}

void Resolver::finish(std::chrono::milliseconds patience) noexcept {
  sync::UniqueGuard guard(lock_);
  queue_.clear();
  ended_.wait_for(guard, patience, [this] { return threads_ == 0; });
}

}  // namespace bulkhead::net
