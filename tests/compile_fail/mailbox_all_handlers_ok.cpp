// Every form that a handler of Mailbox::next may have (C2).
// expect-ok
#include <bulkhead/bulkhead.hpp>

#include <any>
#include <functional>
#include <string>

using bulkhead::Mailbox;
using bulkhead::Reply;
using bulkhead::when;

struct Hit {
  int value;
  void count() {}
  bool is_big() const { return value > 1; }
};
struct Question {
  using Answer = int;
};
struct Order {
  using Answer = void;
};
struct Overloaded {
  void operator()(Hit) {}
  int operator()(Question) { return 1; }
};

void on_hit(Hit) {}
void on_any_hit(const Hit&) noexcept {}
int on_question(Question&&) { return 1; }

void take(Mailbox<Hit, Question, Order>& mailbox) {
  mailbox.next(on_hit, on_question);
  mailbox.next(&on_any_hit, std::function<void(Order)>());
  const auto constant = [](Hit) {};
  auto counting = [count = 0](Hit hit) mutable { count += hit.value; };
  mailbox.next(constant);
  mailbox.next(counting);
  mailbox.next(std::move(counting));
  mailbox.next(Overloaded());
  mailbox.next(&Hit::count);

  mailbox.next([](Question) { return 1; }, [](Order) {});
  mailbox.next([](Question, Reply<int> reply) { reply(1); }, [](Order, Reply<void>&&) {});
  mailbox.next([](Order) { return std::string("is handled, which is all that is answered"); });

  mailbox.next([](Hit) {}, [](Question) { return 1; }, [](Order) {}, [](auto) {});
  mailbox.next([](auto) {});
  mailbox.next([](auto&&... message_and_reply) { (static_cast<void>(message_and_reply), ...); });
  mailbox.next([](const std::any&) {});

  mailbox.next(when(&Hit::is_big, &Hit::count), constant);
  const auto narrowed = when([](const Hit& hit) { return hit.value; }, on_hit);
  mailbox.next(narrowed);
  mailbox.next(when([](const Hit&) { return true; }, [](auto hit) { hit.count(); }));
  mailbox.next(when([](const auto&) { return true; }, [](auto) {}), [](Hit) {});

  static_cast<void>(on_message(mailbox, narrowed, constant));
  static_cast<void>(on_message(mailbox, counting, on_question));
}

void take_numbers(Mailbox<long, short, double>& mailbox) {
  mailbox.next([](short) {}, [](long) {}, [](auto) {});
  mailbox.next([](double) {});
}
