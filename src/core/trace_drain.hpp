// The drain of a trace: the thread that takes the events out of the rings, and writes them.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/trace.hpp"
#include "core/trace_json.hpp"
#include "sync/mutex.hpp"
#include "sync/thread.hpp"

namespace bulkhead::core {

/// Where the text goes.
class TraceOutput {
 public:
  /// To the file, or, if there is one, to the sink.
  TraceOutput(std::string path, TraceSink sink) noexcept
      : path_(std::move(path)), sink_(std::move(sink)) {}
  TraceOutput(const TraceOutput&) = delete;
  TraceOutput& operator=(const TraceOutput&) = delete;
  ~TraceOutput();

  using Error = std::optional<TraceError>;
  [[nodiscard]] Error open();
  [[nodiscard]] Error write(std::string_view text);
  [[nodiscard]] Error close();

 private:
  [[nodiscard]] Error failed(TraceError::Kind kind, int code) const;

  std::string path_;
  TraceSink sink_;
  int file_ = -1;
};

class TraceDrain {
 public:
  /// Opens the output, and starts the thread, which then writes what comes. Throws std::bad_alloc.
  [[nodiscard]] static std::expected<std::unique_ptr<TraceDrain>, TraceError> start(
      Trace& trace, std::shared_ptr<TraceSession> session, std::string path, TraceSink sink);
  TraceDrain(const TraceDrain&) = delete;
  TraceDrain& operator=(const TraceDrain&) = delete;
  /// finish() has been called.
  ~TraceDrain() = default;

  /// Writes what is left, ends the thread, and closes the output.
  [[nodiscard]] std::expected<TraceSummary, TraceError> finish();
  /// Has it given up?
  [[nodiscard]] bool failed() const noexcept { return failed_.load(std::memory_order_acquire); }

 private:
  TraceDrain(Trace& trace, std::shared_ptr<TraceSession> session, std::string path, TraceSink sink);

  void main() noexcept;
  [[nodiscard]] bool wait(machine::Nanoseconds pause);
  [[nodiscard]] bool take_all();
  [[nodiscard]] bool take_some(TraceTrack& track);
  void end_text();
  [[nodiscard]] bool write_text();
  void fail(TraceError error);

  Trace& trace_;
  std::shared_ptr<TraceSession> session_;
  TraceOutput output_;

  // Its thread.
  TraceJson json_;
  machine::Moment last_;
  TraceSummary summary_;
  std::optional<TraceError> error_;
  RealSync::atomic<bool> failed_{false};

  sync::Mutex lock_;
  sync::Condition changed_;
  bool ends_ = false;  // under the lock
  sync::Thread thread_;
};

}  // namespace bulkhead::core
