// C2, A13
// expect: bulkhead: the handler for this message takes a Reply of another type
#include <bulkhead/bulkhead.hpp>

#include <string>

struct Question {
  using Answer = int;
};

void take(bulkhead::Mailbox<Question>& mailbox) {
  mailbox.next([](Question, bulkhead::Reply<std::string>) {});
}
