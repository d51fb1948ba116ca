// C2: a const handler can be called as const only.
// expect: bulkhead: this handler would never run, as it is const
#include <bulkhead/bulkhead.hpp>

struct Hit {};

void take(bulkhead::Mailbox<Hit>& mailbox) {
  const auto handler = [count = 0](Hit) mutable { ++count; };
  mailbox.next(handler);
}
