#include "bulkhead/exit.hpp"

#include <cxxabi.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <typeinfo>
#include <utility>

#include "bulkhead/panic.hpp"
#include "core/core.hpp"
#include "core/inside.hpp"
#include "core/thrown.hpp"
#include "machine/fiber.hpp"
#include "machine/shares.hpp"
#include "machine/stack_trace.hpp"
#include "sync/atomic.hpp"

namespace bulkhead {

namespace {

// Who has read an exception gives up its share afterwards.
void has_read(const std::exception_ptr& exception) noexcept {
  machine::gives_up_share(*reinterpret_cast<void* const*>(&exception));
}
void gives_up(const std::exception_ptr& exception) noexcept {
  if (exception != nullptr) machine::may_destroy(*reinterpret_cast<void* const*>(&exception));
}

}  // namespace

struct Exit::Failure {
  std::string message = {};
  std::string type = {};
  std::exception_ptr exception = {};
  std::vector<void*> stack = {};
  std::vector<Cause> causes = {};
  std::string place = {};
  sync::RealSync::atomic<std::size_t> owners{1};

  static const bool kMade;
  static Failure& out_of_memory();
  void read(const std::exception_ptr& failure);
  static void release(Failure* failure) noexcept {
    if (failure != nullptr && failure->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      gives_up(failure->exception);
      delete failure;
    }
  }
  static Failure* share(Failure* failure) noexcept {
    if (failure != nullptr) failure->owners.fetch_add(1, std::memory_order_relaxed);
    return failure;
  }
};

Exit::Exit(const Exit& other) noexcept
    : kind_(other.kind_), trap_(other.trap_), failure_(Failure::share(other.failure_)) {}

// Shares before it releases: assigning to itself is no special case.
Exit& Exit::operator=(const Exit& other) noexcept {  // NOLINT(bugprone-unhandled-self-assignment)
  Failure* earlier = failure_;
  failure_ = Failure::share(other.failure_);
  kind_ = other.kind_;
  trap_ = other.trap_;
  Failure::release(earlier);
  return *this;
}

void Exit::release() noexcept { Failure::release(failure_); }

namespace {

// What the demangler takes: measured, for the worst of names. It refuses those of more than 1,024
// characters.
constexpr std::size_t kStackForAll = 4096;
constexpr std::size_t kStackPerCharacter = 384;
constexpr std::size_t kStackForAny = 512 * 1024;

constexpr const char* kNoException = "an exception that is not a std::exception";

struct Demangling {
  const char* name;
  char* readable;
  machine::Stack* from;
  machine::Stack* on;
  machine::ExceptionState* exceptions;
};

char* demangle(const char* name) noexcept {
  int status = 0;
  return abi::__cxa_demangle(name, nullptr, nullptr, &status);
}

void demangle_there(void* argument) {
  auto& work = *static_cast<Demangling*>(argument);
  machine::entered(work.on);
  work.readable = demangle(work.name);
  machine::resume(work.on, work.from, work.exceptions);
}

// An actor's stack may be too small for it: then it is done on another one.
char* demangle_in_actor(core::Core& core, const char* name) {
  const core::InTheMiddle here(&core);
  const auto* top = static_cast<const std::byte*>(__builtin_frame_address(0));
  const auto left = static_cast<std::size_t>(top - core.stack->bottom);
  if (kStackForAll + kStackPerCharacter * std::strlen(name) <= left) return demangle(name);
  machine::Stack* larger = machine::StackStore::process().take(machine::stack_class(kStackForAny));
  machine::forget(larger);
  Demangling work{name, nullptr, core.stack, larger, core.exceptions};
  machine::leave(core.stack, larger, &demangle_there, &work, core.exceptions);
  machine::forget(larger);
  larger->next = nullptr;
  machine::StackStore::process().give(larger);
  return work.readable;
}

std::string readable(const std::type_info& type) {
  const core::Inside inside;
  core::Core* core = core::Core::current();
  const bool on_core = core != nullptr && core->stack != nullptr;
  const std::unique_ptr<char, decltype(&std::free)> name(
      on_core ? demangle_in_actor(*core, type.name()) : demangle(type.name()), &std::free);
  return name != nullptr ? name.get() : type.name();
}

// Of what std::throw_with_nested throws it is the class that it was given.
std::string without_nesting(std::string type) {
  constexpr std::string_view kNesting = "std::_Nested_exception<";
  if (!type.starts_with(kNesting) || !type.ends_with('>')) return type;
  return type.substr(kNesting.size(), type.size() - kNesting.size() - 1);
}

std::string type_in_flight() {
  const std::type_info* type = abi::__cxa_current_exception_type();
  return type != nullptr ? without_nesting(readable(*type)) : "unknown exception";
}

std::string text_of(const std::source_location& where) {
  return std::string(where.function_name()) + " at " + where.file_name() + ":" +
         std::to_string(where.line());
}

/// One exception, and what it holds.
struct Read {
  Exit::Cause said;
  std::string place = {};
  std::exception_ptr held = {};
};

Read read_one(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& error) {
    const char* what = error.what();
    Read read{{what != nullptr ? what : "", type_in_flight()}};
    if (const auto* panic = dynamic_cast<const Panic*>(&error))
      read.place = text_of(panic->where());
    if (const auto* nested = dynamic_cast<const std::nested_exception*>(&error)) {
      read.held = nested->nested_ptr();
    }
    return read;
  } catch (const std::nested_exception& nested) {
    return {{kNoException, type_in_flight()}, {}, nested.nested_ptr()};
  } catch (...) {
    return {{kNoException, type_in_flight()}};
  }
}

}  // namespace

