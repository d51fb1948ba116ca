// A message with a pointer in it, sent to an actor that would take it (D4).
// expect: error: static assertion failed.*: bulkhead: this message cannot be sent
// expect: (M = Note\b|check_sendable<Note>)
#include <bulkhead/bulkhead.hpp>

struct Note {
  const char* text;
};
struct Board {
  void receive(Note) {}
};

void f(bulkhead::Address<Board> board) { board.send(Note{"hello"}); }
