/// Host: where actors live. What Runtime and Stage have in common.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bulkhead/actor_info.hpp"
#include "bulkhead/log.hpp"
#include "bulkhead/registry.hpp"
#include "bulkhead/spawn.hpp"
#include "bulkhead/stats.hpp"

namespace bulkhead {

/// Its functions are for any thread. Actors use the free functions spawn, spawn_with and those of
/// this_actor.
class Host {
 public:
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  /// Makes an actor from outside, on core 0 or the one that the options name. Any thread, and
  /// hooks. Throws SpawnError when there is no room or the runtime is not running, ConfigError for
  /// options that make no sense, std::bad_alloc, and what the constructor throws.
  template <class A, class... Args>
  Address<A> spawn_with(const SpawnOptions& options, Args&&... args) {
    return core::spawn_actor<A>(options, domain_, std::forward<Args>(args)...);
  }
  template <class A, class... Args>
  Address<A> spawn(Args&&... args) {
    return spawn_with<A>(core::kSpawnDefaults, std::forward<Args>(args)...);
  }
  template <Body F>
  Pid spawn_with(const SpawnOptions& options, F&& body) {
    return core::spawn_body(options, domain_, std::forward<F>(body));
  }
  template <Body F>
  Pid spawn(F&& body) {
    return spawn_with(core::kSpawnDefaults, std::forward<F>(body));
  }
  /// Refused, with a word on what is wanted.
  template <int = 0, class F>
    requires(!Body<F>)
  void spawn(F&& /*object*/) { core::refuse_object<std::decay_t<F>>(); }
  template <int = 0, class F>
    requires(!Body<F>)
  void spawn_with(const SpawnOptions& /*options*/, F&& /*object*/) {
    core::refuse_object<std::decay_t<F>>();
  }
  template <Body F>
  auto spawn_joinable_with(const SpawnOptions& options, F&& body) {
    return core::spawn_joined(options, domain_, std::forward<F>(body));
  }
  template <Body F>
  auto spawn_joinable(F&& body) {
    return spawn_joinable_with(core::kSpawnDefaults, std::forward<F>(body));
  }

  /// Names of its actors: as the functions of the same names (registry.hpp). Any thread,
  /// actors too. While it does not run no actor has a name.
  std::expected<void, RegisterError> register_name(std::string_view name, Pid actor) {
    return core::register_name(domain_, name, actor);
  }
  template <class A>
  std::expected<void, RegisterError> register_name(std::string_view name, const Address<A>& actor) {
    return register_name(name, actor.pid());
  }
  bool unregister_name(std::string_view name, Pid actor = {}) {
    return core::unregister_name(domain_, name, actor);
  }
  [[nodiscard]] Pid whereis(std::string_view name) const { return core::whereis(domain_, name); }
  template <class A>
  [[nodiscard]] Address<A> whereis(std::string_view name) const {
    return Address<A>(core::whereis(domain_, name, core::kClass<A>));
  }
  [[nodiscard]] std::string name_of(Pid actor) const { return core::name_of(domain_, actor); }
  template <class A>
  [[nodiscard]] std::string name_of(const Address<A>& actor) const {
    return name_of(actor.pid());
  }
  [[nodiscard]] std::vector<std::string> registered() const { return core::registered(domain_); }
  /// An address by name, whether anybody has the name or not.
  template <class A>
  [[nodiscard]] NamedAddress<A> named(std::string_view name) const {
    return NamedAddress<A>(domain_, name);
  }

  /// Tells its log: see log.hpp. While it does not run, stderr. Any thread, actors too. Does not
  /// wait.
  void log_line(std::string text, LineKind kind = LineKind::kOrdinary) noexcept;
  /// Any thread, actors too.
  [[nodiscard]] Stats stats() const;
  /// Its actors that live, in no order: see bulkhead::actors. Any thread. Throws std::bad_alloc.
  [[nodiscard]] std::vector<Pid> actors() const;

 protected:
  Host() = default;
  ~Host() = default;

  core::Domain* domain_ = nullptr;
};

}  // namespace bulkhead
