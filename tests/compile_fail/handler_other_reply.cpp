// A13: the message says what it is answered with, and the handler's Reply is for that.
// expect: bulkhead: the handler for this message takes a Reply of another type
// expect: Echo.*Question
#include <bulkhead/bulkhead.hpp>

#include <string>

struct Question {
  using Answer = int;
};
struct Echo {
  void receive(Question, bulkhead::Reply<std::string>) {}
};

void use(bulkhead::Address<Echo> echo) {
  echo.send(Question{});
  static_cast<void>(echo.ask(Question{}));
}
