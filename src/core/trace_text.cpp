// The last events as lines of text, for reports.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <vector>

#include "core/core.hpp"
#include "core/domain.hpp"
#include "core/inside.hpp"
#include "core/trace_json.hpp"

namespace bulkhead {

namespace core {

namespace {

using What = TraceEvent::What;

struct Placed {
  TraceEvent event;
  const TraceTrack* track;
};

std::string who(const TraceTrack& track, const TraceEvent& event, bool has_class) {
  if (track.place == TraceTrack::kOutside) {
    return "thread " + std::to_string(event.actor.index());
  }
  if (!event.actor) return "the runtime";
  const std::string pid = to_string(event.actor);
  return has_class ? std::string(event.kind().name) + " " + pid : pid;
}

std::string what(const TraceTrack& track, const TraceEvent& event) {
  const auto doer = [&](bool has_class) { return who(track, event, has_class); };
  switch (event.what) {
    case What::kSpawn:
      return doer(false) + " spawns " + std::string(event.kind().name) + " " +
             to_string(event.other);
    case What::kBegin:
      return doer(true) + " begins a turn";
    case What::kEnd:
      return doer(true) +
             " ends its turn: " + std::string(word_for(static_cast<TurnEnd>(event.detail)));
    case What::kPark:
      return doer(true) + " waits for " +
             std::string(word_for(static_cast<WaitsFor>(event.detail)));
    case What::kWake:
      return (event.detail != 0 ? std::string("time") : doer(false)) + " wakes " +
             to_string(event.other);
    case What::kSend:
      return doer(false) + " sends " + std::string(event.message().name) + " to " +
             to_string(event.other);
    case What::kTake:
      return doer(false) + " takes " + std::string(event.message().name);
    case What::kExit:
      return doer(true) +
             " exits: " + std::string(to_string(static_cast<Exit::Kind>(event.detail)));
  }
  return {};
}

// "-0.001234567 s, core 1: ...", the time from now on.
std::string line(const Placed& one, const machine::Moment& began, const machine::Moment& now) {
  const machine::Nanoseconds ago =
      std::max<machine::Nanoseconds>(now.time - machine::time_of(one.event.cycles, began, now), 0);
  char text[64];
  std::snprintf(text, sizeof text, "-%lld.%09lld s, ", static_cast<long long>(ago / 1'000'000'000),
                static_cast<long long>(ago % 1'000'000'000));
  const std::size_t place = one.track->place;
  const std::string where =
      place == TraceTrack::kOutside
          ? "outside"
          : (one.track->solo ? "own thread " : "core ") + std::to_string(place);
  return text + where + ": " + what(*one.track, one.event);
}

}  // namespace

std::vector<std::string> Trace::last(const LastEvents& which) const {
  std::vector<const TraceTrack*> tracks;
  SharedSession session;  // keeps the tracks
  {
    const sync::Guard guard(lock_);
    session = now_ != nullptr ? now_ : kept_;
    if (session == nullptr) return {};
    for (const auto& track : session->tracks) tracks.push_back(track.get());
  }
  std::vector<Placed> found;
  for (const TraceTrack* track : tracks) {
    track->ring.look_back([&](const TraceEvent::Words& words) {
      const TraceEvent event = TraceEvent::of_words(words);
      if (!which.actor || event.concerns(which.actor)) found.push_back({event, track});
    });
  }
  std::ranges::stable_sort(found, {}, [](const Placed& one) { return one.event.cycles; });
  const machine::Moment now = machine::Moment::now();
  std::vector<std::string> lines;
  const std::size_t skipped = found.size() - std::min(found.size(), which.most);
  for (std::size_t i = skipped; i < found.size(); ++i) {
    lines.push_back(line(found[i], session->began, now));
  }
  return lines;
}

}  // namespace core

std::vector<std::string> last_events(const LastEvents& which) {
  const core::Domain* domain = nullptr;
  {
    const core::BrieflyInside inside;
    const core::Core* core = inside.core();
    if (core != nullptr) domain = core->domain.load(std::memory_order_relaxed);
  }
  return domain != nullptr ? domain->trace.last(which) : std::vector<std::string>();
}

}  // namespace bulkhead
