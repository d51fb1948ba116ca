// expect: (could not convert|no viable conversion).*Address<Actor>.*to.*Port<int>
#include <bulkhead/bulkhead.hpp>

struct Actor {
  void receive(unsigned char) {}
};

bulkhead::Port<int> use(bulkhead::Address<Actor> actor) { return actor; }
