// C2: a message is given away, and not lent.
// expect: bulkhead: this handler would never run, as it takes its message by &
#include <bulkhead/bulkhead.hpp>

struct Hit {};

void take(bulkhead::Mailbox<Hit>& mailbox) {
  mailbox.next([](Hit&) {});
}
