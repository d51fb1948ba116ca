#include "bulkhead/exit.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <typeinfo>

#include "sync/atomic.hpp"

namespace bulkhead {

struct Exit::Failure {
  std::string message;
  std::string type;
  std::exception_ptr exception;
  sync::RealSync::atomic<std::size_t> owners{1};

  static void release(Failure* failure) noexcept {
    if (failure != nullptr && failure->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      delete failure;
    }
  }
  static Failure* share(Failure* failure) noexcept {
    if (failure != nullptr) failure->owners.fetch_add(1, std::memory_order_relaxed);
    return failure;
  }
};

Exit::Exit(const Exit& other) noexcept
    : kind_(other.kind_), failure_(Failure::share(other.failure_)) {}

// Shares before it releases: assigning to itself is no special case.
Exit& Exit::operator=(const Exit& other) noexcept {  // NOLINT(bugprone-unhandled-self-assignment)
  Failure* earlier = failure_;
  failure_ = Failure::share(other.failure_);
  kind_ = other.kind_;
  Failure::release(earlier);
  return *this;
}

Exit::~Exit() { Failure::release(failure_); }

namespace {

std::string readable(const std::type_info& type) {
  int status = 0;
  char* name = abi::__cxa_demangle(type.name(), nullptr, nullptr, &status);
  std::string text = status == 0 && name != nullptr ? name : type.name();
  std::free(name);
  return text;
}

std::string type_in_flight() {
  const std::type_info* type = abi::__cxa_current_exception_type();
  return type != nullptr ? readable(*type) : "unknown exception";
}

}  // namespace

Exit Exit::panic(std::exception_ptr failure) {
  Exit exit(Kind::kPanic);
  auto* read = new Failure;
  exit.failure_ = read;
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& error) {
    read->message = error.what();
    read->type = readable(typeid(error));
  } catch (...) {
    read->type = type_in_flight();
    read->message = "an exception that is not a std::exception";
  }
  read->exception = std::move(failure);
  return exit;
}

std::string_view Exit::message() const noexcept {
  return failure_ ? std::string_view(failure_->message) : std::string_view();
}

std::string_view Exit::type() const noexcept {
  return failure_ ? std::string_view(failure_->type) : std::string_view();
}

std::exception_ptr Exit::failure() const noexcept {
  return failure_ ? failure_->exception : nullptr;
}

std::string to_string(const Exit& exit) {
  switch (exit.kind()) {
    case Exit::Kind::kNormal:
      return "normal";
    case Exit::Kind::kShutdown:
      return "shutdown";
    case Exit::Kind::kStopped:
      return "stopped";
    case Exit::Kind::kPanic:
      return "panic: " + std::string(exit.message()) + " (" + std::string(exit.type()) + ")";
  }
  return "unknown";
}

}  // namespace bulkhead
