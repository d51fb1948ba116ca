/// What a trace says, read as a viewer reads it.
#pragma once

#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "support/json.hpp"
#include "support/on_cores.hpp"

namespace support {

/// A sink that keeps all text.
class TraceText {
 public:
  [[nodiscard]] bulkhead::TraceSink sink() {
    return [this](std::string_view text) {
      const std::lock_guard guard(lock_);
      text_ += text;
      return true;
    };
  }
  [[nodiscard]] std::string text() const {
    const std::lock_guard guard(lock_);
    return text_;
  }

 private:
  mutable std::mutex lock_;
  std::string text_;
};

struct TraceLine {
  std::string phase;
  std::string category;
  std::string name;
  double line = 0;  ///< of which core or thread
  double time = 0;  ///< microseconds
  std::string id;
  Json details;

  [[nodiscard]] std::string detail(const std::string& what) const { return details.text_at(what); }
};

class Traced {
 public:
  explicit Traced(const std::string& text) : whole_(JsonReader::read(text)) {
    for (const Json& json : whole_.at("traceEvents").list) {
      TraceLine line{json.at("ph").text,
                     json.text_at("cat"),
                     json.text_at("name"),
                     json.has("tid") ? json.at("tid").number : 0,
                     json.has("ts") ? json.at("ts").number : 0,
                     json.text_at("id"),
                     json.has("args") ? json.at("args") : Json()};
      if (line.phase == "M") {
        if (line.name == "thread_name") names_[line.line] = line.detail("name");
        continue;
      }
      lines_.push_back(std::move(line));
    }
    std::ranges::stable_sort(lines_, {}, &TraceLine::time);
    // What happened at one moment is in the order of the text within a line, as it is here.
  }
  [[nodiscard]] static Traced file(const std::string& path) {
    std::ifstream in(path);
    return Traced(std::string(std::istreambuf_iterator<char>(in), {}));
  }

  /// All but the names, by time.
  [[nodiscard]] const std::vector<TraceLine>& lines() const { return lines_; }
  [[nodiscard]] std::string other(const std::string& name) const {
    return whole_.at("otherData").text_at(name);
  }
  /// "core 0", and the like.
  [[nodiscard]] std::string place_of(const TraceLine& line) const {
    const auto found = names_.find(line.line);
    return found != names_.end() ? found->second : "unnamed";
  }
  [[nodiscard]] std::size_t count(const std::string& category) const {
    return static_cast<std::size_t>(std::ranges::count(lines_, category, &TraceLine::category));
  }
  [[nodiscard]] std::size_t count_named(const std::string& name) const {
    return static_cast<std::size_t>(std::ranges::count_if(lines_, [&](const TraceLine& line) {
      return line.name == name && line.category != "message";
    }));
  }

  /// What an actor does, a few words for each: "run", "send Add", "waits for a reply", "end: idle".
  [[nodiscard]] std::vector<std::string> story_of(bulkhead::Pid actor) const {
    const std::string pid = to_string(actor);
    std::map<double, std::string> turn;  // whose it is, for each line
    std::vector<std::string> story;
    for (const TraceLine& line : lines_) {
      if (line.phase == "B") turn[line.line] = line.detail("actor");
      const bool does = turn[line.line] == pid && line.category != "message";
      if (does && line.phase == "B") story.emplace_back("run");
      if (does && line.phase == "i") {
        const bool is_exit = line.category == "exit";
        story.push_back(is_exit ? "exit: " + line.detail("exit") : line.name);
      }
      if (does && line.phase == "E") story.push_back("end: " + line.detail("ends"));
      if (line.phase == "E") turn[line.line].clear();
    }
    return story;
  }

  /// Turns begin and end by turns on each core, and no core is behind its own time.
  void expect_balanced() const {
    std::map<double, int> depth;
    for (const TraceLine& line : lines_) {
      int& open = depth[line.line];
      if (line.phase == "B") ++open;
      if (line.phase == "E") --open;
      ASSERT_TRUE(open == 0 || open == 1) << line.line << " at " << line.time;
    }
    for (const auto& [line, open] : depth) EXPECT_EQ(open, 0) << line;
  }

 private:
  Json whole_;
  std::vector<TraceLine> lines_;
  std::map<double, std::string> names_;
};

/// In its runtime no handler is taken for stuck on a busy machine.
class TracedRuntime : public Running {
 protected:
  TracedRuntime() : Running(patient()) {}
  static bulkhead::Config patient() {
    bulkhead::Config config = OnCores::config();
    config.hand_over_after = bulkhead::kForever;
    return config;
  }

  void start(const bulkhead::TraceOptions& options = {}) {
    const auto started = runtime.start_trace(text.sink(), options);
    ASSERT_TRUE(started) << started.error().text;
  }
  Traced stop() {
    const auto stopped = runtime.stop_trace();
    EXPECT_TRUE(stopped) << stopped.error().text;
    return Traced(text.text());
  }

  TraceText text;
};
}  // namespace support
