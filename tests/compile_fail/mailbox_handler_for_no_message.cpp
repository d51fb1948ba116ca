// C2
// expect: bulkhead: this mailbox takes no message that this handler can be called with
// expect: Mailbox<Hit, Question>.*Miss
#include <bulkhead/bulkhead.hpp>

struct Hit {};
struct Miss {};
struct Question {
  using Answer = int;
};

void take(bulkhead::Mailbox<Hit, Question>& mailbox) {
  mailbox.next([](Miss) {}, [](Hit) {});
}
