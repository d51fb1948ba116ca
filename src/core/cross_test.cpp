// B4: what crosses shares no memory with what it is made from, and nothing is lost or left over
// when memory ends meanwhile. See cross_tested.hpp for how.
#include "bulkhead/cross.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bitset>
#include <chrono>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <expected>
#include <filesystem>
#include <forward_list>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <queue>
#include <set>
#include <stack>
#include <string>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "bulkhead/address.hpp"
#include "bulkhead/links.hpp"
#include "bulkhead/timer.hpp"
#include "core/cross_tested.hpp"

// A class of the user's, which says how it crosses.

class Ledger {
 public:
  explicit Ledger(std::vector<std::string> lines) : lines_(std::move(lines)) { index(); }
  Ledger(Ledger&& other) noexcept : lines_(std::move(other.lines_)) { index(); }
  [[nodiscard]] const std::string& last() const { return *last_; }
  friend bool operator==(const Ledger& a, const Ledger& b) { return a.lines_ == b.lines_; }

 private:
  friend struct bulkhead::Crossing<Ledger>;

  void index() { last_ = lines_.empty() ? nullptr : &lines_.back(); }

  std::vector<std::string> lines_;
  std::string* last_ = nullptr;  // into itself
};

template <>
struct bulkhead::Crossing<Ledger> {
  static Ledger cross(const Ledger& from) { return Ledger(bulkhead::crossed(from.lines_)); }
};

