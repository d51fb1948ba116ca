#include "bulkhead/net/watch.hpp"

#include <cerrno>
#include <new>
#include <stdexcept>
#include <string>

#include "core/bond.hpp"
#include "core/inside.hpp"
#include "core/slab.hpp"
#include "core/watches.hpp"
#include "net/calls.hpp"
#include "net/failure.hpp"
#include "net/operation.hpp"
#include "net/table.hpp"

namespace bulkhead::net {

namespace {

using core::Watching;
using Bits = Readiness<sync::RealSync, Actors>;

constexpr std::uint8_t wanted_by(Interest interest) noexcept {
  const auto bits = static_cast<unsigned>(interest);
  return static_cast<std::uint8_t>(((bits & 1) != 0 ? Bits::kIn | Bits::kEnd : 0) |
                                   ((bits & 2) != 0 ? Bits::kOut : 0));
}

struct Found {
  bool readable;
  bool writable;
};
// What cannot be asked is ready: the next call tells why.
Found look_at(int fd, std::uint8_t wanted) noexcept {
  const bool in = (wanted & Bits::kIn) != 0;
  const bool out = (wanted & Bits::kOut) != 0;
  const int found = call::poll_now(fd, in && out ? call::kBoth : in ? call::kRead : call::kWrite);
  return {in && (found < 0 || (found & call::kRead) != 0),
          out && (found < 0 || (found & call::kWrite) != 0)};
}

Watch reference(const Watching& watching) noexcept {
  const RequestRef its = watching.pending.request;
  return Watch(its.index(), its.generation());
}

enum class Place : bool { kOwn, kTake };

// Its tick is at home. Puts it in its place, and tells of what is ready already. Returns an errno:
// why the core cannot tell of it later. To tell somebody is to have him look, on this core at once:
// not within a Hold.
int wait_or_tell(Watching& watching, Place place) noexcept {
  Watcher displaced{};
  Entry* entry = nullptr;
  Found found{};
  int error = 0;
  {
    const Hold hold(watching.fd, watching.fd_generation);
    entry = hold.entry();
    if (entry == nullptr) {
      core::end_watch(watching);
      return 0;
    }
    const Watcher watcher{watching.record->index, core::wait_for_news(watching), watching.wanted};
    if (place == Place::kTake) {
      displaced = entry->readiness.watch(watcher);
    } else if (!entry->readiness.watch_again(watcher)) {
      core::end_watch(watching);
      return 0;
    }
    const bool others_wait =
        entry->readiness.awaited(Direction::kRead) || entry->readiness.awaited(Direction::kWrite);
    error = entry->register_here(others_wait);
    found = look_at(watching.fd, watching.wanted);
  }
  // Who closes it from here on finds the watch in its place.
  const bool closed = !entry->readiness.is_open(watching.fd_generation);
  if (error != 0) {
    entry->not_registered();
  } else if (found.readable || found.writable || closed) {
    core::tell_of(watching);
  }
  // Of this one nothing is known any more: who was told may have ended it.
  Actors actors;
  Bits::tell_displaced(displaced, actors);
  return error;
}

void withdraw(Watching& watching) noexcept {
  entry_at(watching.fd).readiness.unwatch(watching.record->index);
}

// (Its entry is there for ever.)
bool has_gone(const Watching& watching) noexcept {
  const Entry& entry = entry_at(watching.fd);
  return !entry.readiness.is_open(watching.fd_generation) ||
         !entry.readiness.is_watched_by(watching.record->index);
}

void look(Watching& watching) noexcept { static_cast<void>(wait_or_tell(watching, Place::kOwn)); }

// By the owner. Returns the signal when it tells of nothing any more.
Signal* hear(void* requester, Signal* signal) {
  Watching& watching = Watching::of(*signal);
  if (watching.tick.loan.has_ended()) return signal;
  const Hold hold(watching.fd, watching.fd_generation);
  const Entry* entry = hold.entry();
  if (entry == nullptr || !entry->readiness.is_watched_by(watching.record->index)) {
    core::end_watch(watching);
    return signal;
  }
  const auto [readable, writable] = look_at(watching.fd, watching.wanted);
  ::new (static_cast<void*>(payload<Ready>(signal))) Ready{reference(watching), readable, writable};
  return core::queue_heard(*static_cast<core::Slot*>(requester), signal, watching.message,
                           Signal::kTick | Signal::kLosesNothing);
}

constexpr core::WatchOps kWatch = {
    .news = {{&hear, [](Signal*, DropCause) {}, "readiness of a watch"},
             [](core::Pending& pending) noexcept { return pending.signal; }},
    .look = &look,
    .withdraw = &withdraw,
    .has_gone = &has_gone};

// The running actor's watch of it, if it has one.
Watching* find(const Entry& entry, int fd, std::uint64_t generation) noexcept {
  const Watcher watcher = entry.readiness.watcher();
  if (watcher.is_nobody()) return nullptr;
  Watching* watching = core::find_watch(watcher.record);
  const bool is_of_it =
      watching != nullptr && watching->fd == fd && watching->fd_generation == generation;
  return is_of_it ? watching : nullptr;
}

// Who hears of its readiness just now looks for it with the new interest.
void change(Watching& watching, std::uint8_t wanted) noexcept {
  watching.wanted = wanted;
  if (core::take_back(watching)) look(watching);
}

Error refusal(int fd, int code) {
  return failure("watch", "descriptor " + std::to_string(fd), code);
}

}  // namespace

Result<Watch> watch_by(Pid self, const Descriptor& descriptor, Interest interest,
                       const SignalOps* message) {
  const int fd = descriptor.number();
  const std::uint64_t generation = descriptor.generation();
  // An isolated actor's object may be garbage: that is found here, where a fault is its own.
  if (fd >= 0) static_cast<void>(entry_at(fd).readiness.is_open(generation));
  const std::uint8_t wanted = wanted_by(interest);
  if (wanted == 0 || static_cast<unsigned>(interest) > 3) {
    throw std::invalid_argument("bulkhead: net::watch was given an interest that is none");
  }
  if (!core::is_caller(self, "net::watch")) return std::unexpected(refusal(fd, ECANCELED));
  const core::Inside inside;
  Watching* watching = nullptr;
  {
    const Hold hold(fd, generation);
    if (hold.entry() == nullptr) return std::unexpected(refusal(fd, EBADF));
    watching = find(*hold.entry(), fd, generation);
  }
  if (watching != nullptr) {
    const Watch its = reference(*watching);
    change(*watching, wanted);
    return its;
  }
  try {
    watching = &core::open_watch(kWatch, message, kSignalBytes<Ready>);
  } catch (const CapacityError& error) {
    return std::unexpected(Error{ErrorKind::kNoMemory, ENOMEM, 0, error.what()});
  } catch (const std::bad_alloc&) {
    return std::unexpected(refusal(fd, ENOMEM));
  }
  watching->fd = fd;
  watching->fd_generation = generation;
  watching->wanted = wanted;
  const Watch its = reference(*watching);
  if (const int error = wait_or_tell(*watching, Place::kTake); error != 0) {
    static_cast<void>(unwatch(its));
    return std::unexpected(refusal(fd, error));
  }
  return its;
}

bool unwatch(Watch watch) {
  require_actor("net::unwatch");
  const core::Inside inside;
  Watching* watching = core::find_watch(watch.index());
  if (watching == nullptr || reference(*watching) != watch) return false;
  core::end_watch(*watching);
  return true;
}

}  // namespace bulkhead::net
