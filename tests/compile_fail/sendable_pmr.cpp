// A container of std::pmr has its memory from a resource that the sender keeps.
// expect: bulkhead: this message cannot be sent: it holds a std::pmr container
// expect: (Holder = |refuse\w*<)Bad[;,]
// expect: std::vector<int, std::pmr::polymorphic_allocator<int> ?>(; int Position = |, )1
// expect: (Bad::numbers\)|value\.numbers\b)
// expect: (Member = |, )std::pmr::polymorphic_allocator<int>(; int Position = 2|, 2, )
// expect: (M = Bad\b|check_sendable<Bad>)
#include "bulkhead/message.hpp"

#include <memory_resource>
#include <vector>

struct Bad {
  std::pmr::vector<int> numbers;
};

int main() { bulkhead::check_sendable<Bad>(); }
