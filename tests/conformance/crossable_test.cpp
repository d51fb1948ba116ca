// B4: which messages may cross to and from isolated actors, decided at compile time. What is said
// when one may not is checked by tests/compile_fail/cross_*.cpp.
#include "bulkhead/crossable.hpp"

#include <gtest/gtest.h>

#include <any>
#include <array>
#include <bitset>
#include <charconv>
#include <chrono>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <filesystem>
#include <forward_list>
#include <functional>
#include <future>
#include <list>
#include <locale>
#include <map>
#include <memory>
#include <memory_resource>
#include <optional>
#include <queue>
#include <regex>
#include <set>
#include <span>
#include <stack>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <tuple>
#include <typeindex>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "bulkhead/bulkhead.hpp"
#include "bulkhead/parcel.hpp"

// A class that says how it crosses, and one that does so without memory.

class Ledger {
 public:
  Ledger() = default;
  Ledger(Ledger&& other) noexcept : lines_(std::move(other.lines_)) {}

 private:
  std::vector<std::string> lines_;
};
class Serial {
 public:
  Serial() = default;
  Serial(Serial&& other) noexcept : number_(other.number_) {}

 private:
  int number_ = 0;
};
// Trusted wrongly.
class Borrowed {
 public:
  [[nodiscard]] const int* get() const { return where_; }

 private:
  const int* where_ = nullptr;
};

template <>
struct bulkhead::Crossing<Ledger> {
  static Ledger cross(const Ledger& from);
};
template <>
struct bulkhead::Crossing<Serial> {
  static constexpr bool kWithoutMemory = true;
  static Serial cross(const Serial& from);
};
template <>
inline constexpr bool bulkhead::kSendable<Borrowed> = false;

namespace {

using bulkhead::Crossable;
using bulkhead::kCrossesWithoutMemory;

template <class... T>
constexpr bool kAllCross = (Crossable<T> && ...);
template <class... T>
constexpr bool kNoneCrosses = !(Crossable<T> || ...);

enum class Color : std::uint8_t { kRed, kGreen };

struct Point {
  double x;
  double y;
};
struct Line {
  std::string text;
  int numbers[3];
};
class Opaque {
 public:
  Opaque() = default;
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};
class OpaqueBytes {
 public:
  [[nodiscard]] int number() const { return number_; }

