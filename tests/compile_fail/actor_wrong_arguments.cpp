// expect: bulkhead: an actor of this class cannot be constructed from these
// expect: (Actor = Actor; Arguments = \{|check_arguments<Actor, )const char ?\(&\)\s?\[5\][}>]
#include <bulkhead/bulkhead.hpp>

struct Actor {
  explicit Actor(int) {}
  void receive(int) {}
};

void make(bulkhead::Runtime& runtime) { runtime.spawn<Actor>("text"); }