namespace bulkhead {
namespace {

using core::expect_crosses;

const std::string kLong = "a text that is too long for the small buffer of a string";

// --- plain bytes and handles ---

enum class Color : std::uint8_t { kRed, kGreen };

struct Point {
  double x;
  double y;
  friend bool operator==(const Point&, const Point&) = default;
};

TEST(Crossing, takes_plain_bytes_as_they_are) {
  expect_crosses([] { return 42; });
  expect_crosses([] { return Color::kGreen; });
  expect_crosses([] { return nullptr; });
  expect_crosses([] { return &std::strlen; });
  expect_crosses([] { return Point{1, 2}; });
  expect_crosses([] { return std::array{Point{1, 2}, Point{3, 4}}; });
  expect_crosses([] { return std::bitset<100>(0xf0f0); });
  expect_crosses([] { return std::chrono::milliseconds(5); });
  expect_crosses([] { return std::chrono::system_clock::time_point(std::chrono::seconds(9)); });
  expect_crosses([] { return std::complex<double>(1, 2); });
  expect_crosses([] { return std::make_error_code(std::errc::timed_out); });
  static_assert(kCrossesWithoutMemory<Point> && kCrossesWithoutMemory<std::bitset<100>>);
}

// Trivially copyable, though it is not to be copied.
struct Ticket {
  explicit Ticket(int n) : number(n) {}
  Ticket(Ticket&&) = default;
  int number;
  friend bool operator==(const Ticket& a, const Ticket& b) { return a.number == b.number; }
};

TEST(Crossing, takes_bytes_that_only_move) {
  static_assert(std::is_trivially_copyable_v<Ticket> && !std::is_copy_constructible_v<Ticket>);
  expect_crosses([] { return Ticket(7); });
  expect_crosses([] {
    std::vector<Ticket> tickets;
    tickets.emplace_back(1);
    tickets.emplace_back(2);
    return tickets;
  });
}

struct Echo {
  void receive(int) {}
};

TEST(Crossing, takes_what_names_an_actor) {
  expect_crosses([] { return Pid(3, 5); });
  expect_crosses([] { return Address<Echo>(Pid(3, 5)); });
  expect_crosses([] { return Address<Echo>(Pid(3, 5)).port<int>(); });
  expect_crosses([] { return MonitorRef(1, 3); });
  expect_crosses([] { return TimerRef(1, 3); });
  static_assert(kCrossesWithoutMemory<Pid> && kCrossesWithoutMemory<Address<Echo>>);
  static_assert(kCrossesWithoutMemory<Port<int>> && kCrossesWithoutMemory<Timeout>);
}

// --- the standard library ---

TEST(Crossing, copies_strings_exactly) {
  expect_crosses([] { return std::string("short"); });
  expect_crosses([] { return kLong; });
  expect_crosses([] { return std::u32string(100, U'x'); });
  expect_crosses([] { return std::string("a\0b", 3); });
  std::string roomy = kLong;
  roomy.reserve(1000);
  EXPECT_EQ(cross(std::move(roomy)).capacity(), kLong.size());
}

TEST(Crossing, gives_vectors_the_room_they_need) {
  expect_crosses([] { return std::vector{1, 2, 3}; });
  expect_crosses([] { return std::vector<bool>{true, false, true}; });
  expect_crosses([] { return std::vector<std::string>{kLong, "b", kLong}; });
  expect_crosses([] { return std::vector<std::vector<std::string>>{{kLong}, {}}; });
  std::vector<int> numbers{1, 2, 3};
  numbers.reserve(1000);
  EXPECT_EQ(cross(std::move(numbers)).capacity(), 3u);
  std::vector<std::string> texts{kLong, kLong};
  texts.reserve(1000);
  EXPECT_EQ(cross(std::move(texts)).capacity(), 2u);
}

TEST(Crossing, copies_sequences) {
  expect_crosses([] { return std::deque<int>(1000, 7); });
  expect_crosses([] { return std::deque<std::string>{kLong, "b"}; });
  expect_crosses([] { return std::list<std::string>{kLong, "b"}; });
  expect_crosses([] { return std::forward_list<std::string>{"a", kLong, "c"}; });
}

TEST(Crossing, copies_what_is_sorted) {
  using Map = std::map<std::string, std::vector<int>>;
  expect_crosses([] { return Map{{kLong, {1, 2}}, {"b", {}}}; });
  expect_crosses([] { return std::multimap<int, std::string>{{1, "z"}, {1, "a"}, {0, kLong}}; });
  expect_crosses([] { return std::set<std::string>{kLong, "b"}; });
  expect_crosses([] { return std::multiset<int>{3, 1, 3}; });
  using Falling = std::set<int, std::greater<>>;
  expect_crosses([] { return Falling{1, 2, 3}; });
}

TEST(Crossing, keeps_how_it_is_sorted) {
  using By = bool (*)(int, int);
  using ByFunction = std::set<int, By>;
  const auto make = [] { return ByFunction({1, 2, 3}, [](int a, int b) { return a > b; }); };
  expect_crosses(make);
  ByFunction falling = make();
  EXPECT_EQ(*cross(std::move(falling)).begin(), 3);
}

TEST(Crossing, copies_what_is_hashed) {
  using Map = std::unordered_map<std::string, std::string>;
  expect_crosses([] { return Map{{kLong, "1"}, {"b", kLong}}; });
  expect_crosses([] { return std::unordered_set<std::string>{kLong, "b"}; });
  expect_crosses([] { return std::unordered_multimap<int, std::string>{{1, "z"}, {1, "a"}}; });
  expect_crosses([] { return std::unordered_multiset<int>{1, 1, 2}; });
  std::unordered_set<int> sparse{1, 2};
  sparse.max_load_factor(0.25f);
  EXPECT_EQ(cross(std::move(sparse)).max_load_factor(), 0.25f);
}

TEST(Crossing, copies_adaptors) {
  expect_crosses([] { return std::stack<std::string>({kLong, "b"}); });
  expect_crosses([] { return std::queue<std::string>({kLong, "b"}); });
  using Queue = std::priority_queue<std::string, std::vector<std::string>, std::greater<>>;
  const auto make = [] {
    Queue queue;
    for (const auto& text : {kLong, std::string("b"), std::string("a")}) queue.push(text);
    return queue;
  };
  expect_crosses(make, [](Queue a, Queue b) {
    for (; !a.empty() && !b.empty(); a.pop(), b.pop()) {
      if (a.top() != b.top()) return false;
    }
    return a.empty() && b.empty();
  });
}

TEST(Crossing, copies_what_is_made_of_few) {
  expect_crosses([] { return std::pair<int, std::string>(1, kLong); });
  expect_crosses([] { return std::tuple<std::string, int, std::string>("a", 1, kLong); });
  expect_crosses([] { return std::tuple<std::tuple<std::string>>(kLong); });
  expect_crosses([] { return std::tuple<>(); });
  expect_crosses([] { return std::array<std::string, 3>{kLong, "b", kLong}; });
  expect_crosses([] { return std::array<std::string, 0>{}; });
  expect_crosses([] { return std::optional<std::string>(kLong); });
  expect_crosses([] { return std::optional<std::string>(); });
  expect_crosses([] { return std::optional<std::optional<std::string>>(std::in_place); });
  using Result = std::expected<std::string, std::vector<int>>;
  expect_crosses([] { return Result(kLong); });
  expect_crosses([] { return Result(std::unexpect, 3, 1); });
  using Done = std::expected<void, std::string>;
  expect_crosses([] { return Done(); });
  expect_crosses([] { return Done(std::unexpect, kLong); });
  static_assert(kCrossesWithoutMemory<std::pair<int, std::tuple<char, std::optional<long>>>>);
  static_assert(!kCrossesWithoutMemory<std::pair<int, std::string>>);
}

TEST(Crossing, copies_variants) {
  using Variant = std::variant<int, std::string, std::vector<std::string>, std::string>;
  expect_crosses([] { return Variant(5); });
  expect_crosses([] { return Variant(std::in_place_index<1>, kLong); });
  expect_crosses([] { return Variant(std::vector{kLong, kLong}); });
  expect_crosses([] { return Variant(std::in_place_index<3>, kLong); });
}

}  // namespace
}  // namespace bulkhead

