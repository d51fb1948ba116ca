// C2: as for send, a number is not cut.
// expect: bulkhead: this handler takes a number that cannot hold all values of the message
// expect: Mailbox<long
#include <bulkhead/bulkhead.hpp>

void take(bulkhead::Mailbox<long>& mailbox) {
  mailbox.next([](short) {});
}
