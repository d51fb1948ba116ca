#include "core/trap.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "core/at_work.hpp"
#include "core/containable.hpp"
#include "machine/fault.hpp"
#include "machine/last_calls.hpp"
#include "machine/stack_trace.hpp"

namespace bulkhead::core {

namespace {

constexpr std::size_t kToldFrames = 20;

}  // namespace

void Trap::say(std::string_view what) noexcept {
  const std::size_t more = std::min(what.size(), kMostText - length);
  std::memcpy(text.data() + length, what.data(), more);
  length += more;
}

// (The exit is a variable of an abandoned frame: nobody will give up its share.)
void Trap::note_ending(machine::Stack& stack) noexcept {
  if (stack.exit == nullptr) return;
  earlier = *stack.exit;
  stack.exit->~Exit();
  stack.exit = nullptr;
}

void tell_uncontained(const AtWork& work, const Trap& trap, const char* why) noexcept {
  machine::SignalSafeText line;
  line << "bulkhead: ";
  work.name(line);
  const std::string_view kind = to_string(trap.kind);
  line << " trapped: ";
  line.append(kind.data(), kind.size()) << ": ";
  line.append(trap.text.data(), trap.length);
  line << "; that cannot be contained: " << why << "; at";
  for (void* each : trap.stack().first(std::min<std::size_t>(trap.depth, kToldFrames))) {
    line << " ";
    line.hexadecimal(reinterpret_cast<std::uintptr_t>(each));
  }
  line.write_to_stderr();
}

namespace {

[[noreturn]] void end_process(const AtWork& work, const Trap& trap, const char* why) noexcept {
  tell_uncontained(work, trap, why);
  machine::abort_process();
}

}  // namespace

void trap_if_isolated(TrapKind kind, std::string_view what, const std::type_info* thrown) noexcept {
  if (tl_seat.at.mine() == nullptr) return;
  machine::Stack* stack = nullptr;
  {
    AtWork work;
    if (work.isolated() == nullptr) return;
    stack = work.stack();
    Trap& trap = *tl_seat.worker->trap;
    trap.depth = machine::walk_stack(trap.frames);
    trap.kind = kind;
    trap.thrown = thrown;
    trap.length = 0;
    trap.say(what);
    if (const char* why = why_not_contained(*work.isolated(), trap.stack()); why != nullptr) {
      end_process(work, trap, why);
    }
    trap.note_ending(*stack);
    work.stay_inside();
  }
  machine::abandon(stack, &Core::land, stack);
}

namespace {

std::terminate_handler earlier_handler = nullptr;

bool isolated_code_runs() noexcept {
  return tl_seat.at.mine() != nullptr && AtWork().isolated() != nullptr;
}

// What is thrown is still there, and is asked for what it says; that is the actor's code.
void trap_by_termination() noexcept {
  char what[Trap::kMostText] = "std::terminate was called";
  const std::type_info* const type = abi::__cxa_current_exception_type();
  if (type != nullptr) {
    try {
      throw;
    } catch (const std::exception& failure) {
      const char* said = failure.what();
      std::snprintf(what, sizeof what, "std::terminate was called; what is thrown, or caught: %s",
                    said != nullptr ? said : "");
    } catch (...) {
    }
  }
  trap_if_isolated(TrapKind::kTerminate, what, type);
}

void on_terminate() {
  if (isolated_code_runs()) trap_by_termination();
  if (earlier_handler != nullptr) earlier_handler();
  std::abort();
}

void on_last_call(machine::LastCall call, const char* what) noexcept {
  switch (call) {
    case machine::LastCall::kAbort:
    case machine::LastCall::kExit:
      return trap_if_isolated(TrapKind::kAbort, what);
    case machine::LastCall::kAssertion:
      return trap_if_isolated(TrapKind::kAssertion, what);
    case machine::LastCall::kThread:
      return trap_if_isolated(TrapKind::kThread, what);
  }
}

}  // namespace

void contain_termination() noexcept {
  static const bool installed = [] {
    earlier_handler = std::set_terminate(&on_terminate);
    machine::watch_last_calls(&on_last_call);
    return true;
  }();
  static_cast<void>(installed);
}

}  // namespace bulkhead::core
