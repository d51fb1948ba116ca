#include "support/process.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "support/wait.hpp"

// ThreadSanitizer asks for this: children of tests may start threads.
extern "C" const char* __tsan_default_options() { return "die_after_fork=0"; }  // NOLINT

// Of the leak checker, where there is one.
extern "C" [[gnu::weak]] void __lsan_disable();

namespace support {

void leaves_memory_behind() {
  if (__lsan_disable != nullptr) __lsan_disable();
}

namespace {

std::size_t entries_of(const char* folder) {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++count;
  return count;
}

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

File temporary() {
  File file(std::tmpfile());
  if (file == nullptr) throw std::runtime_error("no temporary file");
  return file;
}

std::string text_of(std::FILE* file) {
  std::string text;
  std::array<char, 4096> part{};
  std::rewind(file);
  while (const std::size_t got = std::fread(part.data(), 1, part.size(), file)) {
    text.append(part.data(), got);
  }
  return text;
}

}  // namespace

std::size_t threads_named(const std::string& name) {
  std::size_t count = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(task.path() / "comm");
    std::string its_name;
    std::getline(file, its_name);
    if (its_name == name) ++count;
  }
  return count;
}

std::size_t open_descriptors() { return entries_of("/proc/self/fd"); }

std::size_t threads() {
  // The first thread of a process brings one of the sanitizer's along, which stays.
  static const bool settled = [] {
    std::thread([] {}).join();
    return true;
  }();
  static_cast<void>(settled);
  // A thread that was joined may take a moment more to leave the list.
  std::size_t count = entries_of("/proc/self/task");
  for (int quiet = 0; quiet < 3; ++quiet) {
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    const std::size_t now = entries_of("/proc/self/task");
    if (now != std::exchange(count, now)) quiet = 0;
  }
  return count;
}

std::size_t mappings() {
  std::ifstream maps("/proc/self/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(maps, line);) ++count;
  return count;
}

std::size_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::size_t total = 0;
  std::size_t resident = 0;
  statm >> total >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

std::chrono::nanoseconds cpu_time() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

std::size_t most_mappings() {
  std::ifstream file("/proc/sys/vm/max_map_count");
  std::size_t most = 0;
  if (!(file >> most)) throw std::runtime_error("vm.max_map_count cannot be read");
  return most;
}

std::string stderr_of(const std::function<void()>& function) {
  const File file = temporary();
  std::fflush(stderr);
  const int kept = dup(STDERR_FILENO);
  dup2(fileno(file.get()), STDERR_FILENO);
  try {
    function();
  } catch (...) {
    dup2(kept, STDERR_FILENO);
    close(kept);
    throw;
  }
  std::fflush(stderr);
  dup2(kept, STDERR_FILENO);
  close(kept);
  return text_of(file.get());
}

Ended run_in_child(const std::function<void()>& function) {
  const File file = temporary();
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("fork failed");
  if (child == 0) {
    dup2(fileno(file.get()), STDERR_FILENO);
    function();
    std::fflush(nullptr);
    _exit(0);
  }
  int status = 0;
  const bool ended = eventually([&] { return waitpid(child, &status, WNOHANG) == child; });
  if (!ended) {
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
  }
  Ended result;
  if (WIFEXITED(status)) result.status = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  result.errors = text_of(file.get());
  return result;
}

}  // namespace support
