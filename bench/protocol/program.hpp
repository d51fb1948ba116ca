// What every C++ benchmark program here shares: the command line, the one line of JSON, checks that
// end the program, and readings of memory. The protocol itself is described in README.md, "The
// programs".
//
// Needs C++17 only, the standard of the peers.
#pragma once

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

using Clock = std::chrono::steady_clock;

/// What the command line asks for.
struct Request {
  std::uint64_t n = 0;  ///< Size of the work; each benchmark says in which unit.
  unsigned cores = 1;   ///< Scheduler threads: 1 or more.
};

/// What a benchmark found. `ns_per_op` is always seconds / ops: whatever else is worth knowing goes
/// into `extra`.
class Result {
 public:
  Result(std::uint64_t ops, Clock::duration elapsed)
      : ops_(ops), seconds_(std::chrono::duration<double>(elapsed).count()) {}

  Result& extra(std::string_view key, double value) {
    char text[48];
    std::snprintf(text, sizeof text, "%.10g", value);
    return append(key, text);
  }

  /// `value` must need no escaping.
  Result& extra(std::string_view key, const char* value) {
    return append(key, '"' + std::string(value) + '"');
  }

  void print(std::string_view bench, std::string_view peer, std::uint64_t n) const {
    const double ns = ops_ == 0 ? 0.0 : seconds_ * 1e9 / static_cast<double>(ops_);
    std::printf(
        "{\"bench\":\"%.*s\",\"peer\":\"%.*s\",\"n\":%llu,\"ops\":%llu,\"seconds\":%.9g,"
        "\"ns_per_op\":%.6g,\"extra\":{%s},\"ok\":true}\n",
        static_cast<int>(bench.size()), bench.data(), static_cast<int>(peer.size()), peer.data(),
        static_cast<unsigned long long>(n), static_cast<unsigned long long>(ops_), seconds_, ns,
        extra_.c_str());
    std::fflush(stdout);
  }

 private:
  Result& append(std::string_view key, const std::string& value) {
    if (!extra_.empty()) extra_ += ',';
    extra_ += '"';
    extra_ += key;
    extra_ += "\":";
    extra_ += value;
    return *this;
  }

  std::uint64_t ops_;
  double seconds_;
  std::string extra_;
};

/// Ends the process with status 1 unless `holds`. No destructors run: other threads may be in any
/// state.
inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "benchmark check failed: %s\n", what);
  std::fflush(stderr);
  std::_Exit(1);
}

inline void require_equal(std::uint64_t actual, std::uint64_t expected, const char* what) {
  if (actual == expected) return;
  std::fprintf(stderr, "benchmark check failed: %s is %llu, expected %llu\n", what,
               static_cast<unsigned long long>(actual), static_cast<unsigned long long>(expected));
  std::fflush(stderr);
  std::_Exit(1);
}

/// 0 + 1 + ... + (n - 1).
inline std::uint64_t sum_below(std::uint64_t n) { return n == 0 ? 0 : n * (n - 1) / 2; }

/// How many of `total` messages the producer `index` of `producers` sends.
inline std::uint64_t share(std::uint64_t total, std::uint64_t producers, std::uint64_t index) {
  return total / producers + (index < total % producers ? 1 : 0);
}

/// The sequential work of skynet_seq: adds the leaves one by one. The barrier keeps compilers from
/// replacing the loop by its closed form, which would leave nothing to measure; it costs nothing
/// itself.
[[gnu::noinline]] inline std::uint64_t sequential_sum(std::uint64_t first, std::uint64_t leaves) {
  std::uint64_t sum = 0;
  for (std::uint64_t leaf = first; leaf != first + leaves; ++leaf) {
    sum += leaf;
    asm volatile("" : "+r"(sum));
  }
  return sum;
}

/// Nodes of a 10-ary tree over `leaves` whose smallest nodes have `smallest` leaves.
inline std::uint64_t skynet_nodes(std::uint64_t leaves, std::uint64_t smallest) {
  std::uint64_t nodes = 0;
  for (std::uint64_t size = leaves, level = 1; size >= smallest; size /= 10, level *= 10) {
    nodes += level;
    if (size < 10) break;
  }
  return nodes;
}

