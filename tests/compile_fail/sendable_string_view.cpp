// A view of characters would dangle.
// expect: cannot be sent: it holds a std::string_view, which would dangle; send std::string instead
// expect: (Holder = |refuse\w*<)Bad[;,]
// expect: (Member = |, )std::basic_string_view<char>(; int Position = |, )2[;,]
// expect: (Bad::text\)|value\.text\b)
// expect: (M = Bad\b|check_sendable<Bad>)
#include "bulkhead/message.hpp"

#include <string_view>

struct Bad {
  int id;
  std::string_view text;
};

int main() { bulkhead::check_sendable<Bad>(); }
