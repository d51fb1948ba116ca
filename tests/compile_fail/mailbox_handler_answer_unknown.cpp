// C2, A13
// expect: bulkhead: the handler for this message takes a Reply, so the message must say what it is
#include <bulkhead/bulkhead.hpp>

struct Hit {};

void take(bulkhead::Mailbox<Hit>& mailbox) {
  mailbox.next([](Hit, bulkhead::Reply<int>) {});
}
