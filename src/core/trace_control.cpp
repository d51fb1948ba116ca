// How traces and flight recorders begin and end.
#include <chrono>
#include <cstdio>
#include <new>
#include <utility>

#include "core/core.hpp"
#include "core/domain.hpp"
#include "core/trace_drain.hpp"

namespace bulkhead::core {

namespace {

// Cores that are in a handler for longer are not waited for.
constexpr std::chrono::milliseconds kPatience(200);

TraceError not_running() {
  return {TraceError::Kind::kNotRunning,
          "bulkhead: no trace can be started: the runtime is not running; call Runtime::start() "
          "first, or set Config::trace"};
}

TraceError no_memory() {
  return {TraceError::Kind::kNoMemory,
          "bulkhead: no memory for the events of a trace: ask for less by "
          "TraceOptions::events_per_core"};
}

}  // namespace

Trace::Trace(Domain& domain) noexcept : domain_(domain) {}
Trace::~Trace() = default;

// --- sessions ------------------------------------------------------------------------------------

// With the control lock, as all up to the next line of this kind.
Trace::SharedSession Trace::publish(SharedSession next) noexcept {
  const sync::Guard guard(lock_);
  on_.store(next != nullptr, std::memory_order_relaxed);
  epoch_.fetch_add(1, std::memory_order_relaxed);
  return std::exchange(now_, std::move(next));
}

void Trace::ring_bell() noexcept {
  bool open = false;
  {
    const sync::Guard guard(lock_);
    open = open_;
  }
  if (open) domain_.ring_bell();
}

// Waits until the cores have left the session before, and follow this one.
void Trace::switch_to(SharedSession next) noexcept {
  const SharedSession before = publish(next);
  ring_bell();
  sync::UniqueGuard guard(lock_);
  changed_.wait_for(guard, kPatience, [&] {
    const bool left = before == nullptr || before->followers == 0;
    return left && (next == nullptr || next->followers >= domain_.all_cores());
  });
}

Trace::Error Trace::begin(const std::string& path, TraceSink sink, const TraceOptions& options) {
  try {
    auto session = std::make_shared<TraceSession>(options, sync::WhenFull::kDrop);
    auto drain = TraceDrain::start(*this, session, path, std::move(sink));
    if (!drain) return std::move(drain).error();
    drain_ = *std::move(drain);
    if (open_) {
      switch_to(session);
    } else {
      publish(session);
    }
    if (drain_->failed()) give_up(*session);  // perhaps before it was published
  } catch (const std::bad_alloc&) {
    return no_memory();
  }
  return std::nullopt;
}

Trace::Error Trace::start(const std::string& path, TraceSink sink, const TraceOptions& options) {
  const sync::Guard control(control_);
  if (!open_) return not_running();
  if (drain_ != nullptr && !drain_->failed()) {
    return TraceError{TraceError::Kind::kAlreadyOn,
                      "bulkhead: a trace is being written already: stop it first"};
  }
  if (drain_ != nullptr) static_cast<void>(std::exchange(drain_, nullptr)->finish());
  return begin(path, std::move(sink), options);
}

std::expected<TraceSummary, TraceError> Trace::stop() {
  const sync::Guard control(control_);
  if (drain_ == nullptr) {
    return std::unexpected(
        TraceError{TraceError::Kind::kNotOn, "bulkhead: there is no trace to stop"});
  }
  SharedSession next;
  try {
    if (recorder_) next = std::make_shared<TraceSession>(*recorder_, sync::WhenFull::kOverwrite);
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "%s; the flight recorder is off\n", no_memory().text.c_str());
    recorder_.reset();
  }
  switch_to(std::move(next));
  return std::exchange(drain_, nullptr)->finish();
}

Trace::Error Trace::start_recorder(const TraceOptions& options) {
  const sync::Guard control(control_);
  if (!open_) return not_running();
  if (drain_ == nullptr || drain_->failed()) {
    try {
      switch_to(std::make_shared<TraceSession>(options, sync::WhenFull::kOverwrite));
    } catch (const std::bad_alloc&) {
      return no_memory();
    }
  }
  recorder_ = options;
  return std::nullopt;
}

void Trace::stop_recorder() {
  const sync::Guard control(control_);
  if (!recorder_) return;
  recorder_.reset();
  if (drain_ == nullptr || drain_->failed()) switch_to(nullptr);
}

// --- the domain ----------------------------------------------------------------------------------

void Trace::begin_with(const std::optional<TraceSettings>& settings) noexcept {
  const sync::Guard control(control_);
  forget();
  if (!settings) return;
  try {
    if (settings->flight_recorder) {
      publish(std::make_shared<TraceSession>(settings->options, sync::WhenFull::kOverwrite));
      recorder_ = settings->options;
    } else if (const Error error = begin(settings->path, settings->sink, settings->options)) {
      std::fprintf(stderr, "%s; the runtime runs without\n", error->text.c_str());
    }
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "%s; the runtime runs without\n", no_memory().text.c_str());
  }
}

void Trace::open() noexcept {
  const sync::Guard control(control_);
  const sync::Guard guard(lock_);
  open_ = true;
}

void Trace::close() noexcept {
  const sync::Guard control(control_);
  {
    const sync::Guard guard(lock_);
    open_ = false;
    kept_ = now_;
    on_.store(false, std::memory_order_relaxed);
    now_.reset();
    epoch_.fetch_add(1, std::memory_order_relaxed);
    for (std::size_t i = 0; i < domain_.all_cores(); ++i) leave(domain_.any_core(i));
  }
  recorder_.reset();
  if (drain_ != nullptr) static_cast<void>(std::exchange(drain_, nullptr)->finish());
}

void Trace::forget() noexcept {
  const sync::Guard guard(lock_);
  kept_.reset();
}

// --- any thread ----------------------------------------------------------------------------------

bool Trace::writes() const noexcept {
  const sync::Guard guard(lock_);
  return now_ != nullptr && now_->when_full == sync::WhenFull::kDrop;
}

std::vector<TraceTrack*> Trace::tracks_of(const TraceSession& session) const {
  std::vector<TraceTrack*> tracks;
  const sync::Guard guard(lock_);
  tracks.reserve(session.tracks.size());
  for (const auto& track : session.tracks) tracks.push_back(track.get());
  return tracks;
}

// By the drain's thread, in whose place somebody may be waiting for it with the control lock.
void Trace::give_up(const TraceSession& session) noexcept {
  {
    const sync::Guard guard(lock_);
    if (now_.get() != &session) return;
    on_.store(false, std::memory_order_relaxed);
    now_.reset();
    epoch_.fetch_add(1, std::memory_order_relaxed);
  }
  ring_bell();
}

}  // namespace bulkhead::core
