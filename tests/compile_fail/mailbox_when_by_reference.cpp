// C2: a condition only looks.
// expect: bulkhead: the condition of this `when` cannot be asked of the message
#include <bulkhead/bulkhead.hpp>

struct Hit {};

void take(bulkhead::Mailbox<Hit>& mailbox) {
  mailbox.next(bulkhead::when([](Hit&) { return true; }, [](Hit) {}));
}
