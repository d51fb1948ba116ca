// A server whose base class is private (C14).
// expect: static assertion failed.*: bulkhead: start_server starts a class that derives publicly
#include <bulkhead/otp.hpp>

class Till : bulkhead::GenServer {};

void f() { static_cast<void>(bulkhead::start_server<Till>({})); }
