// A message that the actor has no handler for (D4).
// expect: error: static assertion failed.*: bulkhead: this actor has no handler for this message
// expect: (Actor = Echo; Message = |check_handled<Echo, )Pong
#include <bulkhead/bulkhead.hpp>

struct Ping {
  int n;
};
struct Pong {};
struct Echo {
  void receive(Ping) {}
};

void f(bulkhead::Address<Echo> echo) { echo.send(Pong{}); }
