// What a handler returns goes the way of a message (D4).
// expect: static assertion failed.*bulkhead: this reply cannot be sent
// expect: static assertion failed.*it holds a std::string_view, which would dangle
// expect: (Answer = |name_reply<)std::basic_string_view<char>
#include <bulkhead/bulkhead.hpp>

#include <string>
#include <string_view>

struct Get {};
class Store {
 public:
  std::string_view receive(Get) { return text_; }

 private:
  std::string text_ = "text";
};

bool use(bulkhead::Address<Store> store) { return store.ask(Get{}).has_value(); }
