#include "bulkhead/otp/sys.hpp"

#include <cstdio>

#include "otp/supervisor_actor.hpp"

namespace bulkhead {

std::string to_string(const ServerEvent& event) {
  std::string type(event.type);
  switch (event.kind) {
    case ServerEvent::Kind::kCall:
      return "call " + type;
    case ServerEvent::Kind::kCast:
      return "cast " + type;
    case ServerEvent::Kind::kInfo:
      return "info " + type;
    case ServerEvent::Kind::kReply:
      return "reply " + type;
    case ServerEvent::Kind::kContinue:
    case ServerEvent::Kind::kTimeout:
      break;
  }
  return type;
}

namespace otp {

void SystemState::set(SetTrace trace) {
  sink_ = std::move(trace.sink);
  watched_ = sink_ != nullptr || log_size_ != 0;
}

void SystemState::set(SetLog log) {
  log_size_ = log.size;
  while (log_.size() > log_size_) log_.pop_front();
  watched_ = sink_ != nullptr || log_size_ != 0;
}

std::vector<std::string> SystemState::events() const { return {log_.begin(), log_.end()}; }

void SystemState::tell(const ServerEvent& event) {
  if (log_size_ != 0) {
    if (log_.size() == log_size_) log_.pop_front();
    log_.push_back(to_string(event));
  }
  if (!sink_) return;
  try {
    sink_(event);
  } catch (const Unwind&) {
    throw;
  } catch (...) {
    sink_ = nullptr;
    watched_ = log_size_ != 0;
  }
}

}  // namespace otp

namespace sys {

namespace {

Address<otp::Supervisor> address(SupervisorRef supervisor) {
  return Address<otp::Supervisor>(supervisor.pid());
}

}  // namespace

CallResult<void> suspend(SupervisorRef supervisor, Timeout timeout) {
  return otp::ask(address(supervisor), otp::Suspend{}, timeout);
}
CallResult<void> resume(SupervisorRef supervisor, Timeout timeout) {
  return otp::ask(address(supervisor), otp::Resume{}, timeout);
}
CallResult<std::vector<ChildInfo>> get_state(SupervisorRef supervisor, Timeout timeout) {
  return otp::ask(address(supervisor), otp::GetChildren{}, timeout);
}
CallResult<std::string> get_status(SupervisorRef supervisor, Timeout timeout) {
  return otp::ask(address(supervisor), otp::GetStatus{}, timeout);
}
CallResult<ServerStatistics> statistics(SupervisorRef supervisor, Timeout timeout) {
  return otp::ask(address(supervisor), otp::GetStatistics{}, timeout);
}

void print_event(const ServerEvent& event) {
  std::fprintf(stderr, "bulkhead: %s: %s\n", to_string(this_actor::pid()).c_str(),
               to_string(event).c_str());
}

}  // namespace sys
}  // namespace bulkhead
