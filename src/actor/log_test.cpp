// C17: crash reports as text.
#include "bulkhead/log.hpp"

#include <gtest/gtest.h>

#include <string>

namespace {

using bulkhead::CrashReport;
using bulkhead::Exit;
using bulkhead::Pid;

CrashReport small() {
  CrashReport report;
  report.actor = Pid(3, 7);
  report.type = "Machine";
  report.reason = "broken";
  report.reason_type = "std::runtime_error";
  report.handled = 12;
  return report;
}

TEST(CrashText, says_no_more_than_there_is) {
  EXPECT_EQ(to_string(small()), "actor " + to_string(Pid(3, 7)) +
                                    " (Machine) crashed: panic: broken (std::runtime_error)\n"
                                    "  mailbox    0 waiting, 12 handled");
}

TEST(CrashText, says_all_that_there_is) {
  CrashReport report = small();
  report.name = "green";
  report.label = "at work";
  report.causes = {{"no file", "std::system_error"}, {"no\ndisk", "Disk"}};
  report.place = "void f() at a.cpp:1";
  report.by_signal = true;
  report.sent_by = {Pid(9, 1), "boss", "Boss"};
  report.ancestors = {{Pid(1, 1), "root", "Root"}, {Pid(2, 1), "", "Other"}};
  report.message = "Break";
  report.mailbox = 2;
  report.links = {Pid(4, 1), Pid(5, 1)};
  report.link_count = 3;
  report.monitoring = 1;
  report.restarts = 6;
  report.state = "red";
  report.stack = {"f at a.cpp:1", "g at a.cpp:2"};
  report.last_events = {"-0.1 s, core 0: begins"};
  EXPECT_EQ(to_string(report),
            "actor " + to_string(Pid(3, 7)) +
                " (Machine) named \"green\", \"at work\" crashed by an exit signal of " +
                to_string(Pid(9, 1)) +
                " (Boss) named \"boss\": panic: broken (std::runtime_error)\n"
                "  caused by  no file (std::system_error)\n"
                "             no\n"
                "             disk (Disk)\n"
                "  panic in   void f() at a.cpp:1\n"
                "  spawned by " +
                to_string(Pid(1, 1)) + " (Root) named \"root\", by " + to_string(Pid(2, 1)) +
                " (Other)\n"
                "  handling   Break\n"
                "  mailbox    2 waiting, 12 handled\n"
                "  links      3: " +
                to_string(Pid(4, 1)) + " " + to_string(Pid(5, 1)) +
                " ...; monitors 1, monitored by 0\n"
                "  restarts   6\n"
                "  state      red\n"
                "  stack      f at a.cpp:1\n"
                "             g at a.cpp:2\n"
                "  events     -0.1 s, core 0: begins");
}

TEST(CrashText, names_who_sent_a_signal_as_far_as_it_is_known) {
  CrashReport report = small();
  report.by_signal = true;
  EXPECT_NE(to_string(report).find("crashed by an exit signal: panic"), std::string::npos);
  report.sent_by.pid = Pid(9, 1);
  EXPECT_NE(to_string(report).find("by an exit signal of " + to_string(Pid(9, 1)) + ": panic"),
            std::string::npos);
  report.sent_by.name = "bo\rss";
  EXPECT_NE(to_string(report).find(" named \"bo\\x0dss\": panic"), std::string::npos);
}

TEST(CrashText, names_the_other_kinds) {
  CrashReport report = small();
  report.reason_type = "";
  report.kind = Exit::Kind::kCustom;
  EXPECT_NE(to_string(report).find("crashed: broken\n"), std::string::npos);
  report.kind = Exit::Kind::kKilled;
  report.reason = "";
  EXPECT_NE(to_string(report).find("crashed: killed\n"), std::string::npos);
}

TEST(CrashText, cannot_forge_lines_or_upset_a_terminal) {
  CrashReport report = small();
  report.reason = "a\nactor <1.1> (X) crashed: \x1b[2J\x7f";
  report.label = "b\rc\n";
  const std::string text = to_string(report);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find('\r'), std::string::npos);
  EXPECT_NE(text.find("a\n             actor <1.1>"), std::string::npos) << text;
  EXPECT_NE(text.find("\\x1b[2J\\x7f"), std::string::npos) << text;
}

TEST(CrashText, is_cut_where_a_text_is_very_long) {
  CrashReport report = small();
  report.reason = std::string(1'000'000, 'x');
  const std::string text = to_string(report);
  EXPECT_LT(text.size(), 5000u);
  EXPECT_NE(text.find("x... (1000000 bytes)"), std::string::npos);
  EXPECT_GT(to_json(report).size(), 1'000'000u);  // for programs it is whole
}

TEST(CrashText, as_json_is_one_line) {
  CrashReport report = small();
  report.ancestors = {{Pid(1, 1), "ro\not", "Root"}, {Pid(2, 1), "", "Other"}};
  report.links = {Pid(4, 1)};
  report.stack = {"f", "g"};
  report.restarts = 6;
  report.causes = {{"no file", "std::system_error"}};
  report.place = "f at a.cpp:1";
  const std::string json = to_json(report);
  EXPECT_EQ(json.find('\n'), std::string::npos);
  EXPECT_EQ(json, R"({"event":"crash","time":"1970-01-01T00:00:00.000000Z","actor":")" +
                      to_string(Pid(3, 7)) +
                      R"(","type":"Machine","name":"","label":"","ancestors":[{"actor":")" +
                      to_string(Pid(1, 1)) + R"(","type":"Root","name":"ro\u000aot"},{"actor":")" +
                      to_string(Pid(2, 1)) +
                      R"(","type":"Other","name":""}],"kind":"panic","trap":"",)"
                      R"("reason":"broken",)"
                      R"("reason_type":"std::runtime_error",)"
                      R"("causes":[{"message":"no file","type":"std::system_error"}],)"
                      R"("place":"f at a.cpp:1","by_signal":false,"sent_by":{"actor":")" +
                      to_string(Pid()) +
                      R"(","type":"","name":""},"stack":["f","g"],)"
                      R"("message":"","mailbox":0,"handled":12,"links":[")" +
                      to_string(Pid(4, 1)) +
                      R"("],"link_count":0,"monitoring":0,"monitored":0,"restarts":6,)"
                      R"("afterwards":"ended","state":"","last_events":[]})");
}

}  // namespace
