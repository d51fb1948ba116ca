// A hook of an application that does not take what it is given (C15).
// expect: error: no match for .operator=.|error: no viable overloaded '='
#include <bulkhead/otp.hpp>

void set(bulkhead::Application& shop) {
  shop.stopping = [](bulkhead::SupervisorRef) {};
}
