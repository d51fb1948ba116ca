// expect: (conversion from|could not convert|cannot convert).*Address<Actor>
#include <bulkhead/bulkhead.hpp>

#include <string>

struct Actor {
  void receive(int) {}
};

void make(bulkhead::Runtime& runtime) {
  const auto actor = runtime.spawn<Actor>();
  const bulkhead::Port<std::string> port = actor;
  port.send("text");
}
