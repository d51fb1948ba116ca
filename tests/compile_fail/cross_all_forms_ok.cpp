// expect-ok
#include "bulkhead/cross.hpp"

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bulkhead/parcel.hpp"

class Ledger {
 public:
  explicit Ledger(std::vector<std::string> lines) : lines_(std::move(lines)) {}

 private:
  friend struct bulkhead::Crossing<Ledger>;
  std::vector<std::string> lines_;
  bulkhead::Parcel<> picture_;
};
template <>
struct bulkhead::Crossing<Ledger> {
  static Ledger cross(const Ledger& from) {
    Ledger to(bulkhead::crossed(from.lines_));
    to.picture_ = bulkhead::crossed(from.picture_);
    return to;
  }
  static void let_go(Ledger& from) noexcept { bulkhead::let_go(from.picture_); }
};

struct Node {
  int number;
  std::vector<Node> children;
  std::unique_ptr<Node> next;
  std::map<std::string, Node> named;
};

struct Message {
  Node node;
  std::vector<Ledger> ledgers;
  void (*then)(int);
  bulkhead::Parcel<float> samples;
};

int main() {
  bulkhead::check_crossable<Message>();
  struct Local {
    std::string text;
    int numbers[3];
  };
  static_assert(bulkhead::Crossable<Local> && !bulkhead::kCrossesWithoutMemory<Local>);
  auto nothing = [](int n) { return n; };
  static_assert(bulkhead::Crossable<decltype(nothing)>);
  return bulkhead::cross(Message{}).node.number + bulkhead::cross(Local{}).numbers[0];
}
