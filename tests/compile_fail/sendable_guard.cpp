// C7: a lock is let go by the actor that took it.
// expect: cannot be sent: it holds something for which bulkhead::kSendable is specialised to false
// expect: (Holder = |refuse\w*<)Bad[;,]
// expect: (Bad::guard\)|value\.guard\b)
// expect: (M = Bad\b|check_sendable<Bad>)
#include "bulkhead/mutex.hpp"

struct Bad {
  int id;
  bulkhead::Mutex::Guard guard;
};

int main() { bulkhead::check_sendable<Bad>(); }
