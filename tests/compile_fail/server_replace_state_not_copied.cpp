// A replacement of the state of a server that cannot be copied (C14).
// expect: error: static assertion failed.*: bulkhead: replace_state changes a copy of the server
#include <bulkhead/otp.hpp>

#include <memory>

struct Till : bulkhead::GenServer {
  std::unique_ptr<int> sum;
};

void f(bulkhead::ServerRef<Till> till) {
  bulkhead::sys::replace_state(till, [](Till&) {});
}
