#include "core/trace_drain.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <new>
#include <span>
#include <system_error>
#include <utility>

#include "machine/cpus.hpp"
#include "machine/file.hpp"

namespace bulkhead::core {

namespace {

using Error = TraceOutput::Error;

// A ring must not fill up in between; but a runtime that sleeps is hardly to notice.
constexpr machine::Nanoseconds kShortestPause = machine::kMillisecond / 2;
constexpr machine::Nanoseconds kLongestPause = 16 * machine::kMillisecond;
constexpr std::size_t kBatch = 1024;  // events; room for so many more comes back at once
constexpr std::size_t kPiece = 256 * 1024;
constexpr unsigned kPermissions = 0666;  // less what the process's mask takes away

}  // namespace

// --- the output ----------------------------------------------------------------------------------

TraceOutput::~TraceOutput() {
  if (file_ >= 0) machine::file::close(file_);
}

Error TraceOutput::failed(TraceError::Kind kind, int code) const {
  const char* what = kind == TraceError::Kind::kCannotOpen ? " cannot be opened: "
                                                           : " cannot be written any more: ";
  return TraceError{kind,
                    "bulkhead: the trace's file " + path_ + what + machine::file::describe(code)};
}

Error TraceOutput::open() {
  if (sink_) return std::nullopt;
  const machine::file::Flags flags{.write = true, .create = true, .truncate = true};
  file_ = machine::file::open(path_.c_str(), flags, kPermissions);
  if (file_ < 0) return failed(TraceError::Kind::kCannotOpen, -file_);
  return std::nullopt;
}

Error TraceOutput::write(std::string_view text) {
  if (sink_) {
    if (sink_(text)) return std::nullopt;
    return TraceError{TraceError::Kind::kCannotWrite,
                      "bulkhead: the trace's sink takes no more text"};
  }
  std::span<const char> left(text);
  while (!left.empty()) {
    const long bytes = machine::file::write(file_, left);
    if (bytes < 0) return failed(TraceError::Kind::kCannotWrite, static_cast<int>(-bytes));
    left = left.subspan(static_cast<std::size_t>(bytes));
  }
  return std::nullopt;
}

Error TraceOutput::close() {
  if (file_ < 0) return std::nullopt;
  const int result = machine::file::close(std::exchange(file_, -1));
  if (result < 0) return failed(TraceError::Kind::kCannotWrite, -result);
  return std::nullopt;
}

// --- start and end -------------------------------------------------------------------------------

TraceDrain::TraceDrain(Trace& trace, std::shared_ptr<TraceSession> session, std::string path,
                       TraceSink sink)
    : trace_(trace),
      session_(std::move(session)),
      output_(std::move(path), std::move(sink)),
      json_(session_->began.time),
      last_(session_->began) {}

std::expected<std::unique_ptr<TraceDrain>, TraceError> TraceDrain::start(
    Trace& trace, std::shared_ptr<TraceSession> session, std::string path, TraceSink sink) {
  std::unique_ptr<TraceDrain> drain(
      new TraceDrain(trace, std::move(session), std::move(path), std::move(sink)));
  if (Error error = drain->output_.open()) return std::unexpected(*std::move(error));
  try {
    drain->thread_ = sync::Thread([it = drain.get()] { it->main(); });
  } catch (const std::system_error& error) {
    return std::unexpected(TraceError{
        TraceError::Kind::kNoThread,
        std::string("bulkhead: no thread can be had to write a trace: ") + error.what()});
  }
  return drain;
}

std::expected<TraceSummary, TraceError> TraceDrain::finish() {
  {
    const sync::Guard guard(lock_);
    ends_ = true;
    changed_.notify_all();
  }
  thread_.join();
  if (error_) return std::unexpected(*std::move(error_));
  return summary_;
}

// --- the thread ----------------------------------------------------------------------------------

void TraceDrain::main() noexcept {
  machine::name_thread("bulkhead-trace");
  machine::Nanoseconds pause = kShortestPause;
  try {
    for (bool last = false; !last && !error_;) {
      last = wait(pause);
      pause = take_all() ? kShortestPause : std::min(pause * 2, kLongestPause);
    }
    if (!error_) end_text();
  } catch (const std::bad_alloc&) {
    fail({TraceError::Kind::kNoMemory, "bulkhead: no memory to write the trace with"});
  } catch (const std::exception& error) {
    fail({TraceError::Kind::kCannotWrite,
          std::string("bulkhead: the trace's sink has failed: ") + error.what()});
  } catch (...) {
    fail({TraceError::Kind::kCannotWrite,
          "bulkhead: the trace's sink has thrown something that is not a std::exception"});
  }
}

// True when the trace has ended, and what is in the rings now is all.
bool TraceDrain::wait(machine::Nanoseconds pause) {
  sync::UniqueGuard guard(lock_);
  return changed_.wait_for(guard, std::chrono::nanoseconds(pause), [this] { return ends_; });
}

// Were there any?
bool TraceDrain::take_all() {
  const machine::Moment now = machine::Moment::now();
  json_.between(last_, now);
  const std::uint64_t before = summary_.events;
  summary_.dropped = 0;
  for (TraceTrack* track : trace_.tracks_of(*session_)) {
    if (!take_some(*track)) return true;
    const std::uint64_t dropped = track->ring.dropped();
    summary_.dropped += dropped;
    if (dropped != 0) json_.note_dropped(*track, dropped);
  }
  if (now.cycles != last_.cycles) last_ = now;
  return write_text() && summary_.events != before;
}

// What was there when it began: a core that goes on writing is left for the next round.
bool TraceDrain::take_some(TraceTrack& track) {
  std::uint64_t left = session_->capacity;
  while (left > 0) {
    const std::size_t taken = track.ring.take(kBatch, [&](const TraceEvent::Words& words) {
      json_.add(track, TraceEvent::of_words(words));
    });
    summary_.events += taken;
    if (json_.text().size() >= kPiece && !write_text()) return false;
    if (taken < kBatch) return true;
    left -= std::min<std::uint64_t>(left, taken);
  }
  return true;
}

void TraceDrain::end_text() {
  json_.end(machine::now(), summary_, session_->without_memory);
  if (!write_text()) return;
  if (Error error = output_.close()) fail(*std::move(error));
}

bool TraceDrain::write_text() {
  const std::string& text = json_.text();
  if (text.empty()) return true;
  if (Error error = output_.write(text)) {
    fail(*std::move(error));
    return false;
  }
  summary_.bytes += text.size();
  json_.clear();
  return true;
}

// The trace ends here. (An exception that a bad_alloc here would be ends the process: there is no
// memory for a line of text.)
void TraceDrain::fail(TraceError error) {
  std::fprintf(stderr, "%s; the trace has ended\n", error.text.c_str());
  static_cast<void>(output_.close());
  error_ = std::move(error);
  failed_.store(true, std::memory_order_release);
  trace_.give_up(*session_);
}

}  // namespace bulkhead::core
