// Compiled, not run, by bench/compare: the two-actor program as event-based actors of CAF.
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/scoped_actor.hpp>

caf::behavior pong(caf::event_based_actor*) {
  return {[](int value) { return value + 1; }};
}

caf::behavior ping(caf::event_based_actor* self, caf::actor other, caf::actor observer) {
  self->send(other, 0);
  return {[=](int value) {
    if (value < 10) {
      self->send(other, value);
    } else {
      self->send(observer, value);
      self->quit();
    }
  }};
}

int main() {
  caf::actor_system_config config;
  caf::actor_system system(config);
  caf::scoped_actor self(system);
  system.spawn(ping, system.spawn(pong), caf::actor(self));
  int last = 0;
  self->receive([&](int value) { last = value; });
  return last == 10 ? 0 : 1;
}
