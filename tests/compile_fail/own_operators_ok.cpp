// Actors, messages and answers whose class has an operator new, or an operator &, of its own.
// expect-ok
#include <bulkhead/bulkhead.hpp>

#include <cstddef>

struct Own {
  static void* operator new(std::size_t) = delete;
  static void operator delete(void*) = delete;
  void operator&() const = delete;
};
struct Message : Own {
  int number = 0;
};
struct Answer : Own {
  int number = 0;
};
struct Throwing : Own {
  Throwing() = default;
  Throwing(Throwing&&) {}
};
struct Later : Own {
  using Answer = ::Answer;
};
struct Actor : Own {
  void receive(Message) {}
  Answer receive(int) { return {}; }
  Throwing receive(Throwing message) { return message; }
  void receive(Later, bulkhead::Reply<Answer> reply) { reply(); }
};
struct Body : Own {
  Answer operator()() const { return {}; }
};

void use(bulkhead::Runtime& runtime) {
  const auto actor = runtime.spawn<Actor>();
  actor.send(Message{});
  Message kept;
  static_cast<void>(actor.try_send(kept));
  static_cast<void>(actor.send_or_wait(kept));
  static_cast<void>(actor.ask(1));
  static_cast<void>(actor.ask(Throwing{}));
  static_cast<void>(actor.ask(Later{}));
  bulkhead::send_after(bulkhead::Timeout::forever(), actor, Message{});
  static_cast<void>(runtime.spawn_joinable(Body{}).join());
}
