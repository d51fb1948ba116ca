/// EventManager: tells events to handlers that come and go, and outlives those that fail.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <exception>
#include <expected>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bulkhead/otp/gen_server.hpp"

namespace bulkhead {

/// One of those that an EventManager tells of events of type E. All of it runs in the manager. What
/// a class declares of it is public, and overrides; else it does not compile.
template <class E>
class EventHandler {
 public:
  enum class Next : std::uint8_t { kStay, kRemove };

  EventHandler() = default;
  EventHandler(const EventHandler&) = delete;
  EventHandler& operator=(const EventHandler&) = delete;
  virtual ~EventHandler() = default;

  /// Before its first event. One that throws is not added.
  virtual void init() {}
  /// One that throws is removed.
  virtual Next handle_event(const E& event) = 0;
  /// It has been removed, for that reason: normal when it, or delete_handler, wanted it; a panic
  /// when it has failed; the manager's own, when that ends.
  virtual void terminate(const Exit& /*reason*/) {}
};

/// Why a handler was not added, or not found.
struct HandlerError {
  enum class Kind : std::uint8_t {
    kAlreadyAdded,  ///< there is one of that id
    kFailed,        ///< its init threw: see `call.exit`
    kNotFound,      ///< there is none of that id
    kCall,          ///< the manager could not be called: see `call`
  };
  Kind kind;
  CallError call = {AskError::kNoReply};
};
[[nodiscard]] std::string to_string(const HandlerError& error);

namespace otp {

template <class E>
struct AddHandler {
  using Answer = std::expected<void, HandlerError>;
  std::string id;
  std::unique_ptr<EventHandler<E>> handler;
};
template <class E>
struct SwapHandler {
  using Answer = std::expected<void, HandlerError>;
  std::string old;
  std::string id;
  std::unique_ptr<EventHandler<E>> handler;
};
struct DeleteHandler {
  using Answer = std::expected<void, HandlerError>;
  std::string id;
};
struct WhichHandlers {
  using Answer = std::vector<std::string>;
};
template <class E>
struct Notify {
  E event;
};
template <class E>
struct SyncNotify {
  using Answer = void;
  E event;
};

/// A function of the name that does not override hides the one that does.
template <class E, class Handler>
constexpr void check_handler_hooks() {
  using Next = typename EventHandler<E>::Next;
  static_assert(
      requires { static_cast<void (Handler::*)()>(&Handler::init); },
      "bulkhead: init of this event handler (Handler above) does not override: make it public, "
      "`void init() override`");
  static_assert(
      requires { static_cast<Next (Handler::*)(const E&)>(&Handler::handle_event); },
      "bulkhead: handle_event of this event handler (Handler above) does not override: make it "
      "public, `Next handle_event(const E& event) override`");
  static_assert(
      requires { static_cast<void (Handler::*)(const Exit&)>(&Handler::terminate); },
      "bulkhead: terminate of this event handler (Handler above) does not override: make it "
      "public, `void terminate(const Exit& reason) override`");
}

[[nodiscard]] std::string handler_report(const std::string& id, std::exception_ptr failure);
[[nodiscard]] HandlerError handler_failed(std::exception_ptr failure);

/// The server that it is.
template <class E>
class EventServer final : public GenServer {
 public:
  using Handled = std::expected<void, HandlerError>;

  Handled handle_call(AddHandler<E> call) {
    return add(std::move(call.id), std::move(call.handler));
  }
  Handled handle_call(SwapHandler<E> call) {
    const auto old = find(call.old);
    if (old == handlers_.end()) {
      return std::unexpected(HandlerError{HandlerError::Kind::kNotFound});
    }
    if (call.id != call.old && find(call.id) != handlers_.end()) {
      return std::unexpected(HandlerError{HandlerError::Kind::kAlreadyAdded});
    }
    remove(old, Exit::normal());
    return add(std::move(call.id), std::move(call.handler));
  }
  Handled handle_call(const DeleteHandler& call) {
    const auto found = find(call.id);
    if (found == handlers_.end()) {
      return std::unexpected(HandlerError{HandlerError::Kind::kNotFound});
    }
    remove(found, Exit::normal());
    return {};
  }
  std::vector<std::string> handle_call(WhichHandlers /*call*/) {
    std::vector<std::string> ids;
    for (const Entry& entry : handlers_) ids.push_back(entry.id);
    return ids;
  }
  void handle_call(const SyncNotify<E>& call) { tell(call.event); }
  void handle_cast(const Notify<E>& cast) { tell(cast.event); }

  void terminate(const Exit& reason) {
    while (!handlers_.empty()) remove(handlers_.begin(), reason);
  }

 private:
  struct Entry {
    std::string id;
    std::unique_ptr<EventHandler<E>> handler;
  };
  using At = typename std::vector<Entry>::iterator;

