#include "machine/cpus.hpp"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <span>

namespace bulkhead::machine {

namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

// The path of the process's group below `controller`'s mount; empty for version 2's "0::/path".
std::string group_path(const std::string& controller) {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const auto first = line.find(':');
    const auto second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string names = "," + line.substr(first + 1, second - first - 1) + ",";
    const bool wanted = controller.empty() ? names == ",," : names.contains("," + controller + ",");
    if (wanted) return line.substr(second + 1);
  }
  return {};
}

std::size_t quota_v2() {
  // Every group on the way up may set a limit; the smallest counts.
  std::size_t smallest = 0;
  for (std::string path = group_path(""); !path.empty();) {
    const std::size_t quota = quota_of(text_of("/sys/fs/cgroup" + path + "/cpu.max"));
    if (quota != 0 && (smallest == 0 || quota < smallest)) smallest = quota;
    path.resize(path.rfind('/'));
  }
  const std::size_t root = quota_of(text_of("/sys/fs/cgroup/cpu.max"));
  if (root != 0 && (smallest == 0 || root < smallest)) smallest = root;
  return smallest;
}

std::size_t quota_v1() {
  for (const std::string& path : {group_path("cpu"), std::string()}) {
    const std::string folder = "/sys/fs/cgroup/cpu" + path;
    std::string quota = text_of(folder + "/cpu.cfs_quota_us");
    std::string period = text_of(folder + "/cpu.cfs_period_us");
    if (quota.empty() || quota[0] == '-' || period.empty()) continue;
    while (!quota.empty() && quota.back() == '\n') quota.pop_back();
    return quota_of(quota.append(" ").append(period));
  }
  return 0;
}

}  // namespace

std::vector<int> allowed_cpus() {
  // The kernel may know more CPUs than a cpu_set_t has room for; grow until it is content.
  std::vector<int> cpus;
  for (int room = CPU_SETSIZE; room <= (1 << 16) && cpus.empty(); room *= 2) {
    cpu_set_t* set = CPU_ALLOC(static_cast<std::size_t>(room));
    if (set == nullptr) break;
    const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(room));
    if (sched_getaffinity(0, bytes, set) == 0) {
      for (int cpu = 0; cpu < room; ++cpu) {
        if (CPU_ISSET_S(static_cast<std::size_t>(cpu), bytes, set)) cpus.push_back(cpu);
      }
    }
    CPU_FREE(set);
  }
  if (cpus.empty()) cpus.push_back(0);
  return cpus;
}

std::size_t quota_of(const std::string& cpu_max) {
  unsigned long quota = 0;
  unsigned long period = 0;
  if (cpu_max.contains('-')) return 0;  // scanf would take the sign
  if (std::sscanf(cpu_max.c_str(), "%lu %lu", &quota, &period) != 2) return 0;
  if (quota == 0 || period == 0) return 0;
  return quota / period + (quota % period != 0 ? 1 : 0);
}

std::size_t usable_cpus() {
  std::size_t usable = allowed_cpus().size();
  for (const std::size_t quota : {quota_v2(), quota_v1()}) {
    if (quota != 0) usable = std::min(usable, quota);
  }
  return usable;
}

namespace {

bool bind(pthread_t thread, std::span<const int> cpus) noexcept {
  const int most = *std::ranges::max_element(cpus);
  const auto room = static_cast<std::size_t>(std::max(most + 1, CPU_SETSIZE));
  cpu_set_t* set = CPU_ALLOC(room);
  if (set == nullptr) return false;
  const std::size_t bytes = CPU_ALLOC_SIZE(room);
  CPU_ZERO_S(bytes, set);
  for (const int cpu : cpus) CPU_SET_S(static_cast<std::size_t>(cpu), bytes, set);
  const bool bound = pthread_setaffinity_np(thread, bytes, set) == 0;
  CPU_FREE(set);
  return bound;
}

void give_name(pthread_t thread, const char* name) noexcept {
  char kept[16];
  std::snprintf(kept, sizeof kept, "%s", name);
  pthread_setname_np(thread, kept);
}

}  // namespace

int process_id() noexcept { return getpid(); }

int thread_id() noexcept { return gettid(); }

std::string name_of_thread(int id) {
  std::string name = text_of("/proc/self/task/" + std::to_string(id) + "/comm");
  while (!name.empty() && name.back() == '\n') name.pop_back();
  return name;
}

bool bind_to_cpu(int cpu) noexcept { return bind(pthread_self(), std::span(&cpu, 1)); }

bool unbind(sync::Thread& thread, const std::vector<int>& cpus) noexcept {
  return bind(thread.native_handle(), cpus);
}

void name_thread(const char* name) noexcept { give_name(pthread_self(), name); }

void name_thread(sync::Thread& thread, const char* name) noexcept {
  give_name(thread.native_handle(), name);
}

}  // namespace bulkhead::machine
