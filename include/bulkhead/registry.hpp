/// The registry: names by which actors are found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bulkhead/address.hpp"
#include "bulkhead/pid.hpp"
#include "bulkhead/spawn.hpp"

namespace bulkhead {

/// Names are 1 to so many bytes long.
inline constexpr std::size_t kLongestName = 255;

/// Why a name was not given.
struct RegisterError {
  enum class Kind : std::uint8_t {
    kTaken,    ///< another actor has it: see `holder`
    kNoActor,  ///< there is no such actor, or it is one of another runtime
    kNamed,    ///< the actor has a name already, perhaps the same: see name_of
  };
  static constexpr Kind kTaken = Kind::kTaken;
  static constexpr Kind kNoActor = Kind::kNoActor;
  static constexpr Kind kNamed = Kind::kNamed;

  Kind kind;
  Pid holder = {};

  friend bool operator==(const RegisterError& error, Kind is) noexcept { return error.kind == is; }
};
[[nodiscard]] std::string to_string(const RegisterError& error);

namespace core {

class Domain;
class Names;

/// `domain` null: the caller's, who must be an actor; else std::logic_error.
std::expected<void, RegisterError> register_name(Domain* domain, std::string_view name, Pid actor);
bool unregister_name(Domain* domain, std::string_view name, Pid actor);
[[nodiscard]] Pid whereis(Domain* domain, std::string_view name);
/// Of that class; else throws std::logic_error.
[[nodiscard]] Pid whereis(Domain* domain, std::string_view name, const ActorClass& kind);
[[nodiscard]] std::string name_of(Domain* domain, Pid actor);
[[nodiscard]] std::vector<std::string> registered(Domain* domain);

/// A name in a runtime, with all that looking it up takes.
struct BoundName {
  std::shared_ptr<Names> names;
  std::string name;
  std::uint64_t hash;
};
[[nodiscard]] std::shared_ptr<const BoundName> bind_name(Domain* domain, std::string_view name);
/// Who has it now; `bound` may be null. Throws std::logic_error when that is of another class.
[[nodiscard]] Pid resolve(const BoundName* bound, const ActorClass& kind);

}  // namespace core

// Each runtime has its own names. The functions here are for actors, and throw std::logic_error
// elsewhere; threads outside call those of the same names of Runtime. A name is any text of 1 to
// 255 bytes: for others they throw std::invalid_argument. All throw std::bad_alloc.

/// Gives an actor a name. An actor has one at most, and a name is one actor's. When that ends, by
/// the time that anybody is told of its end, the name is free.
std::expected<void, RegisterError> register_name(std::string_view name, Pid actor);
template <class A>
std::expected<void, RegisterError> register_name(std::string_view name, const Address<A>& actor) {
  return register_name(name, actor.pid());
}
/// Takes a name away from who has it: from that actor only, or, with none, whoever that is. False
/// when nobody has it, or another one.
bool unregister_name(std::string_view name, Pid actor = {});

/// The actor that has the name; none when nobody has. It may have ended when this returns.
[[nodiscard]] Pid whereis(std::string_view name);
/// The same, for an actor of class A. Throws std::logic_error when it is of another class.
template <class A>
[[nodiscard]] Address<A> whereis(std::string_view name) {
  return Address<A>(core::whereis(nullptr, name, core::kClass<A>));
}

/// The name of an actor. Empty when it has none, and when there is no such actor.
[[nodiscard]] std::string name_of(Pid actor);
template <class A>
[[nodiscard]] std::string name_of(const Address<A>& actor) {
  return name_of(actor.pid());
}

/// All names that somebody has, in no order; not as of one moment.
[[nodiscard]] std::vector<std::string> registered();

/// An address by name: each send and ask goes to whoever has the name then, so it stays good when a
/// supervisor starts the actor again. While nobody has it: Delivery::kGone, AskError::kGone. Each
/// throws std::logic_error when the actor that has the name is not of class A. Any thread; copies
/// share the name. It means a name in the runtime that it was made for, wherever it is used. A
/// default-constructed one stands for nobody.
template <class A>
class NamedAddress {
 public:
  using Actor = A;

  NamedAddress() = default;
  /// In an actor: a name in its runtime, whether anybody has it or not. Elsewhere: Runtime::named.
  explicit NamedAddress(std::string_view name) : bound_(core::bind_name(nullptr, name)) {}
  NamedAddress(core::Domain* domain, std::string_view name)
      : bound_(core::bind_name(domain, name)) {}

  [[nodiscard]] std::string_view name() const noexcept {
    return bound_ != nullptr ? std::string_view(bound_->name) : std::string_view();
  }
  /// Whoever has the name now: for several sends to one incarnation.
  [[nodiscard]] Address<A> address() const {
    return Address<A>(core::resolve(bound_.get(), core::kClass<A>));
  }
  [[nodiscard]] Pid pid() const { return address().pid(); }

  /// As those of Address.
  template <class M>
  Delivery send(M message) const {
    return address().send(std::move(message));
  }
  template <class M>
  [[nodiscard]] Delivery try_send(M& message) const {
    return address().try_send(message);
  }
  template <class M>
  [[nodiscard]] Delivery send_or_wait(M& message, Timeout timeout = kForever) const {
    return address().send_or_wait(message, timeout);
  }
  template <class M>
  [[nodiscard]] auto ask(M message, Timeout timeout = kDefaultAskTimeout) const {
    return address().ask(std::move(message), timeout);
  }

  /// Do they mean the same name of the same runtime?
  friend bool operator==(const NamedAddress& a, const NamedAddress& b) noexcept {
    if (a.bound_ == nullptr || b.bound_ == nullptr) return a.bound_ == b.bound_;
    return a.bound_->names == b.bound_->names && a.bound_->name == b.bound_->name;
  }

 private:
  std::shared_ptr<const core::BoundName> bound_;
};

template <class A>
inline constexpr bool kSendable<NamedAddress<A>> = true;

}  // namespace bulkhead
