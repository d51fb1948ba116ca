/// Spawning: making actors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "bulkhead/actor_class.hpp"
#include "bulkhead/address.hpp"
#include "bulkhead/arguments.hpp"
#include "bulkhead/ask.hpp"
#include "bulkhead/handler.hpp"
#include "bulkhead/join.hpp"
#include "bulkhead/links.hpp"
#include "bulkhead/over_wall.hpp"
#include "bulkhead/spawn_options.hpp"
#include "bulkhead/standard.hpp"

namespace bulkhead {

namespace core {

struct Bond;
struct Extras;
struct Slot;
class Core;
class Domain;

/// An actor that is being made: memory for its state, to be constructed by the caller.
struct NewActor {
  Slot* slot;
  void* state;
  Core* home;  // null: the caller's core
  Extras* extras = nullptr;
  Bond* bonds[2] = {};
  bool crosses = false;  // its maker is isolated
};

/// `domain` null: the caller's, which must be an actor. Throws SpawnError, ConfigError, bad_alloc.
[[nodiscard]] NewActor begin_spawn(const ActorClass& kind, const SpawnOptions& options,
                                   Domain* domain);
[[nodiscard]] Pid finish_spawn(const NewActor& actor, const ActorClass& kind,
                               const SpawnOptions& options) noexcept;
void cancel_spawn(const NewActor& actor) noexcept;

struct CancelSpawn {
  const NewActor* actor;
  ~CancelSpawn() {
    if (actor != nullptr) cancel_spawn(*actor);
  }
};

/// For an isolated spawner, whose memory others must not hold.
template <class State, class... Args>
void construct_over_wall(const NewActor& actor, Args&&... args) {
  if constexpr (!(kCrossesAsArgument<std::decay_t<Args>> && ...)) {
    refuse_to_isolate(first_that_cannot_cross<std::decay_t<Args>...>());
  } else if constexpr (!std::is_constructible_v<State, std::decay_t<Args>...>) {
    refuse_to_isolate(type_name<State>());
  } else {
    const OverWall process(actor);
    ::new (actor.state) State(argument_anew<std::decay_t<Args>>(args)...);
    (leave_argument<Args>(args), ...);
  }
}

template <class State, class... Args>
void construct(const NewActor& actor, Args&&... args) {
  if (actor.crosses) [[unlikely]] {
    construct_over_wall<State>(actor, std::forward<Args>(args)...);
  } else {
    ::new (actor.state) State(std::forward<Args>(args)...);
  }
}

/// Constructs in place; if that throws, nothing of the actor is left, and the spawner has the
/// exception.
template <class State, class... Args>
Pid spawn(const ActorClass& kind, const SpawnOptions& options, Domain* domain, Args&&... args) {
  const NewActor actor = begin_spawn(kind, options, domain);
  CancelSpawn cancel{&actor};
  construct<State>(actor, std::forward<Args>(args)...);
  cancel.actor = nullptr;
  return finish_spawn(actor, kind, options);
}

/// An isolated actor of class A before it is constructed, which it does itself, in its own turn:
/// what it is constructed from has crossed into its heap.
template <class A, class... Args>
class Cell {
 public:
  template <class... From>
  explicit Cell(const From&... from) : arguments_(argument_anew<Args>(from)...) {}
  Cell(const Cell&) = delete;
  Cell& operator=(const Cell&) = delete;
  ~Cell() {
    if (built_) actor_.~A();
  }

  void build() {
    std::apply(
        [this](Args&... arguments) {
          ::new (static_cast<void*>(__builtin_addressof(actor_))) A(std::move(arguments)...);
        },
        arguments_);
    built_ = true;
  }

