// What a domain tells: its hooks, and on stderr who has none, and whom a stop waits for.
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <utility>

#include "core/domain.hpp"
#include "core/inside.hpp"
#include "core/slab.hpp"

namespace bulkhead::core {

namespace {

// Is the calling thread in one of the hooks? It does not switch stacks there.
constinit thread_local bool in_hook = false;

// Hooks are the user's, but here nobody could catch what they throw.
template <class Hook, class Told>
void call_hook(const char* name, const Hook& hook, const Told& told) noexcept {
  const InTheMiddle here;
  const bool outer = std::exchange(in_hook, true);
  try {
    hook(told);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bulkhead: %s threw, which it must not: %s\n", name, error.what());
    std::terminate();
  } catch (...) {
    std::fprintf(stderr, "bulkhead: %s threw, which it must not\n", name);
    std::terminate();
  }
  in_hook = outer;
}

}  // namespace

void Domain::announce_death(const Death& death) noexcept {
  if (config_.on_death) call_hook("Config::on_death", config_.on_death, death);
}

// What is dropped by a hook is not told to it: its own messages could drop others for ever.
void Domain::dead_letter(Pid receiver, std::string_view message, DropCause cause) noexcept {
  if (!config_.on_dead_letter || in_hook) return;
  call_hook("Config::on_dead_letter", config_.on_dead_letter, DeadLetter{receiver, message, cause});
}

void Domain::report_stopped_send(std::string_view message) noexcept {
  if (reported_.exchange(true, std::memory_order_relaxed)) return;
  std::fprintf(
      stderr,
      "bulkhead: a message (%.*s) was sent to a runtime that is not running; it was dropped. "
      "Start the runtime before sending, and stop senders before it is shut down. Said once; "
      "stats().stopped_sends counts them.\n",
      static_cast<int>(message.size()), message.data());
}

// --- at a stop ---

void Domain::tell_of_stop(std::string_view text) noexcept {
  if (reporter.tells()) return reporter.put_line(Reporter::Kind::kRareLine, text);
  std::fprintf(stderr, "bulkhead: %.*s\n", static_cast<int>(text.size()), text.data());
}

// The actor that runs on a core, seen from outside: by the time that it is named it may have
// stopped running, and while it is being destroyed its pid is that of its slot's next one.
std::string Domain::runs_on(const Core& core) {
  const Slot* slot = core.running;
  if (slot == nullptr) return "";
  const ActorClass* kind = slot->kind;
  const Pid pid(Slab::index_of(*slot), slot->generation.load(std::memory_order_relaxed));
  return to_string(pid) + (kind != nullptr ? " (" + std::string(kind->name) + ")" : "");
}

// Cores come to their other actors, and name them, when that handler has returned.
void Domain::report_who_runs() noexcept try {
  for (std::size_t i = 0; i < all_cores(); ++i) {
    const std::string actor = runs_on(*cores_[i]);
    if (actor.empty()) continue;
    tell_of_stop("shutdown: actor " + actor +
                 " is still in a handler; shutdown waits until that returns or blocks");
  }
} catch (const std::bad_alloc&) {
}

// A handler that neither returns nor blocks cannot be ended. A core on which others have ended
// since the last look is at work: a million blocked ones take some seconds.
void Domain::report_who_holds_up() noexcept try {
  crew_.report_away();
  for (std::size_t i = 0; i < all_cores(); ++i) {
    Core& core = *cores_[i];
    const std::uint64_t ended = core.counts.ended.read();
    const bool works = std::exchange(core.ended_before, ended) != ended;
    if (works || core.arrivals.asleep()) continue;
    const std::string actor = runs_on(core);
    tell_of_stop("shutdown waits for core " + std::to_string(i) +
                 ": a handler there neither returns nor blocks (it loops, or is in a system call)" +
                 (actor.empty() ? "" : ": actor ") + actor);
  }
} catch (const std::bad_alloc&) {
}

}  // namespace bulkhead::core
