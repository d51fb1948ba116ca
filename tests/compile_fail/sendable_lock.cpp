// A lock is released by the thread that took it.
// expect: bulkhead: this message cannot be sent: it holds a view of something else or a lock
// expect: (Holder = |refuse\w*<)Bad[;,]
// expect: (Member = |, )std::unique_lock<std::mutex>(; int Position = |, )1[;,]
// expect: (Bad::lock\)|value\.lock\b)
// expect: (M = Bad\b|check_sendable<Bad>)
#include "bulkhead/message.hpp"

#include <mutex>

struct Bad {
  std::unique_lock<std::mutex> lock;
};

int main() { bulkhead::check_sendable<Bad>(); }
