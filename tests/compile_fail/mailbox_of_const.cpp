// C2
// expect: bulkhead: a Mailbox names the types of its messages without const or &
#include <bulkhead/bulkhead.hpp>

struct Hit {};

void take(bulkhead::Mailbox<const Hit>& mailbox) {
  mailbox.next([](Hit) {});
}
