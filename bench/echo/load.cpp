#include "load.hpp"

#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

namespace echo {

std::atomic<bool> interrupted{false};

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kConnectTime = std::chrono::seconds(10);
constexpr auto kReplyTime = std::chrono::seconds(5);
constexpr std::uint64_t kTooManyErrors = 1000;

/// One place for a connection; it is made anew there when it ends.
struct Slot {
  enum class State { kClosed, kConnecting, kReady, kAwaitingReply };

  int fd = -1;
  State state = State::kClosed;
  bool faulty = false;
  std::uint64_t sequence = 0;     // Of messages ever sent here, so that no two are alike.
  std::uint64_t on_this_one = 0;  // Replies on the present connection.
  std::size_t sent = 0;
  std::size_t received = 0;
  Clock::time_point sent_at;
  std::vector<char> out;
  std::vector<char> in;
};

std::string reason(int error) { return std::strerror(error); }

class Load {
 public:
  Load(const LoadOptions& options, const std::function<void(const Second&)>& on_second)
      : options_(options), on_second_(on_second), slots_(options.connections) {
    for (std::size_t i = 0; i < pattern_.size(); ++i)
      pattern_[i] = static_cast<char>('a' + (i * 7 + i / 26) % 26);
    // The faulty places are spread evenly; a share above nothing means at least one.
    const auto faulty =
        static_cast<std::size_t>(std::ceil(options.faults * static_cast<double>(slots_.size())));
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      slots_[i].faulty = (i + 1) * faulty / slots_.size() > i * faulty / slots_.size();
      slots_[i].out.resize(options.message_bytes);
      slots_[i].in.resize(options.message_bytes);
    }
  }
  ~Load() {
    for (Slot& slot : slots_) close(slot);
    if (epoll_ >= 0) ::close(epoll_);
  }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  LoadReport run() {
    if (prepare() && connect_all()) measure();
    return std::move(report_);
  }

 private:
  bool over() const { return !report_.stopped.empty(); }

  void stop(std::string why) {
    if (!over()) report_.stopped = std::move(why);
  }

  bool prepare() {
    raise_descriptor_limit();
    epoll_ = over() ? -1 : ::epoll_create1(EPOLL_CLOEXEC);
    if (epoll_ < 0) stop("cannot make an epoll: " + reason(errno));
    return !over();
  }

