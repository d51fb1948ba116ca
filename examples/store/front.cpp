#include "front.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <expected>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store.hpp"

namespace net = bulkhead::net;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t kLongestKey = 128;
constexpr std::size_t kLongestValue = 4096;
constexpr std::size_t kLongestLine = 8192;

using Words = std::vector<std::string_view>;

std::string error(std::string text) { return "ERROR " + std::move(text); }

std::string too_long(std::string_view what, std::size_t most) {
  return error(std::string(what) + " is longer than " + std::to_string(most) + " bytes");
}

std::string not_answered(const bulkhead::CallError& why) {
  return error("the store does not answer: " + to_string(why));
}

std::expected<std::chrono::milliseconds, std::string> to_ttl(std::string_view word) {
  constexpr double kLeast = 0.001;
  constexpr double kMost = 100 * 365 * 86400.0;
  double seconds = 0;
  const char* const end = word.data() + word.size();
  const auto [stop, fault] = std::from_chars(word.data(), end, seconds);
  if (fault != std::errc() || stop != end || !(seconds >= kLeast && seconds <= kMost)) {
    return std::unexpected(error("the ttl must be a number of seconds from 0.001 to 3153600000"));
  }
  return std::chrono::milliseconds(std::llround(seconds * 1000));
}

// One client. What it sends is handled line by line; it may send the next ones before it has the
// answer to the first.
class Connection {
 public:
  Connection(net::Stream stream, const Limits& limits)
      : lines_(std::move(stream), kLongestLine), limits_(limits) {}

  void started() {
    serve();
    bulkhead::this_actor::stop();
  }

 private:
  struct Command {
    std::string_view name;
    std::size_t least;  // words
    std::size_t most;
    std::string_view usage;
    std::string (Connection::*run)(const Words&);
  };
  static const std::array<Command, 8> kCommands;

  void serve() {
    while (!quits_) {
      const auto line = lines_.read_line(limits_.idle);
      if (!line) return give_up(line.error());
      if (!say(answer(*line))) return;
    }
  }

  bool say(const std::string& text) {
    return lines_.stream().write_all(text + "\n", limits_.idle).has_value();
  }

  // If there is somebody to be told.
  void give_up(const net::Error& why) {
    if (why.kind == net::ErrorKind::kTimedOut) {
      say(error("nothing has come for too long"));
    } else if (why.kind == net::ErrorKind::kTooLong) {
      say(too_long("the line", kLongestLine));
      finish();
    }
  }

  // A connection that is closed while there is something to be read is broken off, and what was
  // written last may not arrive. So what comes is dropped, for a while.
  void finish() {
    std::array<std::byte, 4096> buffer;
    static_cast<void>(lines_.stream().shutdown_write());
    for (int i = 0; i < 1000; ++i) {
      const auto count = lines_.stream().read_some(buffer, 1s);
      if (!count || *count == 0) return;
    }
  }

  std::string answer(std::string_view line) {
    constexpr auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
    if (std::ranges::any_of(line, is_control)) return error("the line has control characters");
    const Words words = split(line, ' ');
    if (words.empty()) return error("the line is empty");
    const auto* const command = std::ranges::find(kCommands, words[0], &Command::name);
    if (command == kCommands.end()) {
      return error("there are SET, GET, DEL, COUNT, SNAPSHOT, CRASH, TRAP and QUIT");
    }
    if (words.size() < command->least || words.size() > command->most) {
      return error("it is: " + std::string(command->usage));
    }
    if (words.size() > 1 && words[1].size() > kLongestKey) return too_long("the key", kLongestKey);
    if (words.size() > 2 && words[2].size() > kLongestValue) {
      return too_long("the value", kLongestValue);
    }
    return (this->*command->run)(words);
  }

  std::string set(const Words& words) {
    Set set{std::string(words[1]), std::string(words[2]), {}};
    if (words.size() == 4) {
      auto ttl = to_ttl(words[3]);
      if (!ttl) return std::move(ttl.error());
      set.ttl = *ttl;
    }
    const auto there_was_room = store().call(std::move(set));
    if (!there_was_room) return not_answered(there_was_room.error());
    return *there_was_room ? "OK" : error("the store is full");
  }

