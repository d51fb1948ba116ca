// A message that cannot be moved cannot be handed over.
// expect: bulkhead: this message cannot be sent: it holds something that cannot be moved
// expect: (Holder = |refuse\w*<)Bad[;,]
// expect: (Member = |, )Bad(; int Position = |, )0[;,]
// expect: (M = Bad\b|check_sendable<Bad>)
#include "bulkhead/message.hpp"

class Bad {
 public:
  Bad();
  Bad(Bad const&) = delete;
};

int main() { bulkhead::check_sendable<Bad>(); }
