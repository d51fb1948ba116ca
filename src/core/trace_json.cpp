#include "core/trace_json.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <utility>

#include "machine/cpus.hpp"

namespace bulkhead::core {

namespace {

using What = TraceEvent::What;

constexpr std::uint64_t kFirstCore = 1;
constexpr std::uint64_t kFirstThread = 10'001;
constexpr std::uint32_t kAllThreads = 0;  // no thread has this number
// How long a send of a thread outside is shown to take, so that an arrow can begin there. It takes
// longer than that.
constexpr machine::Nanoseconds kShown = 50;

}  // namespace

std::string_view word_for(WaitsFor what) noexcept {
  switch (what) {
    case WaitsFor::kSomething:
      return "something";
    case WaitsFor::kReply:
      return "a reply";
    case WaitsFor::kRoom:
      return "room in a mailbox";
    case WaitsFor::kMessage:
      return "a message";
    case WaitsFor::kTime:
      return "time to pass";
    case WaitsFor::kChannel:
      return "a channel";
    case WaitsFor::kSelect:
      return "one arm of a select";
    case WaitsFor::kLock:
      return "a lock";
    case WaitsFor::kNetwork:
      return "the network";
    case WaitsFor::kLookUp:
      return "a look-up";
  }
  return "something";
}

std::string_view word_for(TurnEnd how) noexcept {
  switch (how) {
    case TurnEnd::kIdle:
      return "idle";
    case TurnEnd::kBatch:
      return "batch used up";
    case TurnEnd::kYields:
      return "gives way";
    case TurnEnd::kParks:
      return "parks";
    case TurnEnd::kExits:
      return "exits";
    case TurnEnd::kAway:
      return "stuck, left behind";
  }
  return "unknown";
}

TraceJson::TraceJson(machine::Nanoseconds began)
    : began_(began), process_(static_cast<std::uint64_t>(machine::process_id())) {
  raw("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
  raw("{\"ph\":\"M\",\"pid\":");
  number(process_);
  raw(",\"name\":\"process_name\",\"args\":{\"name\":\"bulkhead\"}}");
}

// --- pieces of text ------------------------------------------------------------------------------

void TraceJson::number(std::uint64_t value) {
  char digits[20];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  text_.append(digits, end);
}

// In microseconds.
void TraceJson::time(machine::Nanoseconds time) {
  const auto since = static_cast<std::uint64_t>(std::max<machine::Nanoseconds>(time - began_, 0));
  number(since / 1000);
  const std::uint64_t rest = since % 1000;
  const char digits[] = {'.', static_cast<char>('0' + rest / 100),
                         static_cast<char>('0' + rest / 10 % 10),
                         static_cast<char>('0' + rest % 10)};
  text_.append(digits, sizeof digits);
}

void TraceJson::pid(Pid pid) {
  text_.push_back('<');
  number(pid.index());
  text_.push_back('.');
  number(pid.generation());
  text_.push_back('>');
}

// An event up to its arguments.
void TraceJson::open(const Line& line, char phase, std::string_view category) {
  raw(",\n{\"ph\":\"");
  text_.push_back(phase);
  raw("\",\"pid\":");
  number(process_);
  raw(",\"tid\":");
  number(line.number);
  raw(",\"ts\":");
  time(line.last);
  if (!category.empty()) {
    raw(",\"cat\":\"");
    raw(category);
    text_.push_back('"');
  }
}

void TraceJson::open_instant(const Line& line, std::string_view category) {
  open(line, 'i', category);
  raw(",\"s\":\"t\"");
}

void TraceJson::name(std::string_view text) {
  raw(",\"name\":");
  quoted(text);
}

void TraceJson::close() { raw("}"); }

void TraceJson::name_line(const Line& line, std::string_view name) {
  const auto begin = [&](std::string_view what) {
    raw(",\n{\"ph\":\"M\",\"pid\":");
    number(process_);
    raw(",\"tid\":");
    number(line.number);
    raw(",\"name\":\"");
    raw(what);
    raw("\",\"args\":{");
  };
  begin("thread_name");
  raw("\"name\":");
  quoted(name);
  raw("}}");
  begin("thread_sort_index");
  raw("\"sort_index\":");
  number(line.number);
  raw("}}");
}

// --- events --------------------------------------------------------------------------------------

TraceJson::Line& TraceJson::line_of_core(const TraceTrack& track) {
  const auto [at, is_new] = cores_.try_emplace(&track);
  Line& line = at->second;
  if (is_new) {
    line.number = kFirstCore + track.place;
    name_line(line, (track.solo ? "own thread " : "core ") + std::to_string(track.place));
  }
  return line;
}

TraceJson::Line& TraceJson::line_of_thread(std::uint32_t thread) {
  const auto [at, is_new] = threads_.try_emplace(thread);
  Line& line = at->second;
  if (is_new) {
    line.number = kFirstThread + threads_.size() - 1;
    const std::string name = machine::name_of_thread(static_cast<int>(thread));
    const std::string number = " (" + std::to_string(thread) + ")";
    name_line(line, thread == kAllThreads ? "threads outside" : "thread " + name + number);
  }
  return line;
}

TraceJson::Line& TraceJson::line_of(const TraceTrack& track, const TraceEvent& event) {
  return track.place == TraceTrack::kOutside ? line_of_thread(event.actor.index())
                                             : line_of_core(track);
}

void TraceJson::add(const TraceTrack& track, const TraceEvent& event) {
  Line& line = line_of(track, event);
  line.last = std::max(line.last, machine::time_of(event.cycles, from_, to_));
  if (track.place == TraceTrack::kOutside) {
    add_outside(line, event);
  } else {
    add_to(line, event);
  }
}

void TraceJson::add_to(Line& line, const TraceEvent& event) {
  switch (event.what) {
    case What::kBegin:
      if (line.in_turn) {  // its end was dropped
        open(line, 'E', "run");
        close();
      }
      line.in_turn = true;
      open(line, 'B', "run");
      name(std::string(event.kind().name) + " " + to_string(event.actor));
      raw(",\"args\":{\"actor\":\"");
      pid(event.actor);
      raw("\",\"class\":");
      quoted(event.kind().name);
      raw("}");
      break;
    case What::kEnd:
      if (!std::exchange(line.in_turn, false)) return;  // its begin was dropped
      open(line, 'E', "run");
      raw(",\"args\":{\"ends\":\"");
      raw(word_for(static_cast<TurnEnd>(event.detail)));
      raw("\"");
      if (static_cast<TurnEnd>(event.detail) <= TurnEnd::kBatch) {
        raw(",\"messages\":");
        number(event.more);
      }
      raw("}");
      break;
    case What::kPark:
      open_instant(line, "park");
      name("waits for " + std::string(word_for(static_cast<WaitsFor>(event.detail))));
      raw(",\"args\":{\"actor\":\"");
      pid(event.actor);
      raw("\",\"for\":\"");
      raw(word_for(static_cast<WaitsFor>(event.detail)));
      if (static_cast<machine::Nanoseconds>(event.more) != machine::kNever) {
        raw("\",\"at most, ns\":\"");
        number(event.more);
      }
      raw("\"}");
      break;
    case What::kExit:
      open_instant(line, "exit");
      name("exit " + std::string(event.kind().name) + " " + to_string(event.actor));
      raw(",\"args\":{\"actor\":\"");
      pid(event.actor);
      raw("\",\"class\":");
      quoted(event.kind().name);
      raw(",\"exit\":\"");
      raw(to_string(static_cast<Exit::Kind>(event.detail)));
      raw("\"}");
      break;
    case What::kSpawn:
    case What::kWake:
    case What::kSend:
    case What::kTake:
      add_message(line, event);
      return;
  }
  close();
}

// What one does to another, or gets from it.
void TraceJson::add_message(Line& line, const TraceEvent& event) {
  switch (event.what) {
    case What::kSpawn:
      open_instant(line, "spawn");
      name("spawn " + std::string(event.kind().name) + " " + to_string(event.other));
      raw(",\"args\":{\"class\":");
      quoted(event.kind().name);
      raw(",\"actor\":\"");
      pid(event.other);
      raw("\",\"by\":\"");
      break;
    case What::kWake:
      open_instant(line, "wake");
      name("wake " + to_string(event.other));
      raw(",\"args\":{\"actor\":\"");
      pid(event.other);
      raw("\",\"by\":\"");
      if (event.detail != 0) raw("time");
      break;
    case What::kSend:
      open_instant(line, "send");
      name("send " + std::string(event.message().name));
      raw(",\"args\":{\"message\":");
      quoted(event.message().name);
      raw(",\"to\":\"");
      pid(event.other);
      raw("\",\"from\":\"");
      break;
    default:
      open_instant(line, "take");
      name("take " + std::string(event.message().name));
      raw(",\"args\":{\"message\":");
      quoted(event.message().name);
      raw(",\"actor\":\"");
      break;
  }
  if (event.actor) pid(event.actor);
  raw("\"}");
  close();
  const bool sends = event.what == What::kSend;
  if (!line.in_turn || (!sends && event.what != What::kTake)) return;
  // An arrow from the sender's turn to the receiver's.
  open(line, sends ? 's' : 'f', "message");
  raw(sends ? "" : ",\"bp\":\"e\"");
  name(event.message().name);
  raw(",\"id\":");
  number(event.more);
  close();
}

void TraceJson::add_outside(const Line& line, const TraceEvent& event) {
  const bool sends = event.what == What::kSend;
  open(line, 'X', sends ? "send" : event.what == What::kSpawn ? "spawn" : "wake");
  raw(",\"dur\":0.0");
  number(kShown);
  if (event.what == What::kWake) {
    name("wake " + to_string(event.other));
    raw(",\"args\":{");
  } else if (sends) {
    name("send " + std::string(event.message().name));
    raw(",\"args\":{\"message\":");
    quoted(event.message().name);
    raw(",");
  } else {
    name("spawn " + std::string(event.kind().name) + " " + to_string(event.other));
    raw(",\"args\":{\"class\":");
    quoted(event.kind().name);
    raw(",");
  }
  raw(sends ? "\"to\":\"" : "\"actor\":\"");
  pid(event.other);
  raw("\"}");
  close();
  if (!sends) return;
  open(line, 's', "message");
  name(event.message().name);
  raw(",\"id\":");
  number(event.more);
  close();
}

void TraceJson::note_dropped(const TraceTrack& track, std::uint64_t dropped) {
  Line& line =
      track.place == TraceTrack::kOutside ? line_of_thread(kAllThreads) : line_of_core(track);
  if (dropped == line.dropped) return;
  open_instant(line, "dropped");
  name("events were dropped");
  raw(",\"args\":{\"events\":");
  number(dropped - std::exchange(line.dropped, dropped));
  raw("}");
  close();
}

void TraceJson::end(machine::Nanoseconds now, const TraceSummary& summary,
                    std::size_t without_memory) {
  for (auto& [track, line] : cores_) {
    if (!line.in_turn) continue;
    line.last = std::max(line.last, now);
    open(line, 'E', "run");
    raw(",\"args\":{\"ends\":\"the trace ends\"}");
    close();
  }
  raw("\n],\"otherData\":{\"events\":\"");
  number(summary.events);
  raw("\",\"dropped\":\"");
  number(summary.dropped);
  raw("\",\"cores without memory for a trace\":\"");
  number(without_memory);
  raw("\"}}\n");
}

}  // namespace bulkhead::core