  void raise_descriptor_limit() {
    rlimit limit{};
    const rlim_t needed = options_.connections + 16;
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed) return;
    limit.rlim_cur = std::min(limit.rlim_max, needed);
    ::setrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur < needed) {
      stop(std::to_string(options_.connections) +
           " connections need more file descriptors than the limit of " +
           std::to_string(limit.rlim_max) + " allows (see ulimit -n)");
    }
  }

  // ---- Connections ----

  void watch(int operation, Slot& slot, std::uint32_t interest) {
    epoll_event event{};
    event.events = interest;
    event.data.ptr = &slot;
    if (::epoll_ctl(epoll_, operation, slot.fd, &event) != 0) stop("epoll_ctl: " + reason(errno));
  }

  void cannot_connect(int error) {
    const char* const hint =
        error == ECONNREFUSED && !connected_once_ ? " (is the server running?)" : "";
    stop((connected_once_ ? "lost the server at " : "cannot connect to ") + options_.target.text +
         ": " + reason(error) + hint);
  }

  void open(Slot& slot) {
    slot.on_this_one = 0;
    slot.fd = ::socket(options_.target.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (slot.fd < 0) return stop("cannot make a socket: " + reason(errno));
    const int on = 1;
    ::setsockopt(slot.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    slot.state = Slot::State::kConnecting;
    slot.sent_at = Clock::now();
    if (::connect(slot.fd, options_.target.generic(), options_.target.length) != 0 &&
        errno != EINPROGRESS) {
      return cannot_connect(errno);
    }
    watch(EPOLL_CTL_ADD, slot, EPOLLOUT);
  }

  void close(Slot& slot) {
    if (slot.fd < 0) return;
    ::close(slot.fd);
    slot.fd = -1;
    slot.state = Slot::State::kClosed;
  }

  void reopen(Slot& slot) {
    close(slot);
    if (over()) return;
    ++report_.reconnects;
    open(slot);
  }

  void finish_connecting(Slot& slot) {
    int error = 0;
    socklen_t length = sizeof error;
    ::getsockopt(slot.fd, SOL_SOCKET, SO_ERROR, &error, &length);
    if (error == ECONNRESET && options_.cuts) return cut(slot);
    if (error != 0) return cannot_connect(error);
    slot.state = Slot::State::kReady;
    watch(EPOLL_CTL_MOD, slot, EPOLLIN);
    if (connected_once_) {
      send_next(slot);
    } else {
      ++connected_;
    }
  }

  bool connect_all() {
    for (Slot& slot : slots_) {
      if (!over()) open(slot);
    }
    const auto deadline = Clock::now() + kConnectTime;
    while (!over() && connected_ < slots_.size()) {
      handle_events(deadline);
      if (Clock::now() >= deadline) {
        stop("cannot connect to " + options_.target.text + ": only " + std::to_string(connected_) +
             " of " + std::to_string(slots_.size()) + " connections were accepted within 10 s");
      }
    }
    connected_once_ = !over();
    return connected_once_;
  }

  // ---- Messages ----

  // First byte, place, sequence, then a piece of the pattern that moves with the sequence: a reply
  // that belongs to another connection or to an earlier message differs.
  void compose(Slot& slot) {
    const auto index = static_cast<std::uint32_t>(&slot - slots_.data());
    char* out = slot.out.data();
    std::memset(out, 0, kSmallestMessage);
    out[0] = slot.faulty ? 'X' : 'e';
    std::memcpy(out + 4, &index, sizeof index);
    std::memcpy(out + 8, &slot.sequence, sizeof slot.sequence);
    for (std::size_t done = kSmallestMessage; done < slot.out.size();) {
      const std::size_t from = done == kSmallestMessage ? slot.sequence % 26 : 0;
      const std::size_t piece = std::min(slot.out.size() - done, pattern_.size() - from);
      std::memcpy(out + done, pattern_.data() + from, piece);
      done += piece;
    }
    ++slot.sequence;
  }

  void send_next(Slot& slot) {
    compose(slot);
    slot.sent = 0;
    slot.received = 0;
    slot.state = Slot::State::kAwaitingReply;
    if (slot.faulty) ++report_.faults_sent;
    slot.sent_at = Clock::now();
    send_rest(slot);
  }

  void send_rest(Slot& slot) {
    const bool was_partial = slot.sent != 0;
    const ssize_t count =
        ::send(slot.fd, slot.out.data() + slot.sent, slot.out.size() - slot.sent, MSG_NOSIGNAL);
    if (count < 0 && errno != EAGAIN && errno != EINTR) return lost(slot, errno);
    if (count > 0) slot.sent += static_cast<std::size_t>(count);
    if (slot.sent < slot.out.size()) {
      watch(EPOLL_CTL_MOD, slot, EPOLLIN | EPOLLOUT);
    } else if (was_partial) {
      watch(EPOLL_CTL_MOD, slot, EPOLLIN);
    }
  }

  void receive(Slot& slot) {
    const ssize_t count =
        ::recv(slot.fd, slot.in.data() + slot.received, slot.in.size() - slot.received, 0);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count <= 0) return lost(slot, count == 0 ? 0 : errno);
    if (slot.state != Slot::State::kAwaitingReply) {
      return error(slot, Fault::kWrongContent, "bytes arrived that nothing had been sent for");
    }
    if (slot.faulty)
      return error(slot, Fault::kFaultAnswered, "a connection that began with X was answered");
    slot.received += static_cast<std::size_t>(count);
    if (slot.received == slot.in.size()) complete(slot);
  }

  void complete(Slot& slot) {
    const auto now = Clock::now();
    if (slot.in != slot.out)
      return error(slot, Fault::kWrongContent, "a reply differs from what was sent");
    latency_.record(
        static_cast<std::uint64_t>(std::chrono::nanoseconds(now - slot.sent_at).count()));
    slot.state = Slot::State::kReady;
    if (++slot.on_this_one == options_.churn) return reopen(slot);
    send_next(slot);
  }

  /// The server closed the connection (error 0), or it broke.
  void lost(Slot& slot, int error_number) {
    const bool by_server = error_number == 0 || error_number == ECONNRESET || error_number == EPIPE;
    if (slot.faulty && slot.state == Slot::State::kAwaitingReply && by_server) {
      ++report_.faults_closed;
      return reopen(slot);
    }
    if (by_server && options_.cuts) return cut(slot);
    if (by_server)
      return error(slot, Fault::kClosedByServer, "the server closed a connection in the middle");
    error(slot, Fault::kSystem, "a connection broke: " + reason(error_number));
  }

  void cut(Slot& slot) {
    ++report_.cuts;
    reopen(slot);
  }

  void error(Slot& slot, Fault kind, std::string what) {
    ++report_.errors[static_cast<std::size_t>(kind)];
    if (report_.first_error.empty()) report_.first_error = std::move(what);
    if (report_.error_count() >= kTooManyErrors)
      stop("too many errors; the first: " + report_.first_error);
    reopen(slot);
  }

  // ---- Time ----

  void handle_events(Clock::time_point until) {
    std::array<epoll_event, 256> events;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    const int timeout = static_cast<int>(std::clamp<long long>(left, 0, 1000));
    const int count = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), timeout);
    if (interrupted.load(std::memory_order_relaxed)) stop("interrupted");
    for (int i = 0; i < count && !over(); ++i) {
      const epoll_event& event = events[static_cast<std::size_t>(i)];
      Slot& slot = *static_cast<Slot*>(event.data.ptr);
      if (slot.state == Slot::State::kConnecting) {
        finish_connecting(slot);
      } else if ((event.events & EPOLLOUT) != 0 && slot.sent < slot.out.size()) {
        send_rest(slot);
      } else {
        receive(slot);
      }
    }
  }

  void look_for_stalls(Clock::time_point now) {
    for (Slot& slot : slots_) {
      if (over()) return;
      if (slot.state == Slot::State::kReady || slot.state == Slot::State::kClosed) continue;
      if (now - slot.sent_at > kReplyTime) error(slot, Fault::kNoReply, "no reply within 5 s");
    }
  }

  void tell(Clock::time_point began, Clock::time_point from, Clock::time_point now,
            bool warming_up) {
    if (!on_second_) return;
    Second second;
    second.at = std::chrono::duration<double>(now - began).count();
    second.length = std::chrono::duration<double>(now - from).count();
    second.warming_up = warming_up;
    second.latency = latency_;
    second.errors = report_.error_count();
    second.faults_closed = report_.faults_closed;
    on_second_(second);
  }

  /// Lets messages flow until `end`; what is measured on the way is added to the report unless
  /// `warming_up`.
  void flow(Clock::time_point began, Clock::time_point end, bool warming_up) {
    auto from = Clock::now();
    const auto phase_began = from;
    while (!over() && from < end) {
      const auto next = std::min<Clock::time_point>(from + std::chrono::seconds(1), end);
      auto now = from;
      while (!over() && now < next) {
        handle_events(next);
        now = Clock::now();
      }
      tell(began, from, now, warming_up);
      if (!warming_up) report_.latency.add(latency_);
      latency_ = Histogram{};
      look_for_stalls(now);
      from = now;
    }
    if (!warming_up) report_.seconds = std::chrono::duration<double>(from - phase_began).count();
  }

  void measure() {
    const auto began = Clock::now();
    for (Slot& slot : slots_) {
      if (!over() && slot.state == Slot::State::kReady) send_next(slot);
    }
    const auto warm = began + std::chrono::duration_cast<Clock::duration>(options_.warm_up);
    flow(began, warm, true);
    flow(began, Clock::now() + std::chrono::duration_cast<Clock::duration>(options_.duration),
         false);
  }

  const LoadOptions& options_;
  const std::function<void(const Second&)>& on_second_;
  std::vector<Slot> slots_;
  std::array<char, 4096> pattern_{};
  int epoll_ = -1;
  std::size_t connected_ = 0;
  bool connected_once_ = false;
  Histogram latency_;  // Since the last second began.
  LoadReport report_;
};

}  // namespace

std::string_view name(Fault fault) {
  switch (fault) {
    case Fault::kWrongContent:
      return "wrong content";
    case Fault::kClosedByServer:
      return "closed by the server";
    case Fault::kFaultAnswered:
      return "X was answered";
    case Fault::kNoReply:
      return "no reply";
    case Fault::kSystem:
      return "broken connection";
    case Fault::kCount:
      break;
  }
  return "unknown";
}

std::uint64_t LoadReport::error_count() const {
  std::uint64_t sum = 0;
  for (const std::uint64_t count : errors) sum += count;
  return sum;
}

bool LoadReport::ok() const {
  return stopped.empty() && error_count() == 0 && (requests() != 0 || faults_closed != 0);
}

LoadReport run_load(const LoadOptions& options,
                    const std::function<void(const Second&)>& on_second) {
  return Load(options, on_second).run();
}

}  // namespace echo
