#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "bulkhead/delivery.hpp"
#include "bulkhead/pid.hpp"
#include "bulkhead/type_name.hpp"

namespace bulkhead {
namespace {

struct Plain {};
template <class T>
struct Template {};

TEST(TypeName, is_how_the_type_is_written) {
  EXPECT_EQ(type_name<int>(), "int");
  EXPECT_EQ(type_name<const char*>().substr(0, 10), "const char");
  EXPECT_EQ(type_name<const char*>().back(), '*');  // Clang sets a space before it
  EXPECT_NE(type_name<Plain>().find("Plain"), std::string_view::npos);
  EXPECT_NE(type_name<Template<Plain>>().find("Template<"), std::string_view::npos);
  EXPECT_NE(type_name<Template<Plain>>().find("Plain"), std::string_view::npos);
  EXPECT_NE(type_name<Template<int>>(), type_name<Template<long>>());
}

TEST(TypeName, is_known_at_compile_time) {
  static_assert(type_name<int>() == "int");
  static_assert(!type_name<std::string>().empty());
}

TEST(TypeName, is_cut_where_it_ends) {
  EXPECT_EQ(type_name<std::string>().find(';'), std::string_view::npos);
  EXPECT_EQ(type_name<int[3]>().find("; "), std::string_view::npos);
  EXPECT_EQ(type_name<int>().find(']'), std::string_view::npos);
}

TEST(Words, say_why_a_message_was_dropped) {
  EXPECT_EQ(to_string(DropCause::kGone), "the receiver has ended");
  EXPECT_EQ(to_string(DropCause::kHandlerFailed), "the handler failed");
  EXPECT_EQ(to_string(DropCause::kStopped), "the receiver's runtime is not running");
  EXPECT_EQ(to_string(DropCause::kNoMemory), "no memory for the message");
  EXPECT_EQ(to_string(DropCause::kFull), "the receiver's mailbox is full");
  EXPECT_EQ(to_string(DropCause::kLateReply), "the reply came too late");
}

}  // namespace
}  // namespace bulkhead
