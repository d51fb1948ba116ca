// C2, C6
// expect: bulkhead: this mailbox takes no message that this handler can be called with
#include <bulkhead/bulkhead.hpp>

struct Hit {};
struct Miss {};

void take(bulkhead::Mailbox<Hit>& mailbox) {
  bulkhead::select(on_message(mailbox, [](Miss) {}));
}
