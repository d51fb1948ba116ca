// An iterator points into a container that the sender keeps.
// expect: bulkhead: this message cannot be sent: it holds an iterator
// expect: (Holder = |refuse\w*<)Bad[;,]
// expect: (Member = |, )std::_List_iterator<int>(; int Position = |, )1[;,]
// expect: (Bad::place\)|value\.place\b)
// expect: (M = Bad\b|check_sendable<Bad>)
#include "bulkhead/message.hpp"

#include <list>

struct Bad {
  std::list<int>::iterator place;
};

int main() { bulkhead::check_sendable<Bad>(); }
