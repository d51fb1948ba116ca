// C2, A13: a generic handler may return nothing, but not something else.
// expect: bulkhead: this handler does not return what its message is answered with
// expect: Question
#include <bulkhead/bulkhead.hpp>

#include <string>

struct Hit {};
struct Question {
  using Answer = int;
};

void take(bulkhead::Mailbox<Hit, Question>& mailbox) {
  mailbox.next([](auto) { return std::string("5"); });
}