 private:
  int number_ = 0;
};
union Word {
  int number;
  float real;
};
struct Tree {
  std::string name;
  std::vector<Tree> children;
  std::unique_ptr<Tree> extra;
};
struct WrongTree {
  std::vector<WrongTree> children;
  std::shared_ptr<const int> shared;
};
struct Receiver {
  void receive(int) {}
};
class Final final {
 public:
  Final() = default;
  Final(Final&&) = default;
  virtual ~Final() = default;
};
struct Interface {
  virtual ~Interface() = default;
};
struct OwnDestructor {
  std::string text;
  ~OwnDestructor() {}  // NOLINT
};
struct OwnDestructorOfBytes {
  int number;
  ~OwnDestructorOfBytes() {}  // NOLINT
};
struct OwnDestructorOfDeque {
  std::deque<int> numbers;
  ~OwnDestructorOfDeque() {}  // NOLINT
};
struct OwnAssignment {
  std::string text;
  OwnAssignment& operator=(const OwnAssignment&) { return *this; }  // NOLINT
};
struct Deque {
  const std::string text;
  std::deque<int> numbers;
  std::deque<int> more[2];
};
template <class T>
struct Holds {
  int first;
  T value;
};

// Plain bytes.
static_assert(kAllCross<int, double, bool, char, Color, std::nullptr_t, void (*)(int), Point, Word,
                        OpaqueBytes, std::byte>);
static_assert(kNoneCrosses<int*, int&, const char*, int Point::*, void*, Holds<int*>, Borrowed>);

// Handles of this library.
static_assert(
    kAllCross<bulkhead::Pid, bulkhead::Address<Receiver>, bulkhead::Port<int>, bulkhead::MonitorRef,
              bulkhead::TimerRef, bulkhead::Timeout, bulkhead::Delivery, bulkhead::Parcel<>,
              bulkhead::Parcel<Point>, bulkhead::Exit, bulkhead::Down, bulkhead::Exited>);
static_assert(kNoneCrosses<bulkhead::Reply<int>, bulkhead::JoinHandle<int>, bulkhead::Sender<int>,
                           bulkhead::Receiver<int>>);

// The standard library.
static_assert(kAllCross<std::string, std::u16string, std::vector<std::string>, std::vector<bool>,
                        std::deque<Line>, std::list<Line>, std::forward_list<int>,
                        std::array<Line, 3>, std::pair<int, Line>, std::tuple<int, Line>,
                        std::optional<Line>, std::expected<Line, int>>);
static_assert(kAllCross<std::map<std::string, Line>, std::multimap<int, int>, std::set<int>,
                        std::multiset<std::string>, std::unordered_map<std::string, Line>,
                        std::unordered_set<int>, std::unordered_multimap<int, int>,
                        std::unordered_multiset<int>, std::queue<int>, std::stack<Line>,
                        std::priority_queue<int>>);
static_assert(kAllCross<std::bitset<9>, std::complex<float>, std::chrono::nanoseconds,
                        std::chrono::system_clock::time_point, std::chrono::year_month_day,
                        std::error_code, std::filesystem::path, std::type_index, std::monostate,
                        std::unique_ptr<Line>, std::unique_ptr<const Line>, std::thread::id>);
static_assert(kAllCross<std::variant<int, Line>, std::expected<void, std::string>>);
static_assert(
    kNoneCrosses<std::shared_ptr<int>, std::shared_ptr<const int>, std::weak_ptr<int>,
                 std::function<void()>, std::packaged_task<void()>, std::any, std::exception_ptr,
                 std::string_view, std::span<int>, std::reference_wrapper<int>, std::promise<int>,
                 std::future<int>, std::shared_future<int>, std::regex, std::locale, std::thread,
                 std::stop_token, std::runtime_error>);
static_assert(kNoneCrosses<std::pmr::string, std::pmr::vector<int>, std::vector<int>::iterator,
                           std::unique_ptr<int[]>, std::unique_ptr<int, void (*)(int*)>,
                           std::unique_ptr<Interface>, std::map<int, int>::node_type>);
static_assert(kNoneCrosses<std::vector<int*>, std::map<int, std::any>, std::optional<int*>,
                           std::tuple<int, std::string_view>, std::pair<int*, int>,
                           std::set<int, std::function<bool(int, int)>>>);

// Classes of it that are no templates are looked into like any other.
static_assert(kNoneCrosses<std::from_chars_result, Holds<std::from_chars_result>>);
static_assert(!bulkhead::Sendable<std::from_chars_result>);

// Aggregates, and classes.
static_assert(kAllCross<Line, Tree, Holds<Line>, Holds<Tree[2]>, Ledger, Serial, Holds<Ledger>,
                        Holds<OpaqueBytes>>);
static_assert(kAllCross<Deque, Holds<Deque>>);
static_assert(kNoneCrosses<OwnDestructor, OwnDestructorOfBytes, OwnDestructorOfDeque, OwnAssignment,
                           Holds<OwnDestructor>>);
static_assert(kNoneCrosses<Opaque, Holds<Opaque>, std::vector<Opaque>, WrongTree, Holds<WrongTree>,
                           std::unique_ptr<Opaque>, std::unique_ptr<Final>>);

// Without memory.
template <class... T>
constexpr bool kNoneNeedsMemory = (kCrossesWithoutMemory<T> && ...);
template <class... T>
constexpr bool kAllNeedMemory = !(kCrossesWithoutMemory<T> || ...);
static_assert(
    kNoneNeedsMemory<int, Point, Color, std::pair<int, int>, std::array<Point, 3>,
                     std::optional<std::pair<int, int>>, Serial, Holds<Serial>, bulkhead::Pid>);
static_assert(kAllNeedMemory<bulkhead::Parcel<>, Holds<bulkhead::Parcel<>>, std::string, Line,
                             Holds<std::string>, std::vector<int>, Ledger, std::unique_ptr<int>,
                             std::pair<int, std::string>, Tree>);

TEST(Crossable, knows_what_a_lambda_is) {
  const auto nothing = [](int n) { return n; };
  int number = 1;  // a constant need not be captured
  const auto copy = [number] { return number; };
  const auto reference = [&number] { return number; };
  const auto generic = [number](const std::vector<int>&, auto x) { return x + number; };
  EXPECT_TRUE(Crossable<std::remove_const_t<decltype(nothing)>>);
  EXPECT_FALSE(Crossable<std::remove_const_t<decltype(copy)>>);
  EXPECT_FALSE(Crossable<std::remove_const_t<decltype(reference)>>);
  EXPECT_FALSE(Crossable<std::remove_const_t<decltype(generic)>>);
  EXPECT_FALSE(Crossable<Holds<std::remove_const_t<decltype(copy)>>>);
  // What is only declared in one, or named after one, is none.
  const auto make = [](const std::vector<int>&) {
    struct Local {
      std::string text;
    };
    return Local{};
  };
  EXPECT_TRUE(Crossable<decltype(make({}))>);
  EXPECT_TRUE((Crossable<std::set<int, decltype([](int a, int b) { return a > b; })>>));
}

}  // namespace
