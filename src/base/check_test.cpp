#include "base/check.hpp"

#include <gtest/gtest.h>

#include <csignal>

#include "support/process.hpp"

namespace bulkhead::base {
namespace {

TEST(Check, that_holds_does_nothing_and_looks_once) {
  int looks = 0;
  BULKHEAD_CHECK(++looks == 1, "the first look");
  EXPECT_EQ(looks, 1);
}

TEST(Check, that_fails_says_what_and_where_and_aborts) {
  const support::Ended child = support::run_in_child([] {
    const int cheese = 0;
    BULKHEAD_CHECK(cheese > 0, "there is always cheese");
  });
  EXPECT_EQ(child.signal, SIGABRT);
  for (const char* const word : {"there is always cheese", "cheese > 0", "check_test.cpp"}) {
    EXPECT_NE(child.errors.find(word), std::string::npos) << child.errors;
  }
}

// As a statement it is one, whatever is around it.
TEST(Check, is_one_statement) {
  bool otherwise = false;
  if (otherwise)
    BULKHEAD_CHECK(false, "not reached");
  else
    otherwise = true;
  EXPECT_TRUE(otherwise);
}

}  // namespace
}  // namespace bulkhead::base
