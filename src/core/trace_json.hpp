// A trace as text: Chrome's trace format, JSON, as ui.perfetto.dev reads it. Cores are threads of
// the process, and so are threads outside.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/json_text.hpp"
#include "core/trace.hpp"

namespace bulkhead::core {

/// Makes text of events; of those of one track in their order. Throws std::bad_alloc.
class TraceJson {
 public:
  /// Times are told from this moment on.
  explicit TraceJson(machine::Nanoseconds began);

  /// What begins with the next event, by two moments.
  void between(const machine::Moment& from, const machine::Moment& to) noexcept {
    from_ = from;
    to_ = to;
  }
  void add(const TraceTrack& track, const TraceEvent& event);
  /// Events of a track found no room: `dropped` in all, so far.
  void note_dropped(const TraceTrack& track, std::uint64_t dropped);
  /// The end; `now` is when turns end that have not.
  void end(machine::Nanoseconds now, const TraceSummary& summary, std::size_t without_memory);

  /// What has been made since the last clear().
  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  void clear() noexcept { text_.clear(); }

 private:
  // What is known of a core, or of a thread outside.
  struct Line {
    std::uint64_t number = 0;  // as a thread of the trace
    machine::Nanoseconds last = 0;
    std::uint64_t dropped = 0;
    bool in_turn = false;
  };

  Line& line_of(const TraceTrack& track, const TraceEvent& event);
  Line& line_of_core(const TraceTrack& track);
  Line& line_of_thread(std::uint32_t thread);
  void name_line(const Line& line, std::string_view name);
  void add_to(Line& line, const TraceEvent& event);
  void add_message(Line& line, const TraceEvent& event);
  void add_outside(const Line& line, const TraceEvent& event);
  void open(const Line& line, char phase, std::string_view category);
  void open_instant(const Line& line, std::string_view category);
  void name(std::string_view text);
  void close();
  void raw(std::string_view text) { text_.append(text); }
  void quoted(std::string_view text) { base::append_quoted(text_, text); }
  void number(std::uint64_t value);
  void time(machine::Nanoseconds time);
  void pid(Pid pid);

  std::string text_;
  machine::Nanoseconds began_;
  machine::Moment from_;
  machine::Moment to_;
  std::uint64_t process_;
  std::map<const TraceTrack*, Line> cores_;
  std::map<std::uint32_t, Line> threads_;
  bool first_ = true;
};

[[nodiscard]] std::string_view word_for(WaitsFor what) noexcept;
[[nodiscard]] std::string_view word_for(TurnEnd how) noexcept;

}  // namespace bulkhead::core