  At find(const std::string& id) {
    return std::find_if(handlers_.begin(), handlers_.end(),
                        [&id](const Entry& entry) { return entry.id == id; });
  }
  Handled add(std::string id, std::unique_ptr<EventHandler<E>> handler) {
    if (find(id) != handlers_.end()) {
      return std::unexpected(HandlerError{HandlerError::Kind::kAlreadyAdded});
    }
    try {
      handler->init();
    } catch (const Unwind&) {
      throw;
    } catch (...) {
      return std::unexpected(handler_failed(std::current_exception()));
    }
    handlers_.push_back({std::move(id), std::move(handler)});
    return {};
  }
  void tell(const E& event) {
    for (std::size_t i = 0; i < handlers_.size();) {
      using Next = typename EventHandler<E>::Next;
      Exit reason;
      bool stays = false;
      try {
        stays = handlers_[i].handler->handle_event(event) == Next::kStay;
      } catch (const Unwind&) {
        throw;
      } catch (...) {
        report(handler_report(handlers_[i].id, std::current_exception()));
        reason = Exit::panic(std::current_exception());
      }
      if (stays) {
        ++i;
      } else {
        remove(handlers_.begin() + static_cast<std::ptrdiff_t>(i), reason);
      }
    }
  }
  void remove(At at, const Exit& reason) {
    const Entry gone = std::move(*at);
    handlers_.erase(at);
    try {
      gone.handler->terminate(reason);
    } catch (const Unwind&) {
      throw;
    } catch (...) {
      report(handler_report(gone.id, std::current_exception()));
    }
  }

  std::vector<Entry> handlers_;
};

template <class E, class F>
class FunctionHandler final : public EventHandler<E> {
 public:
  explicit FunctionHandler(F function) : function_(std::move(function)) {}
  typename EventHandler<E>::Next handle_event(const E& event) override {
    function_(event);
    return EventHandler<E>::Next::kStay;
  }

 private:
  F function_;
};

}  // namespace otp

/// A handle of an event manager, to be copied and sent at will. Any thread.
template <class E>
class EventManagerRef {
 public:
  EventManagerRef() = default;
  explicit EventManagerRef(ServerRef<otp::EventServer<E>> server) noexcept
      : server_(std::move(server)) {}

  [[nodiscard]] Pid pid() const noexcept { return server_.pid(); }
  /// For sys.
  [[nodiscard]] const ServerRef<otp::EventServer<E>>& server() const noexcept { return server_; }

  /// Adds a handler, behind the others. Throws std::invalid_argument when there is none.
  template <std::derived_from<EventHandler<E>> Handler>
  std::expected<void, HandlerError> add_handler(std::string id,
                                                std::unique_ptr<Handler> handler) const {
    otp::check_handler_hooks<E, Handler>();
    if (handler == nullptr) refuse_null();
    return flat(server_.call(otp::AddHandler<E>{std::move(id), std::move(handler)}, kForever));
  }
  /// One that calls `function(const E&)`.
  template <class F>
    requires std::is_invocable_v<F&, const E&> std::expected<void, HandlerError> add_handler(
        std::string id, F function)
  const {
    return add_handler(std::move(id),
                       std::make_unique<otp::FunctionHandler<E, F>>(std::move(function)));
  }
  /// Removes one, and adds another, with no event in between. Throws std::invalid_argument when
  /// there is none to add.
  template <std::derived_from<EventHandler<E>> Handler>
  std::expected<void, HandlerError> swap_handler(std::string old, std::string id,
                                                 std::unique_ptr<Handler> handler) const {
    otp::check_handler_hooks<E, Handler>();
    if (handler == nullptr) refuse_null();
    return flat(server_.call(otp::SwapHandler<E>{std::move(old), std::move(id), std::move(handler)},
                             kForever));
  }
  std::expected<void, HandlerError> delete_handler(std::string id) const {
    return flat(server_.call(otp::DeleteHandler{std::move(id)}, kForever));
  }
  /// Their ids, in order.
  [[nodiscard]] CallResult<std::vector<std::string>> which_handlers() const {
    return server_.call(otp::WhichHandlers{}, kForever);
  }

  /// Has all handlers told, in order. Never waits.
  Delivery notify(E event) const { return server_.cast(otp::Notify<E>{std::move(event)}); }
  /// The same, and waits until they have been.
  CallResult<void> sync_notify(E event, Timeout timeout = kDefaultAskTimeout) const {
    return server_.call(otp::SyncNotify<E>{std::move(event)}, timeout);
  }

  CallResult<void> stop(Exit reason = Exit::normal(), Timeout timeout = kForever) const {
    return server_.stop(std::move(reason), timeout);
  }

 private:
  [[noreturn]] static void refuse_null() {
    throw std::invalid_argument("bulkhead: an event manager was given no handler (a null pointer)");
  }
  static std::expected<void, HandlerError> flat(
      CallResult<std::expected<void, HandlerError>> result) {
    if (result) return *std::move(result);
    return std::unexpected(HandlerError{HandlerError::Kind::kCall, std::move(result.error())});
  }

  ServerRef<otp::EventServer<E>> server_;
};

/// As start_server.
template <class E>
[[nodiscard]] std::expected<EventManagerRef<E>, StartError> start_event_manager(
    const ServerOptions& options) {
  auto started = start_server<otp::EventServer<E>>(options);
  if (!started) return std::unexpected(std::move(started.error()));
  return EventManagerRef<E>(*std::move(started));
}
template <class E>
[[nodiscard]] std::expected<EventManagerRef<E>, StartError> start_event_manager(
    Runtime& runtime, const ServerOptions& options) {
  auto started = start_server<otp::EventServer<E>>(runtime, options);
  if (!started) return std::unexpected(std::move(started.error()));
  return EventManagerRef<E>(*std::move(started));
}
template <class E>
[[nodiscard]] ChildSpec child_event_manager(std::string id) {
  return child_server<otp::EventServer<E>>(std::move(id));
}

}  // namespace bulkhead