void Exit::Failure::read(const std::exception_ptr& failure) {
  const core::Inside inside;
  const core::InTheMiddle here(core::Core::current());  // what() is the user's
  Read outer = read_one(failure);
  message = std::move(outer.said.message);
  type = std::move(outer.said.type);
  place = std::move(outer.place);
  for (std::exception_ptr held = outer.held; held != nullptr && causes.size() < kMostCauses;) {
    Read inner = read_one(held);
    causes.push_back(std::move(inner.said));
    held = inner.held;
  }
  exception = failure;
  has_read(exception);
  const core::ThrowTrace trace = core::take_throw_trace(failure);
  stack.assign(trace.frames.begin(), trace.frames.begin() + trace.count);
}

// Made at the start of the program, for when there is no memory.
Exit::Failure& Exit::Failure::out_of_memory() {
  static auto* failure = new Failure{.message = "out of memory",
                                     .type = "std::bad_alloc",
                                     .exception = std::make_exception_ptr(std::bad_alloc())};
  return *failure;
}
const bool Exit::Failure::kMade = (out_of_memory(), true);

// By value: who gives the exception away holds it no more.
// NOLINTNEXTLINE(performance-unnecessary-value-param)
Exit Exit::panic(std::exception_ptr failure) noexcept {
  Exit exit(Kind::kPanic);
  try {
    auto read = std::make_unique<Failure>();
    read->read(failure);
    exit.failure_ = read.release();
  } catch (const std::exception&) {  // bad_alloc, or there was no stack
    exit.failure_ = Failure::share(&Failure::out_of_memory());
  }
  return exit;
}

Exit Exit::shutdown(std::string detail) {
  Exit exit(Kind::kShutdown);
  exit.failure_ = new Failure{.message = std::move(detail)};
  return exit;
}

Exit Exit::custom(std::string reason) {
  Exit exit(Kind::kCustom);
  exit.failure_ = new Failure{.message = std::move(reason)};
  return exit;
}

Exit Exit::trapped(TrapKind trap, std::string_view message, std::span<void* const> stack,
                   const std::type_info* thrown) noexcept {
  Exit exit(Kind::kTrapped);
  exit.trap_ = trap;
  try {
    exit.failure_ = new Failure{.message = std::string(message),
                                .type = thrown != nullptr ? readable(*thrown) : std::string(),
                                .stack = std::vector<void*>(stack.begin(), stack.end())};
  } catch (const std::exception&) {  // the kind says the most of it
  }
  return exit;
}

