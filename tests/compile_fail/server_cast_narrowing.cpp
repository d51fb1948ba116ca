// A number that the handler cannot hold (C14).
// expect: error: static assertion failed.*: bulkhead: the handler for this cast takes a number
#include <bulkhead/otp.hpp>

struct Till : bulkhead::GenServer {
  void handle_cast(int) {}
};

void f(bulkhead::ServerRef<Till> till) { till.cast(2.5); }
