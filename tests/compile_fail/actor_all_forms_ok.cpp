// Every form that an actor and its use may have.
// expect-ok
#include <bulkhead/bulkhead.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

struct Question {
  using Answer = std::string;
};
struct Done {
  using Answer = void;
};
struct Move {
  std::unique_ptr<int> number;
};

class Actor {
 public:
  Actor() = default;
  Actor(int, std::unique_ptr<int>) {}

  void started() {}
  bulkhead::Timeout receive_timeout() const { return bulkhead::kForever; }
  void receive(bulkhead::ReceiveTimeout) {}

  void receive(int) {}
  long receive(const std::string& text) { return static_cast<long>(text.size()); }
  std::unique_ptr<int> receive(Move&& move) { return std::move(move.number); }
  void receive(Question, bulkhead::Reply<std::string> reply) { reply("answer"); }
  void receive(Done, bulkhead::Reply<void>&& reply) { reply(); }
  template <class T>
  void receive(std::vector<T> many) {
    static_cast<void>(many);
  }
};

// A handler that only reads.
class Reader {
 public:
  int receive(int value) const noexcept { return value; }
};

// Numbers that reach a handler of another type, which holds them all.
class Numbers {
 public:
  void receive(int) {}
  void receive(long) {}
  void receive(double) {}
};
struct Wide {
  explicit Wide(bool begun) : started(begun) {}
  void receive(long number) { number_ = number; }
  bool started;  // data members may have any name
  long number_ = 0;
};
struct Real {
  void receive(double) {}
};
struct Wrapped {
  Wrapped(int value) : number(value) {}  // NOLINT: converts
  int number;
};
struct Convert {
  void receive(Wrapped) {}
};
struct Any {
  template <class T>
  void receive(T) {}
};
struct Final final {
  void started() {}
  void receive(int) {}
};

void use_numbers(bulkhead::Runtime& runtime) {
  const auto numbers = runtime.spawn<Numbers>();
  numbers.send(short{1});
  numbers.send('c');
  numbers.send(true);
  numbers.send(1.0F);
  const auto wide = runtime.spawn<Wide>(true);
  wide.send(1);
  wide.send(short{1});
  wide.send(1L);
  runtime.spawn<Real>().send(1);
  runtime.spawn<Convert>().send(1);
  runtime.spawn<Any>().send(1);
  runtime.spawn<Final>().send(1);
}

void use(bulkhead::Runtime& runtime) {
  const bulkhead::Address<Actor> actor = runtime.spawn<Actor>();
  bulkhead::SpawnOptions options;
  options.pinned = true;
  runtime.spawn_with<Actor>(options, 1, std::make_unique<int>(2)).send(1);
  const bulkhead::Pid task = runtime.spawn([number = std::make_unique<int>(3)] { return *number; });
  bulkhead::stop(task);

  actor.send(1);
  actor.send(std::string("text"));
  actor.send(Move{std::make_unique<int>(1)});
  actor.send(Question{});
  actor.send(std::vector<double>{1.0});
  std::string kept = "kept";
  if (actor.try_send(kept) != bulkhead::Delivery::kQueued) kept.clear();
  if (actor.send_or_wait(kept, std::chrono::seconds(1)) != bulkhead::Delivery::kQueued) return;

  const std::expected<long, bulkhead::AskError> length = actor.ask(std::string("text"));
  const std::expected<std::string, bulkhead::AskError> answer = actor.ask(Question{});
  const std::expected<void, bulkhead::AskError> done = actor.ask(Done{}, bulkhead::kForever);
  const std::expected<std::unique_ptr<int>, bulkhead::AskError> number =
      actor.ask(Move{}, std::chrono::milliseconds(5));
  static_cast<void>(length.has_value() && answer.has_value() && done.has_value() &&
                    number.has_value());

  const bulkhead::Port<std::string> port = actor;
  port.send("text");
  const bulkhead::TimerRef timer = bulkhead::send_after(std::chrono::seconds(1), actor, 5);
  bulkhead::send_after(1.5 * std::chrono::seconds(1), port, std::string("text"));
  static_cast<void>(bulkhead::cancel(timer));
  static_cast<void>(runtime.spawn<Reader>().ask(1));
}
