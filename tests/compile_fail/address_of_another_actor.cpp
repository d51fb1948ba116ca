// expect: (conversion from|no viable|no match for).*(Address<Other>|operator=)
#include <bulkhead/bulkhead.hpp>

struct Actor {
  void receive(int) {}
};
struct Other {
  void receive(int) {}
};

void make(bulkhead::Runtime& runtime) {
  bulkhead::Address<Actor> actor = runtime.spawn<Other>();
  actor.send(1);
}
