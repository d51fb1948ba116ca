// C2: condition and handler are for the same message.
// expect: bulkhead: the condition of this `when` cannot be asked of the message
#include <bulkhead/bulkhead.hpp>

struct Hit {};
struct Miss {};

void take(bulkhead::Mailbox<Hit, Miss>& mailbox) {
  mailbox.next(bulkhead::when([](const Miss&) { return true; }, [](Hit) {}));
}
