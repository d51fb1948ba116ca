// C2
// expect: bulkhead: a Mailbox names each of its messages once
#include <bulkhead/bulkhead.hpp>

struct Hit {};
struct Miss {};

void take(bulkhead::Mailbox<Hit, Miss, Hit>& mailbox) {
  mailbox.next([](Hit) {});
}
