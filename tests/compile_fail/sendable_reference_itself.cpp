// A message is sent as a value.
// expect: bulkhead: this message cannot be sent: it is a reference
// expect: (M = Order&|check_sendable<Order &>)
#include "bulkhead/message.hpp"

struct Order {
  int id;
};

int main() { bulkhead::check_sendable<Order&>(); }