// Throws when it is made, which leaves a variant without a value.
class Fragile {
 public:
  Fragile() = default;
  explicit Fragile(int) { throw 1; }
  Fragile(Fragile&& /*other*/) {}  // NOLINT: it is to be no plain bytes
};
template <>
struct bulkhead::Crossing<Fragile> {
  static Fragile cross(const Fragile& /*from*/) { return Fragile(); }
};

namespace bulkhead {
namespace {

TEST(Crossing, keeps_a_variant_without_a_value) {
  std::variant<std::string, Fragile> broken("text");
  EXPECT_THROW(broken.emplace<1>(1), int);
  ASSERT_TRUE(broken.valueless_by_exception());
  EXPECT_TRUE(cross(std::move(broken)).valueless_by_exception());
}

TEST(Crossing, copies_paths) {
  expect_crosses([] { return std::filesystem::path("/usr/share/" + kLong); });
  expect_crosses([] { return std::filesystem::path(); });
}

TEST(Crossing, copies_what_is_owned) {
  const auto same = [](const auto& a, const auto& b) {
    return (a == nullptr) == (b == nullptr) && (a == nullptr || *a == *b);
  };
  expect_crosses([] { return std::make_unique<std::string>(kLong); }, same);
  expect_crosses([] { return std::unique_ptr<std::string>(); }, same);
  expect_crosses([] { return std::unique_ptr<const std::string>(new std::string(kLong)); }, same);
  expect_crosses([] { return std::make_unique<Point>(Point{1, 2}); }, same);
}

// --- aggregates ---

struct Line {
  std::string text;
  int numbers[3];
  std::string words[2];
  friend bool operator==(const Line&, const Line&) = default;
};

struct Base {};
struct Page : Base {
  int number = 0;
  std::vector<Line> lines;
  [[no_unique_address]] std::less<> order;
  std::optional<Line> last;
  friend bool operator==(const Page& a, const Page& b) {
    return a.number == b.number && a.lines == b.lines && a.last == b.last;
  }
};

Line line() { return {kLong, {1, 2, 3}, {"w", kLong}}; }

TEST(Crossing, copies_aggregates_member_by_member) {
  expect_crosses([] { return line(); });
  expect_crosses([] {
    Page page;
    page.number = 9;
    page.lines = {line(), line()};
    page.last = line();
    return page;
  });
}

struct Grid {
  std::string cells[2][3];
  std::array<std::array<std::string, 2>, 2> more;
  friend bool operator==(const Grid&, const Grid&) = default;
};

TEST(Crossing, copies_arrays_of_arrays) {
  expect_crosses([] {
    return Grid{{{kLong, "b", kLong}, {"d", kLong, "f"}}, {{{kLong, "x"}, {"y", kLong}}}};
  });
}

struct Fixed {
  const std::string text;
  const int number;
  friend bool operator==(const Fixed&, const Fixed&) = default;
};

TEST(Crossing, copies_const_members) {
  expect_crosses([] { return Fixed{kLong, 3}; });
}

// An empty member lies where another one begins, whose bytes are not to be touched.
struct Nothing {};
struct Overlapping {
  std::string text;
  std::uint64_t number;
  [[no_unique_address]] Nothing first;
  [[no_unique_address]] std::allocator<int> second;
};

TEST(Crossing, leaves_the_bytes_below_an_empty_member) {
  expect_crosses(
      [] {
        return Overlapping{kLong, ~std::uint64_t{0}, {}, {}};
      },
      [](const Overlapping& a, const Overlapping& b) {
        return a.text == b.text && a.number == b.number;
      });
}

}  // namespace
}  // namespace bulkhead

