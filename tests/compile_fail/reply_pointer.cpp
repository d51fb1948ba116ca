// expect: static assertion failed.*bulkhead: this reply cannot be sent
// expect: static assertion failed.*it holds a raw pointer, which would dangle
#include <bulkhead/bulkhead.hpp>

struct Get {};
struct Result {
  int number;
  int* more;
};
class Store {
 public:
  Result receive(Get) { return {1, &number_}; }

 private:
  int number_ = 0;
};

bool use(bulkhead::Address<Store> store) { return store.ask(Get{}).has_value(); }
