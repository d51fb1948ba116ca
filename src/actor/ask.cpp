// Asks: the wait of the asker, and what may become of it. See sync/wait_word.hpp: who claims the
// wait decides the outcome, alone.
#include "bulkhead/ask.hpp"

#include <exception>
#include <new>
#include <utility>

#include "core/compartment.hpp"
#include "core/core.hpp"
#include "core/domain.hpp"
#include "core/extras.hpp"
#include "core/inside.hpp"
#include "core/slab.hpp"

namespace bulkhead {

namespace core {

bool is_self(Pid pid) noexcept {
  const BrieflyInside inside;
  const Core* core = inside.core();
  if (core == nullptr) return false;
  const Slot* running = core->running;  // most often it is another one, which its place tells
  return running != nullptr && running == &Slab::at(pid.index()) && pid_of(*running) == pid;
}

void decide_unanswered(AskFrame& frame) noexcept {
  frame.outcome = AskFrame::Outcome::kFailed;
  if (Wait::ending()) frame.error = AskError::kStopped;
}

bool claim(const ReplyTo& to) noexcept { return to.asker->wait.claim(to.epoch); }

void wake_asker(const ReplyTo& to) noexcept { wake(*to.asker); }

void fail_ask(const ReplyTo& to, AskError error) noexcept {
  if (claim(to)) fail_claimed(to, error);
}

namespace {

// Of the actor that runs and is being ended, whose Reply, or message, is let go; else it had ended
// before.
Exit exit_of_asked() noexcept {
  const BrieflyInside inside;
  const Core* core = inside.core();
  const Exit* exit = core != nullptr && core->stack != nullptr ? core->stack->exit : nullptr;
  return exit != nullptr ? *exit : Exit::no_actor();
}

// Of an isolated actor: what outlives that.
Exit without_its_memory(const Core& core, Exit exit) noexcept {
  try {
    return outlasting(core, std::move(exit));
  } catch (const std::bad_alloc&) {
    return Exit::trapped(TrapKind::kMemory, {}, {});
  }
}

// In a catch block.
Exit exit_of_caught() noexcept {
  const Inside inside;
  const Core* core = Core::current();
  try {
    throw;
  } catch (const Unwind&) {
    return core->why_unwound(*core->running);
  } catch (...) {
    const InTheMiddle here;  // what() is the user's
    return without_its_memory(*core, Exit::panic(std::current_exception()));
  }
}

void fail_frame(const ReplyTo& to, AskError error) noexcept {
  auto* frame = static_cast<AskFrame*>(to.frame);
  frame->outcome = AskFrame::Outcome::kFailed;
  frame->error = error;
}

Exit* wants_to_know(const ReplyTo& to) noexcept { return static_cast<AskFrame*>(to.frame)->why; }

}  // namespace

void fail_claimed(const ReplyTo& to, AskError error) noexcept {
  fail_frame(to, error);
  if (Exit* why = wants_to_know(to); why != nullptr && error == AskError::kDied) {
    *why = exit_of_asked();
  }
  wake_asker(to);
}

void fail_by_exception(const ReplyTo& to) noexcept {
  if (claim(to)) fail_claimed_by_exception(to);
}

void fail_claimed_by_exception(const ReplyTo& to) noexcept {
  fail_frame(to, AskError::kDied);
  if (Exit* why = wants_to_know(to); why != nullptr) *why = exit_of_caught();
  wake_asker(to);
}

void abandon_ask(const ReplyTo& to) noexcept {
  const Inside inside;
  const Core* core = Core::current();
  // (Also of one that is made anew in place.)
  const bool ending = core != nullptr && core->stack != nullptr && core->stack->exit != nullptr;
  if (ending || std::uncaught_exceptions() == 0) {
    fail_ask(to, ending ? AskError::kDied : AskError::kNoReply);
  } else if (claim(to)) {  // somebody may yet catch it: nothing is known of an exit
    fail_frame(to, AskError::kDied);
    wake_asker(to);
  }
}

void count_late_reply(std::string_view type) noexcept {
  const Inside inside;
  Core* core = Core::current();
  if (core == nullptr) {
    count_stray();
    return;
  }
  core->counts.dropped[static_cast<std::size_t>(DropCause::kLateReply)].raise();
  const Pid from = core->running != nullptr ? pid_of(*core->running) : Pid();
  core->domain.load(std::memory_order_relaxed)->dead_letter(from, type, DropCause::kLateReply);
}

AskError ask_error(Delivery why) noexcept {
  switch (why) {
    case Delivery::kFull:
      return AskError::kFull;
    case Delivery::kStopped:
      return AskError::kStopped;
    case Delivery::kNoMemory:
      return AskError::kNoMemory;
    case Delivery::kQueued:
    case Delivery::kGone:
      break;
  }
  return AskError::kGone;
}

Delivery delivery_of(AskError error) noexcept {
  switch (error) {
    case AskError::kFull:
      return Delivery::kFull;
    case AskError::kStopped:
      return Delivery::kStopped;
    case AskError::kNoMemory:
      return Delivery::kNoMemory;
    case AskError::kGone:
    case AskError::kDied:
    case AskError::kNoReply:
    case AskError::kTimedOut:
    case AskError::kSelf:
      break;
  }
  return Delivery::kGone;
}

AskError ask_error(DropCause cause) noexcept {
  switch (cause) {
    case DropCause::kStopped:
      return AskError::kStopped;
    case DropCause::kNoMemory:
      return AskError::kNoMemory;
    case DropCause::kFull:
      return AskError::kFull;
    case DropCause::kGone:
    case DropCause::kHandlerFailed:
    case DropCause::kLateReply:
      break;
  }
  return AskError::kDied;
}

}  // namespace core

Reply<void>& Reply<void>::operator=(Reply&& other) noexcept {
  if (this != &other) {
    if (to_.asker != nullptr) core::abandon_ask(to_);
    to_ = std::exchange(other.to_, core::ReplyTo{});
  }
  return *this;
}

Reply<void>::~Reply() {
  if (to_.asker != nullptr) core::abandon_ask(to_);
}

void Reply<void>::fail_by_exception() noexcept {
  const core::ReplyTo to = std::exchange(to_, core::ReplyTo{});
  if (to.asker != nullptr) core::fail_by_exception(to);
}

bool Reply<void>::operator()() {
  const core::ReplyTo to = std::exchange(to_, core::ReplyTo{});
  if (to.asker == nullptr) return false;
  if (!core::claim(to)) {
    core::count_late_reply("void");
    return false;
  }
  static_cast<core::AskFrame*>(to.frame)->outcome = core::AskFrame::Outcome::kAnswered;
  core::wake_asker(to);
  return true;
}

std::string_view to_string(AskError error) noexcept {
  switch (error) {
    case AskError::kGone:
      return "there is no such actor, or none any more";
    case AskError::kDied:
      return "the actor ended before it replied";
    case AskError::kNoReply:
      return "the handler returned without replying";
    case AskError::kTimedOut:
      return "timed out";
    case AskError::kFull:
      return "the mailbox is full";
    case AskError::kStopped:
      return "the runtime is not running";
    case AskError::kNoMemory:
      return "no memory";
    case AskError::kSelf:
      return "the actor asked itself";
  }
  return "unknown";
}

}  // namespace bulkhead
