// expect: static assertion failed.*bulkhead: this reply cannot be sent
// expect: static assertion failed.*it is larger than 16 KiB
#include <bulkhead/bulkhead.hpp>

#include <array>

struct Get {};
struct Store {
  std::array<char, 20'000> receive(Get) { return {}; }
};

bool use(bulkhead::Address<Store> store) { return store.ask(Get{}).has_value(); }
