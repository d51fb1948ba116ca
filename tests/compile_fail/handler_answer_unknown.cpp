// A handler that takes a Reply, for a message that does not say what it is answered with (A13).
// expect: error: static assertion failed.*: bulkhead: the handler for this message takes a Reply
// expect: (Actor = Echo; Message = |check_handled<Echo, )Question
#include <bulkhead/bulkhead.hpp>

struct Question {};
struct Echo {
  void receive(Question, bulkhead::Reply<int>) {}
};

void f(bulkhead::Address<Echo> echo) { static_cast<void>(echo.ask(Question{})); }
