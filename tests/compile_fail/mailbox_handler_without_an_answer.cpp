// C2, A13: who asks is to be answered.
// expect: bulkhead: this handler does not return what its message is answered with
#include <bulkhead/bulkhead.hpp>

struct Question {
  using Answer = int;
};

void take(bulkhead::Mailbox<Question>& mailbox) {
  mailbox.next([](Question) {});
}
