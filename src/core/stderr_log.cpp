// The log of a program that has none of its own.
#include <chrono>
#include <string>

#include "base/error_log.hpp"
#include "base/json_text.hpp"
#include "base/readable_text.hpp"
#include "base/utc.hpp"
#include "core/reporter.hpp"

namespace bulkhead::core {

namespace {

class Text final : public Log {
 public:
  void crash(const CrashReport& report) override {
    base::log_error(base::Severity::kError, to_string(report));
  }
  void line(std::string_view text) override {
    std::string readable;
    base::append_readable(readable, text, "  ");
    base::log_error(base::Severity::kWarning, readable);
  }
};

class Json final : public Log {
 public:
  void crash(const CrashReport& report) override { base::print_line(to_json(report)); }
  void line(std::string_view text) override {
    std::string json = R"({"event":"line","time":)";
    base::append_quoted(json, base::utc(std::chrono::system_clock::now()));
    json += R"(,"text":)";
    base::append_quoted(json, text);
    json += '}';
    base::print_line(json);
  }
};

}  // namespace

std::shared_ptr<Log> stderr_log(LogFormat format) {
  if (format == LogFormat::kJson) return std::make_shared<Json>();
  return std::make_shared<Text>();
}

}  // namespace bulkhead::core
