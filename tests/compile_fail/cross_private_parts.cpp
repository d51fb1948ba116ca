// A class that cannot be looked into must say how it crosses.
// expect: to or from an isolated actor: it holds a class that is not trivially copyable
// expect: say by bulkhead::Crossing how it crosses
// expect: (Holder = |refuse\w*<)Basket[;,]
// expect: (Member = |, )Ledger(; int Position = |, )2[;,]
// expect: (Basket::ledger\)|value\.ledger\b)
// expect: (Holder = |refuse\w*<)Bad[;,]
// expect: (M = Bad\b|check_crossable<Bad>)
#include "bulkhead/cross.hpp"

#include <map>
#include <string>

class Ledger {
 public:
  Ledger() = default;

 private:
  std::string text_;
};

struct Basket {
  int number;
  Ledger ledger;
};

struct Bad {
  int id;
  std::map<int, Basket> baskets[2];
};

int main() { bulkhead::check_crossable<Bad>(); }
