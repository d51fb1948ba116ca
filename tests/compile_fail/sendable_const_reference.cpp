// A reference to const would dangle too.
// expect: bulkhead: this message cannot be sent: it holds a reference
// expect: (Holder = |refuse\w*<)Bad[;,]
// expect: (Member = |, )const int ?&(; int Position = |, )2[;,]
// expect: (M = Bad\b|check_sendable<Bad>)
#include "bulkhead/message.hpp"

struct Bad {
  int id;
  int const& total;
};

int main() { bulkhead::check_sendable<Bad>(); }