  std::string get(const Words& words) {
    const auto value = store().call(Get{std::string(words[1])});
    if (!value) return not_answered(value.error());
    if (const std::optional<std::string>& found = *value) return "VALUE " + *found;
    return "NONE";
  }

  std::string remove(const Words& words) {
    const auto removed = store().call(Delete{std::string(words[1])});
    if (!removed) return not_answered(removed.error());
    return *removed ? "OK" : "NONE";
  }

  std::string count(const Words& /*words*/) {
    const auto count = store().call(Count{});
    if (!count) return not_answered(count.error());
    return "COUNT " + std::to_string(*count);
  }

  std::string snapshot(const Words& /*words*/) {
    const auto answer = snapshotter().call(Save{}, bulkhead::kForever);
    if (!answer) return not_answered(answer.error());
    if (!*answer) return error("no snapshot: " + answer->error());
    return "OK " + std::to_string(**answer);
  }

  // The answer goes first: when the store fails, its supervisor ends this connection, too.
  std::string crash(const Words& /*words*/) {
    if (!say("OK")) return {};
    store().cast(Crash{});
    bulkhead::this_actor::sleep_for(bulkhead::kForever);
    return {};
  }

  std::string trap(const Words& /*words*/) {
    std::abort();  // as a failed assertion does
  }

  std::string quit(const Words& /*words*/) {
    quits_ = true;
    return "OK";
  }

  net::LineReader lines_;
  Limits limits_;
  bool quits_ = false;
};

constexpr std::array<Connection::Command, 8> Connection::kCommands{{
    {"SET", 3, 4, "SET key value [ttl seconds]", &Connection::set},
    {"GET", 2, 2, "GET key", &Connection::get},
    {"DEL", 2, 2, "DEL key", &Connection::remove},
    {"COUNT", 1, 1, "COUNT", &Connection::count},
    {"SNAPSHOT", 1, 1, "SNAPSHOT", &Connection::snapshot},
    {"CRASH", 1, 1, "CRASH", &Connection::crash},
    {"TRAP", 1, 1, "TRAP", &Connection::trap},
    {"QUIT", 1, 1, "QUIT", &Connection::quit},
}};

}  // namespace

void Acceptor::operator()() {
  for (;;) {
    auto stream = listener_.accept();
    if (stream) {
      take(*std::move(stream));
    } else if (stream.error().kind == net::ErrorKind::kClosed) {
      return;
    } else if (stream.error().kind == net::ErrorKind::kTooManyFiles) {
      make_room(stream.error());
    } else {
      throw std::runtime_error(stream.error().text);  // and the supervisor starts another one
    }
  }
}

void Acceptor::take(net::Stream stream) {
  if (open_ >= limits_.connections) {
    static_cast<void>(stream.write_all("ERROR there are too many connections\n", 0s));
    return;
  }
  bulkhead::SpawnOptions options;
  options.core = accepted_++ % cores_;
  options.linked = true;
  options.isolated = bulkhead::Isolation{.heap_limit = std::size_t{256} << 10};
  const bulkhead::SupervisorRef connections(bulkhead::whereis("connections"));
  // Shared, since a std::function can be copied, and a stream cannot.
  const auto taken = std::make_shared<net::Stream>(std::move(stream));
  const auto started = connections.start_child(
      [taken, options, &limits = limits_, &open = open_]() -> bulkhead::ChildStart {
        ++open;
        try {
          return bulkhead::spawn_with<Connection>(options, std::move(*taken), limits).pid();
        } catch (...) {  // nobody will hear that it has ended
          --open;
          throw;
        }
      });
  if (!started) std::fprintf(stderr, "store: %s\n", to_string(started.error()).c_str());
}

// Without descriptors nothing can be accepted, and those who knock would wait for long.
void Acceptor::make_room(const net::Error& error) {
  std::fprintf(stderr, "store: %s\n", error.text.c_str());
  static_cast<void>(listener_.shed());
  bulkhead::this_actor::sleep_for(100ms);
}
