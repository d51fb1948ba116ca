// B19: addresses, as text and as values.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>
#include <bulkhead/net.hpp>

#include <string>
#include <string_view>

namespace {

using bulkhead::net::Endpoint;
using bulkhead::net::ErrorKind;

std::string parsed(std::string_view text) {
  const auto endpoint = Endpoint::parse(text);
  return endpoint ? to_string(*endpoint) : "refused";
}

// B19
TEST(NetEndpoints, what_is_parsed_prints_as_it_was_written) {
  for (const std::string text : {"127.0.0.1:7777", "0.0.0.0:0", "255.255.255.255:65535", "[::1]:80",
                                 "[::]:0", "[2001:db8::ff]:443", "[fe80::1%1]:80"}) {
    EXPECT_EQ(parsed(text), text);
  }
}

// B19
TEST(NetEndpoints, an_interface_may_be_given_by_its_name) {
  EXPECT_EQ(parsed("[fe80::1%lo]:80"), "[fe80::1%1]:80");
}

// B19
TEST(NetEndpoints, what_is_no_address_and_port_is_refused_with_a_reason) {
  for (const std::string text : {"",
                                 ":",
                                 "127.0.0.1",
                                 "127.0.0.1:",
                                 "127.0.0.1:65536",
                                 "127.0.0.1:-1",
                                 "127.0.0.1:+1",
                                 "127.0.0.1:1x",
                                 "127.0.0.1: 1",
                                 " 127.0.0.1:1",
                                 "127.0.0.1:1 ",
                                 "127.0.0.1:0001",
                                 "127.0.0.1:99999999999999999999",
                                 "127.0.0:1",
                                 "127.0.0.1.1:1",
                                 "127.0.0.256:1",
                                 "127.0.0.01:1",
                                 "0x7f.0.0.1:1",
                                 "localhost:1",
                                 ":80",
                                 "::1:80",
                                 "[::1]",
                                 "[::1]:",
                                 "[::1:80",
                                 "::1]:80",
                                 "[]:80",
                                 "[127.0.0.1]:80",
                                 "[::1%]:80",
                                 "[::1%no such]:80",
                                 "127.0.0.1%1:80",
                                 "[:::1]:80",
                                 "[12345::]:80"}) {
    const auto endpoint = Endpoint::parse(text);
    ASSERT_FALSE(endpoint) << text;
    EXPECT_EQ(endpoint.error().kind, ErrorKind::kBadAddress) << text;
    EXPECT_NE(endpoint.error().text.find('"' + text + '"'), std::string::npos)
        << endpoint.error().text;
  }
}

// B19
TEST(NetEndpoints, garbage_is_refused_and_shown_without_its_control_characters) {
  const std::string garbage("\0\x1b[2J\xff:1\n", 9);
  const auto endpoint = Endpoint::parse(garbage);
  ASSERT_FALSE(endpoint);
  for (const char c : endpoint.error().text) EXPECT_GE(static_cast<unsigned char>(c), 0x20);
  EXPECT_LT(Endpoint::parse(std::string(100'000, 'x')).error().text.size(), 400u);
}

// B19
TEST(NetEndpoints, are_values_that_compare) {
  const Endpoint one = Endpoint::loopback(1);
  EXPECT_EQ(one, *Endpoint::parse("127.0.0.1:1"));
  EXPECT_NE(one, Endpoint::any(1));
  EXPECT_NE(one, Endpoint::loopback_v6(1));
  EXPECT_LT(one, one.with_port(2));
  EXPECT_EQ(one.with_port(2).port(), 2);
  EXPECT_EQ(to_string(Endpoint()), "0.0.0.0:0");
  static_assert(bulkhead::Sendable<Endpoint>);
}

}  // namespace
