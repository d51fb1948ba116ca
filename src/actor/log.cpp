// Crash reports as text.
#include "bulkhead/log.hpp"

#include <utility>

#include "base/json_text.hpp"
#include "base/readable_text.hpp"
#include "base/utc.hpp"

namespace bulkhead {

namespace {

std::string_view to_string(CrashReport::Afterwards afterwards) {
  switch (afterwards) {
    case CrashReport::Afterwards::kEnded:
      break;
    case CrashReport::Afterwards::kRestartedInPlace:
      return "restarted in place";
    case CrashReport::Afterwards::kGaveUp:
      return "ended: it was restarted in place as often as it may be";
  }
  return "ended";
}

// A report for people, field by field.
class Text {
 public:
  explicit Text(const CrashReport& report) : report_(report) {}

  std::string make() && {
    add_headline();
    list("caused by", report_.causes, [this](const Exit::Cause& cause) {
      base::append_readable(text_, cause.message, kIndent);
      if (!cause.type.empty()) text_ += " (" + cause.type + ")";
    });
    if (!report_.place.empty()) field("panic in", report_.place);
    add_ancestors();
    if (!report_.message.empty()) field("handling", report_.message);
    field("mailbox", std::to_string(report_.mailbox) + " waiting, " +
                         std::to_string(report_.handled) + " handled");
    add_links();
    if (report_.restarts != 0) field("restarts", std::to_string(report_.restarts));
    if (report_.afterwards != CrashReport::Afterwards::kEnded)
      field("afterwards", to_string(report_.afterwards));
    if (!report_.state.empty()) field("state", report_.state);
    texts("stack", report_.stack);
    texts("events", report_.last_events);
    return std::move(text_);
  }

 private:
  static constexpr std::string_view kIndent = "             ";

  void add_headline() {
    text_ = "actor " + to_string(report_.actor) + " (" + std::string(report_.type) + ")";
    if (!report_.name.empty()) quote(" named ", report_.name);
    if (!report_.label.empty()) quote(", ", report_.label);
    text_ += " crashed";
    if (report_.by_signal) text_ += " by an exit signal";
    if (report_.sent_by.pid) add_other(" of ", report_.sent_by);
    text_ += ": ";
    if (report_.kind != Exit::Kind::kCustom) {
      text_ += to_string(report_.kind);
      if (report_.trap != TrapKind::kNone) text_ += ": " + std::string(to_string(report_.trap));
      if (!report_.reason.empty()) text_ += ": ";
    }
    base::append_readable(text_, report_.reason, kIndent);
    if (!report_.reason_type.empty()) text_ += " (" + report_.reason_type + ")";
  }
  void add_ancestors() {
    if (report_.ancestors.empty()) return;
    begin("spawned by");
    bool first = true;
    for (const CrashReport::Other& each : report_.ancestors) {
      add_other(std::exchange(first, false) ? "" : ", by ", each);
    }
  }
  void add_other(std::string_view before, const CrashReport::Other& other) {
    text_ += before;
    text_ += to_string(other.pid);
    if (!other.type.empty()) text_ += " (" + std::string(other.type) + ")";
    if (!other.name.empty()) quote(" named ", other.name);
  }
  void add_links() {
    if (report_.link_count + report_.monitoring + report_.monitored == 0) return;
    begin("links");
    text_ += std::to_string(report_.link_count);
    bool first = true;
    for (const Pid pid : report_.links) {
      text_ += std::exchange(first, false) ? ": " : " ";
      text_ += to_string(pid);
    }
    if (report_.links.size() < report_.link_count) text_ += " ...";
    text_ += "; monitors " + std::to_string(report_.monitoring) + ", monitored by " +
             std::to_string(report_.monitored);
  }
  void quote(std::string_view before, std::string_view text) {
    text_ += before;
    text_ += '"';
    base::append_readable(text_, text, kIndent);
    text_ += '"';
  }
  void begin(std::string_view name) {
    text_ += "\n  ";
    text_ += name;
    text_.append(kIndent.size() - 2 - name.size(), ' ');
  }
  void field(std::string_view name, std::string_view value) {
    begin(name);
    base::append_readable(text_, value, kIndent);
  }
  template <class Each, class Add>
  void list(std::string_view name, const std::vector<Each>& all, Add add) {
    for (const Each& each : all) {
      begin(&each == all.data() ? name : "");
      add(each);
    }
  }
  void texts(std::string_view name, const std::vector<std::string>& lines) {
    list(name, lines,
         [this](const std::string& line) { base::append_readable(text_, line, kIndent); });
  }

  const CrashReport& report_;
  std::string text_;
};

// And for programs.
class Json {
 public:
  void text(std::string_view key, std::string_view value) {
    begin(key);
    base::append_quoted(json_, value);
  }
  void number(std::string_view key, std::uint64_t value) {
    begin(key);
    json_ += std::to_string(value);
  }
  void flag(std::string_view key, bool value) {
    begin(key);
    json_ += value ? "true" : "false";
  }
  template <class Each, class Add>
  void list(std::string_view key, const std::vector<Each>& all, Add add) {
    begin(key);
    json_ += '[';
    for (const Each& each : all) {
      if (&each != all.data()) json_ += ',';
      add(each);
    }
    json_ += ']';
  }
  void texts(std::string_view key, const std::vector<std::string>& all) {
    list(key, all, [this](const std::string& each) { base::append_quoted(json_, each); });
  }
  void pid(Pid pid) { base::append_quoted(json_, to_string(pid)); }
  void other(std::string_view key, const CrashReport::Other& that) {
    begin(key);
    other(that);
  }
  void other(const CrashReport::Other& other) {
    open();
    text("actor", to_string(other.pid));
    text("type", other.type);
    text("name", other.name);
    close();
  }
  void open() { json_ += '{'; }
  void close() { json_ += '}'; }
  std::string take() { return std::move(json_); }

 private:
  void begin(std::string_view key) {
    if (json_.back() != '{') json_ += ',';
    base::append_quoted(json_, key);
    json_ += ':';
  }

  std::string json_;
};

}  // namespace

std::string to_string(const CrashReport& report) { return Text(report).make(); }

std::string to_json(const CrashReport& report) {
  Json json;
  json.open();
  json.text("event", "crash");
  json.text("time", base::utc(report.time));
  json.text("actor", to_string(report.actor));
  json.text("type", report.type);
  json.text("name", report.name);
  json.text("label", report.label);
  json.list("ancestors", report.ancestors,
            [&](const CrashReport::Other& each) { json.other(each); });
  json.text("kind", to_string(report.kind));
  json.text("trap", report.trap != TrapKind::kNone ? to_string(report.trap) : std::string_view());
  json.text("reason", report.reason);
  json.text("reason_type", report.reason_type);
  json.list("causes", report.causes, [&](const Exit::Cause& each) {
    json.open();
    json.text("message", each.message);
    json.text("type", each.type);
    json.close();
  });
  json.text("place", report.place);
  json.flag("by_signal", report.by_signal);
  json.other("sent_by", report.sent_by);
  json.texts("stack", report.stack);
  json.text("message", report.message);
  json.number("mailbox", report.mailbox);
  json.number("handled", report.handled);
  json.list("links", report.links, [&](Pid each) { json.pid(each); });
  json.number("link_count", report.link_count);
  json.number("monitoring", report.monitoring);
  json.number("monitored", report.monitored);
  json.number("restarts", report.restarts);
  json.text("afterwards", to_string(report.afterwards));
  json.text("state", report.state);
  json.texts("last_events", report.last_events);
  json.close();
  return json.take();
}

}  // namespace bulkhead
