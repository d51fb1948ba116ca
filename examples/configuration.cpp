// Configuration for a whole process, without a global variable: one actor holds it. Who wants to
// change it sends Set; whoever wants to know asks with Get; whoever must know at once of changes
// watches. Nothing is shared, so nothing is locked.
#include <bulkhead/bulkhead.hpp>

#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <vector>

struct Changed {
  std::string key;
  std::string value;
};

class Configuration {
 public:
  struct Set {
    std::string key;
    std::string value;
  };
  struct Get {
    std::string key;
  };
  struct Watch {
    bulkhead::Port<Changed> watcher;
  };

  void receive(Set set) {
    for (const auto& watcher : watchers_) watcher.send(Changed{set.key, set.value});
    values_[std::move(set.key)] = std::move(set.value);
  }

  std::optional<std::string> receive(const Get& get) {
    const auto found = values_.find(get.key);
    if (found == values_.end()) return std::nullopt;
    return found->second;
  }

  void receive(Watch watch) { watchers_.push_back(watch.watcher); }

 private:
  std::map<std::string, std::string> values_;
  std::vector<bulkhead::Port<Changed>> watchers_;
};

class Logger {
 public:
  void receive(const Changed& changed) {
    std::printf("changed: %s = %s\n", changed.key.c_str(), changed.value.c_str());
  }
};

int main() {
  bulkhead::Runtime runtime({.cores = 2});
  runtime.start();
  const auto configuration = runtime.spawn<Configuration>();
  const auto logger = runtime.spawn<Logger>();

  configuration.send(Configuration::Watch{logger});
  configuration.send(Configuration::Set{"port", "7777"});
  configuration.send(Configuration::Set{"log", "verbose"});
  runtime.wait_for_idle();

  for (const char* key : {"port", "log", "colour"}) {
    const auto answer = configuration.ask(Configuration::Get{key});
    if (!answer) {
      std::printf("%s: %s\n", key, std::string(to_string(answer.error())).c_str());
    } else {
      std::printf("%s is %s\n", key, answer->value_or("not set").c_str());
    }
  }
  runtime.shutdown();
}
