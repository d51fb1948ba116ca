// C2
// expect: bulkhead: this mailbox takes no message that this handler can be called with
#include <bulkhead/bulkhead.hpp>

struct Hit {};

void take(bulkhead::Mailbox<Hit>& mailbox) { mailbox.next_for(bulkhead::kForever, 5); }
