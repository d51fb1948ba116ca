// C2
// expect: bulkhead: this mailbox does not take M
#include <bulkhead/bulkhead.hpp>

struct Hit {};
struct Miss {};

void take(bulkhead::Mailbox<Hit>& mailbox) { static_cast<void>(mailbox.next<Miss>()); }
