/// NamedServer: a server by the name that it has in the registry.
#pragma once

#include <string_view>
#include <utility>

#include "bulkhead/otp/gen_server.hpp"
#include "bulkhead/registry.hpp"

namespace bulkhead {

/// Calls whatever server of class S has the name then, so it stays good when that is started again.
/// While nobody has it: AskError::kGone, Delivery::kGone. Each throws std::logic_error when the
/// actor that has the name is no server of class S. Any thread; copies share the name. A
/// default-constructed one stands for nobody.
template <class S>
class NamedServer {
 public:
  NamedServer() = default;
  /// In an actor: a name in its runtime, whether anybody has it or not. Throws as NamedAddress.
  explicit NamedServer(std::string_view name) : address_(name) {}
  NamedServer(const Runtime& runtime, std::string_view name)
      : address_(runtime.named<otp::Server<S>>(name)) {}

  [[nodiscard]] std::string_view name() const noexcept { return address_.name(); }
  /// Whoever has the name now: for several calls to one incarnation, and for sys.
  [[nodiscard]] ServerRef<S> ref() const { return ServerRef<S>(address_.pid()); }

  /// As those of ServerRef.
  template <class M>
  [[nodiscard]] auto call(M message, Timeout timeout = kDefaultAskTimeout) const {
    return ref().call(std::move(message), timeout);
  }
  template <class M>
  Delivery cast(M message) const {
    return ref().cast(std::move(message));
  }
  template <class M>
  Delivery info(M message) const {
    return ref().info(std::move(message));
  }
  template <class M>
  [[nodiscard]] auto send_request(M message) const {
    return ref().send_request(std::move(message));
  }
  CallResult<void> stop(Exit reason = Exit::normal(), Timeout timeout = kForever) const {
    return ref().stop(std::move(reason), timeout);
  }

  friend bool operator==(const NamedServer& a, const NamedServer& b) noexcept {
    return a.address_ == b.address_;
  }

 private:
  NamedAddress<otp::Server<S>> address_;
};

template <class S>
inline constexpr bool kSendable<NamedServer<S>> = true;

}  // namespace bulkhead
