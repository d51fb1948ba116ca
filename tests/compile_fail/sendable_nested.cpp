// The way to the culprit is told: through members, arrays and containers.
// expect: bulkhead: this message cannot be sent: it holds a std::string_view
// expect: (Holder = |refuse\w*<)Customer[;,]
// expect: (Member = |, )std::basic_string_view<char>(; int Position = |, )2[;,]
// expect: (Customer::title\)|value\.title\b)
// expect: bulkhead::Types<Bad, Basket, Customer>
// expect: (Holder = |refuse\w*<)Bad[;,]
// expect: (Member = |, )Basket ?\[3\](; int Position = |, )2[;,]
// expect: (Bad::baskets\)|value\.baskets\b)
// expect: (M = Bad\b|check_sendable<Bad>)
#include "bulkhead/message.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

struct Customer {
  std::string name;
  std::string_view title;
};

struct Basket {
  std::map<int, std::vector<Customer>> customers;
};

struct Bad {
  int id;
  Basket baskets[3];
};

int main() { bulkhead::check_sendable<Bad>(); }