// Functions that would be found by their arguments, and an operator that is not what it seems.
namespace greedy {

struct Item {
  std::string text;
  void operator&() const = delete;  // NOLINT
  friend bool operator==(const Item&, const Item&) = default;
};
template <class... T>
void anew(T&&...) = delete;
template <class... T>
void construct(T&&...) = delete;
template <class... T>
void destroy(T&&...) = delete;
template <class... T>
void fill(T&&...) = delete;
template <class... T>
void leave(T&&...) = delete;
template <class... T>
void crossed(T&&...) = delete;

}  // namespace greedy

namespace bulkhead {
namespace {

struct Items {
  greedy::Item first;
  greedy::Item more[2];
  std::map<int, greedy::Item> named;
  friend bool operator==(const Items&, const Items&) = default;
};

TEST(Crossing, is_not_misled_by_names) {
  expect_crosses([] { return greedy::Item{kLong}; });
  expect_crosses([] { return Items{{kLong}, {{"a"}, {kLong}}, {{1, {kLong}}}}; });
}

// --- recursion ---

struct Tree {
  std::string name;
  std::vector<Tree> children;
  std::map<std::string, Tree> named;
  std::unique_ptr<Tree> extra;

  friend bool operator==(const Tree& a, const Tree& b) {
    if ((a.extra == nullptr) != (b.extra == nullptr)) return false;
    if (a.extra != nullptr && !(*a.extra == *b.extra)) return false;
    return a.name == b.name && a.children == b.children && a.named == b.named;
  }
};

Tree tree(int depth) {
  Tree made{kLong, {}, {}, nullptr};
  if (depth == 0) return made;
  made.children.push_back(tree(depth - 1));
  made.children.push_back(tree(0));
  made.named.emplace("left", tree(depth - 1));
  made.extra = std::make_unique<Tree>(tree(0));
  return made;
}

TEST(Crossing, copies_trees) {
  expect_crosses([] { return tree(3); });
}

struct Cell {
  int number;
  std::unique_ptr<Cell> next;
};

TEST(Crossing, copies_lists) {
  const auto make = [] {
    Cell head{0, nullptr};
    for (int i = 1; i < 50; ++i) head = Cell{i, std::make_unique<Cell>(std::move(head))};
    return head;
  };
  expect_crosses(make, [](const Cell& a, const Cell& b) {
    const Cell* x = &a;
    const Cell* y = &b;
    for (; x != nullptr && y != nullptr; x = x->next.get(), y = y->next.get()) {
      if (x->number != y->number) return false;
    }
    return x == y;
  });
}

// --- by what a class says ---

TEST(Crossing, asks_the_class) {
  expect_crosses([] { return Ledger({kLong, "b", kLong}); });
  expect_crosses([] {
    std::vector<Ledger> ledgers;
    ledgers.emplace_back(std::vector{kLong});
    return ledgers;
  });
  Ledger old({"a", kLong});
  const Ledger fresh = cross(std::move(old));
  EXPECT_EQ(fresh.last(), kLong);
}

}  // namespace
}  // namespace bulkhead
