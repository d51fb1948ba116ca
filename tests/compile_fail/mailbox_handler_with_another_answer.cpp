// C2, A13
// expect: bulkhead: this handler does not return what its message is answered with
#include <bulkhead/bulkhead.hpp>

#include <string>

struct Question {
  using Answer = int;
};

void take(bulkhead::Mailbox<Question>& mailbox) {
  mailbox.next([](Question) { return std::string("5"); });
}