inline void require_power_of_ten(std::uint64_t n) {
  while (n >= 10 && n % 10 == 0) n /= 10;
  require(n == 1, "n is a power of ten");
}

/// Bytes of this process that are in memory now.
inline std::uint64_t resident_bytes() {
  char text[128] = {};
  const int fd = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  require(fd >= 0, "/proc/self/statm can be opened");
  const auto length = ::read(fd, text, sizeof text - 1);
  ::close(fd);
  unsigned long long total = 0;
  unsigned long long resident = 0;
  require(length > 0 && std::sscanf(text, "%llu %llu", &total, &resident) == 2,
          "/proc/self/statm can be read");
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

/// The most that was resident at once. (ru_maxrss is inherited from who starts it.)
inline double peak_rss_mb() {
  std::FILE* status = std::fopen("/proc/self/status", "r");
  require(status != nullptr, "/proc/self/status can be opened");
  char line[256];
  unsigned long long kib = 0;
  while (kib == 0 && std::fgets(line, sizeof line, status) != nullptr) {
    static_cast<void>(std::sscanf(line, "VmHWM: %llu kB", &kib));
  }
  std::fclose(status);
  require(kib != 0, "/proc/self/status says VmHWM");
  return static_cast<double>(kib) / 1024.0;
}

/// For idle_cpu: says on stderr that the process is idle now, and returns once the observer closes
/// our stdin. The calling thread sleeps in read() meanwhile and adds no wake-up of its own.
inline void stay_idle_until_released() {
  std::fputs("ready\n", stderr);
  std::fflush(stderr);
  char byte;
  while (::read(STDIN_FILENO, &byte, 1) > 0) {
  }
}

/// The value below which `fraction` of the samples lie. Sorts `samples`.
inline double percentile(std::vector<double>& samples, double fraction) {
  require(!samples.empty(), "there are samples");
  std::sort(samples.begin(), samples.end());
  const auto last = static_cast<double>(samples.size() - 1);
  return samples[static_cast<std::size_t>(fraction * last + 0.5)];
}

inline double to_ns(Clock::duration d) {
  return std::chrono::duration<double, std::nano>(d).count();
}

/// Restricts the process to the first of its CPUs: for peers whose threads are the system's own.
inline void stay_on_one_cpu() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  require(::sched_getaffinity(0, sizeof allowed, &allowed) == 0, "the CPU set can be read");
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    require(::sched_setaffinity(0, sizeof one, &one) == 0, "the CPU set can be restricted");
    return;
  }
}

/// One benchmark of a program.
struct Entry {
  const char* name;
  Result (*run)(const Request&);
};

/// main() of a benchmark program:  PROGRAM BENCH N [CORES]  |  PROGRAM --list  |  PROGRAM --version
/// Exit status: 0 measured and right, 1 a check failed, 2 the command line makes no sense.
inline int run_program(const char* peer, const char* version, const std::vector<Entry>& entries,
                       int argc, char** argv) {
  const std::string_view first = argc > 1 ? argv[1] : "";
  if (argc == 2 && first == "--list") {
    for (const Entry& entry : entries) std::puts(entry.name);
    return 0;
  }
  if (argc == 2 && first == "--version") {
    std::puts(version);
    return 0;
  }
  if (argc != 3 && argc != 4) {
    std::fprintf(stderr, "usage: %s BENCH N [CORES] | --list | --version\n", argv[0]);
    return 2;
  }
  const auto positive = [](const char* text) -> std::uint64_t {
    char* end = nullptr;
    const unsigned long long value = std::strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == '\0' ? value : 0;
  };
  Request request;
  request.n = positive(argv[2]);
  const std::uint64_t cores = argc == 4 ? positive(argv[3]) : 1;
  if (request.n == 0 || cores == 0 || cores > 1024) {
    std::fprintf(stderr, "%s: N and CORES must be positive whole numbers\n", argv[0]);
    return 2;
  }
  request.cores = static_cast<unsigned>(cores);
  for (const Entry& entry : entries) {
    if (first != entry.name) continue;
    entry.run(request).print(entry.name, peer, request.n);
    return 0;
  }
  std::fprintf(stderr, "%s: no benchmark '%s' here; --list names them\n", argv[0], argv[1]);
  return 2;
}

}  // namespace bench
