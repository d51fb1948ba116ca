// C2: of those that take a message the first does.
// expect: bulkhead: this handler would never run: those before it take all that it takes
#include <bulkhead/bulkhead.hpp>

struct Hit {};
struct Miss {};

void take(bulkhead::Mailbox<Hit, Miss>& mailbox) {
  mailbox.next([](Miss) {}, [](auto) {}, [](const Hit&) {});
}