 private:
  union {
    A actor_;  // first: handlers are called with a pointer to it
  };
  std::tuple<Args...> arguments_;
  bool built_ = false;
};

// Whether a class has a member of that name at all, public or not: it then makes the name ambiguous
// beside another base class that has one. A final class can be asked only for what is public and
// not overloaded.
struct HasStarted {
  int started;
};
struct HasReceiveTimeout {
  int receive_timeout;
};
template <class A, class Other>
struct Beside : A, Other {};
template <class A>
concept Asked = std::is_class_v<A> && !std::is_final_v<A>;
template <class A>
concept NamesStarted = requires {
  &A::started;
}
|| (Asked<A> && !requires { &Beside<A, HasStarted>::started; });
template <class A>
concept NamesReceiveTimeout = requires {
  &A::receive_timeout;
}
|| (Asked<A> && !requires { &Beside<A, HasReceiveTimeout>::receive_timeout; });

/// A data member that happens to have the name.
template <class A>
concept HoldsStarted = requires(A& actor) {
  requires std::is_object_v<std::remove_reference_t<decltype((actor.started))>>;
};
template <class A>
concept HoldsReceiveTimeout = requires(A& actor) {
  requires std::is_object_v<std::remove_reference_t<decltype((actor.receive_timeout))>>;
};

// What an actor's class points to. Functions with names, and not lambdas: for what a lambda turns
// into as a pointer gcc writes no debugging information, and a debugger then cannot tell which of
// the user's functions have been inlined into it.
template <class A>
void destroy_state(void* state) {
  static_cast<A*>(state)->~A();
}
template <class A>
void call_started(void* actor) {
  static_cast<A*>(actor)->started();
}
template <class F>
void call_body(void* body) {
  static_cast<void>((*static_cast<F*>(body))());
}
template <class A>
std::int64_t call_receive_timeout(void* actor) {
  return Timeout(static_cast<A*>(actor)->receive_timeout()).nanoseconds();
}
template <class A>
void deliver_receive_timeout(void* actor) {
  static_cast<A*>(actor)->receive(ReceiveTimeout{});
}

template <class A>
constexpr ActorClass make_class() {
  ActorClass kind{};
  kind.hides_noexcept = kHidesNoexcept;
  kind.size = sizeof(A);
  kind.alignment = alignof(A);
  kind.name = type_name<A>();
  kind.destroy = &destroy_state<A>;
  if constexpr (requires(A & actor) { actor.started(); }) {
    kind.started = &call_started<A>;
  } else {
    static_assert(
        !NamesStarted<A> || HoldsStarted<A>,
        "bulkhead: started() of this class cannot be called: make it public, and callable "
        "without arguments (or, if it is not the function that runs when the actor "
        "starts, give it another name)");
  }
  if constexpr (requires(A & actor) { actor.receive_timeout(); }) {
    static_assert(
        requires(A & actor) { actor.receive(ReceiveTimeout{}); },
        "bulkhead: an actor with receive_timeout() needs a public "
        "receive(bulkhead::ReceiveTimeout)");
    kind.receive_timeout = &call_receive_timeout<A>;
    kind.on_receive_timeout = &deliver_receive_timeout<A>;
  } else {
    static_assert(!NamesReceiveTimeout<A> || HoldsReceiveTimeout<A>,
                  "bulkhead: receive_timeout() of this class cannot be called: make it public, and "
                  "callable without arguments (or, if it is not the actor's receive timeout, give "
                  "it another name)");
  }
  if constexpr (handler::kAccepted<A, Down>) kind.down = &handler::kTell<A, Down>;
  if constexpr (handler::kAccepted<A, Exited>) kind.exited = &handler::kTell<A, Exited>;
  return kind;
}

/// State is F, or holds an F: what the user gave, and what the actor is named after.
template <class F, class State = F>
constexpr ActorClass make_callable_class() {
  ActorClass kind{};
  kind.hides_noexcept = kHidesNoexcept;
  kind.size = sizeof(State);
  kind.alignment = alignof(State);
  kind.name = type_name<F>();
  kind.destroy = &destroy_state<State>;
  kind.started = &call_body<State>;
  kind.runs_once = true;
  return kind;
}

/// The running actor has made itself. False when it is to end at once, since it has asked to.
[[nodiscard]] bool is_built() noexcept;

template <class A, class State>
void build_and_start(void* state) {
  static_cast<State*>(state)->build();
  if (!is_built()) return;
  if constexpr (requires(A & actor) { actor.started(); }) static_cast<A*>(state)->started();
}
template <class A, class State>
constexpr ActorClass make_cell_class() {
  ActorClass kind = make_class<A>();
  kind.size = sizeof(State);
  kind.alignment = alignof(State);
  kind.destroy = &destroy_state<State>;
  kind.started = &build_and_start<A, State>;
  return kind;
}

template <class A>
inline constexpr ActorClass kClass = make_class<A>();
template <class A, class State>
inline constexpr ActorClass kCellClass = make_cell_class<A, State>();
template <class F, class State = F>
inline constexpr ActorClass kCallableClass = make_callable_class<F, State>();

template <class State>
std::shared_ptr<Joint> take_joint(void* body) {
  return std::move(static_cast<State*>(body)->joint);
}
template <class F, class R>
constexpr ActorClass make_joined_class() {
  using State = JoinedBody<F, R>;
  ActorClass kind = make_callable_class<F, State>();
  kind.joint = &take_joint<State>;
  return kind;
}
template <class F, class R>
inline constexpr ActorClass kJoinedClass = make_joined_class<F, R>();

template <class A>
constexpr void check_actor() {
  static_assert(std::is_object_v<A> && !std::is_const_v<A>,
                "bulkhead: an actor is an object of a class of yours");
  static_assert(alignof(A) <= kMaxMessageAlignment,
                "bulkhead: an actor's class may be aligned to 64 bytes at most");
  static_assert(std::is_nothrow_destructible_v<A>,
                "bulkhead: an actor's destructor must not throw");
}

template <class Actor, class... Arguments>
constexpr void check_arguments() {
  static_assert(!std::is_abstract_v<Actor>,
                "bulkhead: an actor's class must not be abstract (Actor above)");
  static_assert(std::is_abstract_v<Actor> || std::is_constructible_v<Actor, Arguments...>,
                "bulkhead: an actor of this class cannot be constructed from these arguments "
                "(Actor and Arguments above), or its constructor is not public");
}

/// The actor, which is being made, will own it.
void give_seed(const NewActor& actor, Seed* seed) noexcept;

template <class State, class... Args>
void plant(const NewActor& actor, bool makes_itself, const Args&... args) {
  MessageHeap heap;
  Seed* seed = nullptr;
  {
    const OverWall wall(OverWall::Way::kOut, heap.get());
    seed = new SeedOf<State, Args...>(makes_itself, args...);
  }
  seed->heap = heap.release();
  give_seed(actor, seed);
}

/// For what it is made from again; `actor` has been begun.
template <class State, class... Args>
void plant_if_it_restarts(const SpawnOptions& options, const NewActor& actor, const Args&... args) {
  if (!options.restart) return;
  if constexpr ((crossing::kHandsOver<Args> || ...)) {
    refuse_to_restart(first_that_is_handed_over<Args...>());
  } else {
    plant<State, Args...>(actor, true, args...);
  }
}

template <class A, class... Args>
Address<A> spawn_isolated(const SpawnOptions& options, Domain* domain, Args&&... args) {
  if constexpr (!(kCrossesAsArgument<std::decay_t<Args>> && ...)) {
    refuse_to_isolate(first_that_cannot_cross<std::decay_t<Args>...>());
  } else if constexpr (!std::is_constructible_v<A, std::decay_t<Args>...>) {
    refuse_to_isolate(type_name<A>());
  } else {
    using State = Cell<A, std::decay_t<Args>...>;
    const ActorClass& kind = kCellClass<A, State>;
    const NewActor actor = begin_spawn(kind, options, domain);
    CancelSpawn cancel{&actor};
    plant_if_it_restarts<State, std::decay_t<Args>...>(options, actor, args...);
    {
      const OverWall heap(actor);
      ::new (actor.state) State(args...);
      (leave_argument<Args>(args), ...);
    }
    cancel.actor = nullptr;
    return Address<A>(finish_spawn(actor, kind, options));
  }
}

template <class A, class... Args>
Address<A> spawn_actor(const SpawnOptions& options, Domain* domain, Args&&... args) {
  check_actor<A>();
  check_arguments<A, Args...>();
  if (options.isolated) [[unlikely]]
    return spawn_isolated<A>(options, domain, std::forward<Args>(args)...);
  if constexpr (std::is_constructible_v<A, Args...>) {
    return Address<A>(spawn<A>(kClass<A>, options, domain, std::forward<Args>(args)...));
  } else {
    return Address<A>();  // never: it has not compiled
  }
}

/// Does not compile: an object was given where a function is wanted.
template <class Object>
constexpr void refuse_object() {
  static_assert(!std::is_object_v<Object>,
                "bulkhead: spawn was given an object that cannot be called without arguments "
                "(Object above): spawn<A>(arguments...) makes an actor of class A, and "
                "spawn(function) one that runs a function once");
}

template <class F>
Pid spawn_body(const SpawnOptions& options, Domain* domain, F&& body) {
  using State = std::decay_t<F>;
  check_actor<State>();
  if constexpr (!kStaysAsItIs<State>) {
    if (options.isolated) [[unlikely]]
      refuse_to_isolate(type_name<State>());
  }
  const NewActor actor = begin_spawn(kCallableClass<State>, options, domain);
  CancelSpawn cancel{&actor};
  if constexpr (kStaysAsItIs<State>) {
    if (options.restart) [[unlikely]]
      plant<State, State>(actor, false, body);
  }
  construct<State>(actor, std::forward<F>(body));
  cancel.actor = nullptr;
  return finish_spawn(actor, kCallableClass<State>, options);
}

template <class F>
auto spawn_joined(const SpawnOptions& options, Domain* domain, F&& body) {
  using Function = std::decay_t<F>;
  using R = std::decay_t<std::invoke_result_t<Function&>>;
  using State = JoinedBody<Function, R>;
  check_actor<Function>();
  auto joint = std::make_shared<JointOf<R>>();
  State state{std::forward<F>(body), joint};
  const Pid pid = spawn<State>(kJoinedClass<Function, R>, options, domain, std::move(state));
  return JoinHandle<R>(pid, std::move(joint));
}

}  // namespace core

/// What an actor can run once: `body()`.
template <class F>
concept Body = requires(std::decay_t<F>& body) {
  body();
};

/// In an actor: makes an actor of class A, constructed with `args` here and now. It starts on its
/// spawner's core, or on the one that the options name. What the constructor throws, the spawner
/// gets. Throws SpawnError when the runtime has no room for another actor, or is shutting down, and
/// outside actors; ConfigError for options that make no sense; std::bad_alloc.
template <class A, class... Args>
Address<A> spawn_with(const SpawnOptions& options, Args&&... args) {
  return core::spawn_actor<A>(options, nullptr, std::forward<Args>(args)...);
}
template <class A, class... Args>
Address<A> spawn(Args&&... args) {
  return spawn_with<A>(core::kSpawnDefaults, std::forward<Args>(args)...);
}

/// In an actor: makes a green thread, an actor that runs `body()` once, in plain blocking style,
/// and then ends.
template <Body F>
Pid spawn_with(const SpawnOptions& options, F&& body) {
  return core::spawn_body(options, nullptr, std::forward<F>(body));
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

/// The same, to be joined: see JoinHandle.
template <Body F>
auto spawn_joinable_with(const SpawnOptions& options, F&& body) {
  return core::spawn_joined(options, nullptr, std::forward<F>(body));
}
template <Body F>
auto spawn_joinable(F&& body) {
  return spawn_joinable_with(core::kSpawnDefaults, std::forward<F>(body));
}

}  // namespace bulkhead
