#include "bulkhead/exit.hpp"

#include <gtest/gtest.h>

#include <exception>
#include <new>
#include <stdexcept>
#include <string>

#include "bulkhead/cross.hpp"
#include "bulkhead/links.hpp"
#include "bulkhead/panic.hpp"

namespace bulkhead {
namespace {

template <class E>
Exit panic_of(E exception) {
  return Exit::panic(std::make_exception_ptr(std::move(exception)));
}

TEST(Exit, is_normal_by_default) {
  EXPECT_TRUE(Exit().is_normal());
  EXPECT_EQ(Exit(), Exit::normal());
  EXPECT_EQ(Exit().message(), "");
  EXPECT_EQ(Exit().type(), "");
  EXPECT_EQ(Exit().failure(), nullptr);
}

TEST(Exit, of_a_panic_says_what_and_of_which_type) {
  const Exit exit = panic_of(std::runtime_error("went wrong"));
  EXPECT_EQ(exit.kind(), Exit::Kind::kPanic);
  EXPECT_FALSE(exit.is_normal());
  EXPECT_EQ(exit.message(), "went wrong");
  EXPECT_EQ(exit.type(), "std::runtime_error");
  EXPECT_THROW(std::rethrow_exception(exit.failure()), std::runtime_error);
}

TEST(Exit, of_something_that_is_no_exception_is_a_panic_too) {
  const Exit exit = panic_of(42);
  EXPECT_EQ(exit.kind(), Exit::Kind::kPanic);
  EXPECT_EQ(exit.type(), "int");
  EXPECT_NE(exit.message(), "");
  EXPECT_THROW(std::rethrow_exception(exit.failure()), int);
}

TEST(Exit, names_the_type_that_was_thrown_and_not_that_which_was_caught) {
  EXPECT_EQ(panic_of(std::bad_alloc()).type(), "std::bad_alloc");
  EXPECT_EQ(panic_of(Panic("x", std::source_location::current())).type(), "bulkhead::Panic");
}

// What is thrown in the handler of another exception, as deep as that.
[[noreturn]] void fail_nested(int depth) {
  if (depth == 0) throw std::logic_error("0");
  try {
    fail_nested(depth - 1);
  } catch (...) {
    std::throw_with_nested(std::runtime_error(std::to_string(depth)));
  }
}
Exit nested(int depth) {
  try {
    fail_nested(depth);
  } catch (...) {
    return Exit::panic(std::current_exception());
  }
}

TEST(Exit, of_nested_exceptions_says_what_each_says) {
  const Exit exit = nested(2);
  EXPECT_EQ(exit.message(), "2");
  EXPECT_EQ(exit.type(), "std::runtime_error");
  ASSERT_EQ(exit.causes().size(), 2u);
  EXPECT_EQ(exit.causes()[0].message, "1");
  EXPECT_EQ(exit.causes()[0].type, "std::runtime_error");
  EXPECT_EQ(exit.causes()[1].message, "0");
  EXPECT_EQ(exit.causes()[1].type, "std::logic_error");
  EXPECT_EQ(to_string(exit), "panic: 2 (std::runtime_error)");
  EXPECT_EQ(explain(exit),
            "panic: 2 (std::runtime_error), caused by: 1 (std::runtime_error), caused by: 0 "
            "(std::logic_error)");
  EXPECT_EQ(nested(Exit::kMostCauses + 10).causes().size(), std::size_t{Exit::kMostCauses});
  EXPECT_TRUE(nested(0).causes().empty());
}

TEST(Exit, of_nested_exceptions_that_are_none_of_the_standards) {
  struct Mine {};
  try {
    try {
      throw 42;
    } catch (...) {
      std::throw_with_nested(Mine());
    }
  } catch (...) {
    const Exit exit = Exit::panic(std::current_exception());
    EXPECT_NE(exit.type().find("Mine"), std::string::npos);
    EXPECT_EQ(exit.type().find("_Nested_exception"), std::string::npos);
    ASSERT_EQ(exit.causes().size(), 1u);
    EXPECT_EQ(exit.causes()[0].type, "int");
  }
  // One that holds none.
  struct Alone : std::runtime_error, std::nested_exception {
    using std::runtime_error::runtime_error;
  };
  EXPECT_TRUE(panic_of(Alone("alone")).causes().empty());
}

// Also when it left no handler by itself, so that nobody has noted the stack.
TEST(Exit, of_a_panic_says_where_it_was_called) {
  const auto here = std::source_location::current();
  const Exit exit = panic_of(Panic("out of cheese", here));
  EXPECT_TRUE(exit.stack().empty());
  const std::string place = std::string(here.function_name()) + " at " + here.file_name() + ":" +
                            std::to_string(here.line());
  EXPECT_EQ(exit.place(), place);
  EXPECT_EQ(explain(exit), "panic: out of cheese (bulkhead::Panic), in " + place);
  EXPECT_EQ(panic_of(std::runtime_error("else")).place(), "");
}

TEST(Exit, is_a_value) {
  Exit exit = panic_of(std::runtime_error("first"));
  const Exit copy = exit;
  exit = Exit::shutdown();
  EXPECT_EQ(copy.message(), "first");
  EXPECT_EQ(exit.kind(), Exit::Kind::kShutdown);
}

// B4: the exception is shared, so it does not.
TEST(Exit, crosses_with_what_it_says) {
  const Exit panic = panic_of(std::runtime_error("went wrong"));
  const Exit crossed = cross(Exit(panic));
  EXPECT_EQ(crossed, panic);
  EXPECT_EQ(crossed.type(), "std::runtime_error");
  EXPECT_EQ(crossed.stack().size(), panic.stack().size());
  EXPECT_EQ(crossed.failure(), nullptr);
  EXPECT_NE(crossed.message().data(), panic.message().data());
  EXPECT_NE(panic.failure(), nullptr);
  EXPECT_EQ(explain(cross(nested(2))), explain(nested(2)));
  EXPECT_EQ(cross(panic_of(Panic("x", std::source_location::current()))).place().empty(), false);
  EXPECT_EQ(cross(Exit::custom("a reason")), Exit::custom("a reason"));
  EXPECT_EQ(cross(Exit::shutdown("a detail")), Exit::shutdown("a detail"));
  EXPECT_EQ(cross(Exit::killed()), Exit::killed());
  EXPECT_EQ(cross(Down{MonitorRef(1, 3), Pid(2, 5), panic}).exit, panic);
  EXPECT_EQ(cross(Exited{Pid(2, 5), panic}).exit, panic);
}

TEST(Exit, is_compared_by_kind_and_message) {
  EXPECT_EQ(panic_of(std::runtime_error("a")), panic_of(std::logic_error("a")));
  EXPECT_NE(panic_of(std::runtime_error("a")), panic_of(std::runtime_error("b")));
  EXPECT_NE(panic_of(std::runtime_error("")), Exit::normal());
  EXPECT_NE(Exit::shutdown(), Exit::stopped());
}

TEST(Exit, has_words) {
  EXPECT_EQ(to_string(Exit::normal()), "normal");
  EXPECT_EQ(to_string(Exit::shutdown()), "shutdown");
  EXPECT_EQ(to_string(Exit::stopped()), "stopped");
  EXPECT_EQ(to_string(panic_of(std::logic_error("no"))), "panic: no (std::logic_error)");
}

}  // namespace
}  // namespace bulkhead
