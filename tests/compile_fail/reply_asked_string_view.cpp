// The same where it is asked, and answered who knows where.
// expect: static assertion failed.*bulkhead: this reply cannot be sent
// expect: static assertion failed.*it holds a std::string_view, which would dangle
#include <bulkhead/bulkhead.hpp>

#include <string_view>

struct Get {
  using Answer = std::string_view;
};
struct Store {
  void receive(Get, bulkhead::Reply<std::string_view> reply);
};

bool use(bulkhead::Address<Store> store) { return store.ask(Get{}).has_value(); }
