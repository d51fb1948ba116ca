// A message goes over the stacks of sender and receiver.
// expect: static assertion failed.*bulkhead: this message cannot be sent: it is larger than 16 KiB
#include <bulkhead/bulkhead.hpp>

struct Large {
  char bytes[16 * 1024 + 1];
};
struct Actor {
  void receive(const Large&) {}
};

void use(bulkhead::Address<Actor> actor, const Large& large) { actor.send(large); }
