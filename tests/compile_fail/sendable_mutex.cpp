// What cannot be moved is named, however deep it lies.
// expect: bulkhead: this message cannot be sent: it holds something that cannot be moved
// expect: (Holder = |refuse\w*<)Guarded[;,]
// expect: (Member = |, )std::mutex(; int Position = |, )2[;,]
// expect: (Guarded::mutex\)|value\.mutex\b)
// expect: (Holder = |refuse\w*<)Bad[;,]
// expect: (Member = |, )Guarded(; int Position = |, )3[;,]
// expect: (Bad::guarded\)|value\.guarded\b)
// expect: (M = Bad\b|check_sendable<Bad>)
#include "bulkhead/message.hpp"

#include <mutex>

struct Guarded {
  int value;
  std::mutex mutex;
};

struct Bad {
  int id;
  int lines[2];
  Guarded guarded;
};

int main() { bulkhead::check_sendable<Bad>(); }
