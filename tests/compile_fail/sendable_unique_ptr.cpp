// What a std::unique_ptr owns comes along, and so is looked into.
// expect: bulkhead: this message cannot be sent: it holds a raw pointer
// expect: (Holder = |refuse\w*<)Node[;,]
// expect: (Member = |, )Node ?\*(; int Position = |, )3[;,]
// expect: (Node::previous\)|value\.previous\b)
// expect: (M = Bad\b|check_sendable<Bad>)
#include "bulkhead/message.hpp"

#include <memory>

struct Node {
  int value;
  std::unique_ptr<Node> next;
  Node* previous;
};

struct Bad {
  std::unique_ptr<Node> list;
};

int main() { bulkhead::check_sendable<Bad>(); }
