// expect: to or from an isolated actor: it holds something whose bulkhead::Crossing has no
// expect: (Member = |, )Ledger(; int Position = |, )0[;,]
#include "bulkhead/cross.hpp"

#include <string>

struct Ledger {
  std::string text;
};
template <>
struct bulkhead::Crossing<Ledger> {
  static Ledger* cross(const Ledger& from);
};

int main() { bulkhead::check_crossable<Ledger>(); }
