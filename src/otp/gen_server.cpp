#include "bulkhead/otp/gen_server.hpp"

#include <stdexcept>

#include "bulkhead/otp/event_manager.hpp"
#include "bulkhead/otp/gen_state_machine.hpp"
#include "bulkhead/registry.hpp"
#include "bulkhead/wait.hpp"

namespace bulkhead {

std::string to_string(const CallError& error) {
  std::string text(to_string(error.error));
  if (error.error == AskError::kDied || error.error == AskError::kNoReply) {
    if (!error.exit.is_normal()) text += ": " + to_string(error.exit);
  }
  return text;
}

std::string to_string(const StartError& error) {
  switch (error.kind) {
    case StartError::Kind::kIgnored:
      return "the server wants to be left out";
    case StartError::Kind::kFailed:
      return "the server's init failed: " + to_string(error.exit);
    case StartError::Kind::kTimedOut:
      return "the server's init took too long";
    case StartError::Kind::kStopped:
      return "the runtime is not running, or the caller is to end";
    case StartError::Kind::kAlreadyStarted:
      return "the server's name is that of " + to_string(error.pid);
  }
  return "unknown";
}

void GenServer::stop(Exit reason) {
  this_actor::stop(std::move(reason));
  stops_ = true;
}

std::string to_string(const HandlerError& error) {
  switch (error.kind) {
    case HandlerError::Kind::kAlreadyAdded:
      return "there is a handler of that id";
    case HandlerError::Kind::kFailed:
      return "the handler's init failed: " + to_string(error.call.exit);
    case HandlerError::Kind::kNotFound:
      return "there is no handler of that id";
    case HandlerError::Kind::kCall:
      return "the event manager could not be called: " + to_string(error.call);
  }
  return "unknown";
}

namespace otp {

void print_report(std::string_view text) { log_line(std::string(text)); }

void refuse_in_enter(const char* function) {
  throw std::logic_error(std::string("bulkhead: ") + function +
                         "() was called in enter(), where the state cannot change, and no message "
                         "is handled");
}

CallError why_let_go() noexcept {
  if (auto exit = this_actor::exit_reason()) return {AskError::kDied, *std::move(exit)};
  if (in_actor()) {
    return {std::uncaught_exceptions() > 0 ? AskError::kDied : AskError::kNoReply};
  }
  return {AskError::kDied, Exit::no_actor()};
}

bool keeps_for(Pid server, const FromKeeper* keeper) noexcept {
  return keeper != nullptr && core::is_self(server) && !this_actor::exit_reason() &&
         keeper->keeps();
}

CallResult<void> stop_server(std::expected<void, AskError> answer, const Exit& why,
                             const Exit& reason) {
  if (answer) return {};  // never: it ends
  if (answer.error() == AskError::kDied && why == reason) return {};
  return std::unexpected(CallError{answer.error(), why});
}

Pid Place::whereis(const std::string& name) const {
  return runtime_ != nullptr ? runtime_->whereis(name) : bulkhead::whereis(name);
}

void Place::unregister_name(const std::string& name, Pid actor) const {
  static_cast<void>(runtime_ != nullptr ? runtime_->unregister_name(name, actor)
                                        : bulkhead::unregister_name(name, actor));
}

std::expected<void, StartError> may_begin(const Place& place, const ServerOptions& options) {
  if (!options.name) return {};
  const Pid holder = place.whereis(*options.name);
  if (!holder) return {};
  return std::unexpected(StartError{StartError::Kind::kAlreadyStarted, {}, holder});
}

std::expected<void, InitDone> take_name(const std::string& name) {
  const Pid self = this_actor::pid();
  const auto given = register_name(name, self);
  if (given || name_of(self) == name) return {};
  return std::unexpected(
      InitDone{InitResult::Kind::kError,
               Exit::custom("it cannot be called \"" + name + "\": " + to_string(given.error())),
               given.error().holder});
}

std::expected<void, StartError> begun(std::expected<InitDone, AskError> answer, const Exit& why) {
  using Kind = StartError::Kind;
  if (answer) {
    if (answer->name_holder) {
      return std::unexpected(StartError{Kind::kAlreadyStarted, {}, answer->name_holder});
    }
    switch (answer->kind) {
      case InitResult::Kind::kOk:
      case InitResult::Kind::kContinue:
        return {};
      case InitResult::Kind::kIgnore:
        return std::unexpected(StartError{Kind::kIgnored});
      case InitResult::Kind::kStop:
      case InitResult::Kind::kError:
        return std::unexpected(StartError{Kind::kFailed, answer->exit});
    }
  }
  switch (answer.error()) {
    case AskError::kTimedOut:
      return std::unexpected(StartError{Kind::kTimedOut});
    case AskError::kStopped:
      return std::unexpected(StartError{Kind::kStopped});
    default:
      return std::unexpected(StartError{Kind::kFailed, why});
  }
}

void forget(Pid server, const ServerOptions& options) {
  if (options.linked) this_actor::unlink(server, this_actor::Flush::kYes);
  if (options.monitor == nullptr) return;
  static_cast<void>(this_actor::demonitor(*options.monitor, this_actor::Flush::kYes));
  *options.monitor = {};
}

ChildStart child_not_started(const StartError& error) {
  switch (error.kind) {
    case StartError::Kind::kIgnored:
      return Pid();
    case StartError::Kind::kFailed:
      return std::unexpected(error.exit);
    case StartError::Kind::kTimedOut:
    case StartError::Kind::kStopped:
    case StartError::Kind::kAlreadyStarted:
      break;
  }
  return std::unexpected(Exit::custom(to_string(error)));
}

SpawnOptions spawn_options(const ServerOptions& options) {
  SpawnOptions spawn = options.spawn;
  spawn.linked = options.linked;
  spawn.monitor = options.monitor;
  return spawn;
}

void refuse_to_continue(std::string_view server) {
  throw std::logic_error("bulkhead: server " + std::string(server) +
                         " has asked for continue_later() (or InitResult::ok_continue()), but has "
                         "no public handle_continue()");
}

void refuse_to_be_idle(std::string_view server) {
  throw std::logic_error("bulkhead: server " + std::string(server) +
                         " has asked for idle_after(), but has no public handle_timeout()");
}

namespace {

std::string who(std::string_view server) {
  return "server " + std::string(server) + " " + to_string(this_actor::pid());
}

std::string text(std::exception_ptr failure) { return explain(Exit::panic(std::move(failure))); }

}  // namespace

std::string unknown_report(std::string_view server, const Down& down) {
  return who(server) + " has no handle_info(Down), and was told: " + to_string(down.actor) +
         " has ended: " + to_string(down.exit);
}

std::string unknown_report(std::string_view server, const Exited& exited) {
  return who(server) + " has no handle_info(Exited), and was told: " + to_string(exited.actor) +
         " has ended: " + to_string(exited.exit);
}

std::string failure_report(std::string_view server, std::string_view function,
                           std::exception_ptr failure) {
  return who(server) + ": " + std::string(function) + " failed: " + text(std::move(failure));
}

std::string handler_report(const std::string& id, std::exception_ptr failure) {
  return "event manager " + to_string(this_actor::pid()) + ": handler " + id +
         " failed, and is removed: " + text(std::move(failure));
}

HandlerError handler_failed(std::exception_ptr failure) {
  return {HandlerError::Kind::kFailed,
          CallError{AskError::kNoReply, Exit::panic(std::move(failure))}};
}

std::string failed_status(std::exception_ptr failure) {
  return "(format_status failed: " + text(std::move(failure)) + ")";
}

}  // namespace otp
}  // namespace bulkhead