Exit Crossing<Exit>::cross(const Exit& from) {
  using Failure = Exit::Failure;
  Exit to(from.kind_);
  to.trap_ = from.trap_;
  if (from.failure_ == &Failure::out_of_memory()) {  // which is nobody's, and of which there is one
    to.failure_ = Failure::share(from.failure_);
  } else if (from.failure_ != nullptr) {
    to.failure_ = new Failure{.message = from.failure_->message,
                              .type = from.failure_->type,
                              .stack = from.failure_->stack,
                              .causes = from.failure_->causes,
                              .place = from.failure_->place};
  }
  return to;
}

std::string_view Exit::message() const noexcept {
  return failure_ ? std::string_view(failure_->message) : std::string_view();
}

std::string_view Exit::type() const noexcept {
  return failure_ ? std::string_view(failure_->type) : std::string_view();
}

std::span<const Exit::Cause> Exit::causes() const noexcept {
  return failure_ ? std::span<const Cause>(failure_->causes) : std::span<const Cause>();
}

std::string_view Exit::place() const noexcept {
  return failure_ ? std::string_view(failure_->place) : std::string_view();
}

std::exception_ptr Exit::failure() const noexcept {
  return failure_ ? failure_->exception : nullptr;
}

std::span<void* const> Exit::stack() const noexcept {
  return failure_ ? std::span<void* const>(failure_->stack) : std::span<void* const>();
}

std::vector<std::string> stack_trace(const Exit& exit) {
  return machine::describe_throw(exit.stack());
}

std::string_view to_string(Exit::Kind kind) noexcept {
  switch (kind) {
    case Exit::Kind::kNormal:
      return "normal";
    case Exit::Kind::kShutdown:
      return "shutdown";
    case Exit::Kind::kStopped:
      return "stopped";
    case Exit::Kind::kPanic:
      return "panic";
    case Exit::Kind::kKilled:
      return "killed";
    case Exit::Kind::kNoActor:
      return "no such actor";
    case Exit::Kind::kCustom:
      return "custom";
    case Exit::Kind::kTrapped:
      return "trapped";
  }
  return "unknown";
}

std::string_view to_string(TrapKind kind) noexcept {
  switch (kind) {
    case TrapKind::kNone:
      return "none";
    case TrapKind::kAccess:
      return "access";
    case TrapKind::kStackOverflow:
      return "stack overflow";
    case TrapKind::kArithmetic:
      return "arithmetic";
    case TrapKind::kInstruction:
      return "instruction";
    case TrapKind::kAbort:
      return "abort";
    case TrapKind::kAssertion:
      return "assertion";
    case TrapKind::kTerminate:
      return "terminate";
    case TrapKind::kMemory:
      return "memory";
    case TrapKind::kHeap:
      return "heap";
    case TrapKind::kThread:
      return "thread";
  }
  return "unknown";
}

std::string to_string(const Exit& exit) {
  if (exit.kind() == Exit::Kind::kCustom) return std::string(exit.message());
  std::string text(to_string(exit.kind()));
  if (exit.kind() == Exit::Kind::kPanic) {
    return text + ": " + std::string(exit.message()) + " (" + std::string(exit.type()) + ")";
  }
  if (exit.kind() == Exit::Kind::kTrapped) text += ": " + std::string(to_string(exit.trap()));
  if (!exit.message().empty()) text += ": " + std::string(exit.message());
  return text;
}

std::string explain(const Exit& exit) {
  std::string text = to_string(exit);
  if (!exit.place().empty()) text += ", in " + std::string(exit.place());
  for (const Exit::Cause& cause : exit.causes()) {
    text += ", caused by: " + cause.message + " (" + cause.type + ")";
  }
  return text;
}

}  // namespace bulkhead
