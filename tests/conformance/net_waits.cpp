// C8: wait_readable and wait_writable, for descriptors that are not ours.
#include <fcntl.h>
#include <sys/eventfd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "net_support.hpp"

namespace {

namespace net = bulkhead::net;
using namespace std::chrono_literals;
using net::ErrorKind;
using support::error_of;
using support::Event;
using support::kDeadline;

class NetWaits : public support::Network {
 protected:
  NetWaits() { EXPECT_EQ(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0); }
  ~NetWaits() override {
    for (const int end : ends) {
      if (end >= 0) close(end);
    }
  }

  void fill() const {
    while (write(ends[1], "0123456789", 10) > 0) {
    }
    while (write(ends[1], "0", 1) > 0) {
    }
  }

  int ends[2] = {-1, -1};
};
ON_ONE_AND_SEVERAL_CORES(NetWaits);

// C8
TEST_P(NetWaits, an_actor_waits_for_a_pipe_and_its_core_runs_others_meanwhile) {
  Event readable;
  in_background(0, [&] {
    EXPECT_TRUE(net::wait_readable(ends[0], kDeadline));
    char byte = 0;
    EXPECT_EQ(read(ends[0], &byte, 1), 1);
    readable.set();
  });
  in_actor([&] { EXPECT_EQ(write(ends[1], "x", 1), 1); });
  EXPECT_TRUE(readable.wait());
}

// C8
TEST_P(NetWaits, what_is_ready_already_is_ready_as_often_as_one_asks) {
  EXPECT_EQ(write(ends[1], "x", 1), 1);
  in_actor([&] {
    for (int i = 0; i < 3; ++i) {
      EXPECT_TRUE(net::wait_readable(ends[0], 0s));
      EXPECT_TRUE(net::wait_readable(ends[0]));
      EXPECT_TRUE(net::wait_writable(ends[1]));
    }
  });
}

// C8
TEST_P(NetWaits, a_full_pipe_becomes_writable_when_somebody_reads) {
  fill();
  Event seen_full;
  Event writable;
  in_background(0, [&] {
    EXPECT_EQ(error_of(net::wait_writable(ends[1], 0s)).kind, ErrorKind::kTimedOut);
    seen_full.set();
    EXPECT_TRUE(net::wait_writable(ends[1], kDeadline));
    writable.set();
  });
  in_actor(1, [&] {
    while (!seen_full.happened()) bulkhead::this_actor::yield();
    char buffer[8192];
    while (read(ends[0], buffer, sizeof buffer) > 0) {
    }
  });
  EXPECT_TRUE(writable.wait());
}

// C8
TEST_P(NetWaits, time_runs_out_and_not_before) {
  in_actor([&] {
    const auto start = support::Clock::now();
    const auto error = error_of(net::wait_readable(ends[0], 20ms));
    EXPECT_EQ(error.kind, ErrorKind::kTimedOut);
    EXPECT_GE(support::Clock::now() - start, 20ms);
    EXPECT_NE(error.text.find("descriptor " + std::to_string(ends[0])), std::string::npos)
        << error.text;
  });
}

// C8
TEST_P(NetWaits, the_end_of_the_other_side_ends_the_wait) {
  Event ended;
  in_background(0, [&] {
    EXPECT_TRUE(net::wait_readable(ends[0], kDeadline));
    ended.set();
  });
  in_actor(1, [&] { close(std::exchange(ends[1], -1)); });
  EXPECT_TRUE(ended.wait());
}

// C8
TEST_P(NetWaits, what_is_no_descriptor_is_an_error_and_a_file_is_always_ready) {
  std::FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  in_actor([&] {
    for (const int fd : {-1, 900'000}) {
      const auto error = error_of(net::wait_readable(fd, kDeadline));
      EXPECT_EQ(error.kind, ErrorKind::kClosed) << error.text;
    }
    EXPECT_TRUE(net::wait_readable(fileno(file)));
    EXPECT_TRUE(net::wait_writable(fileno(file)));
  });
  std::fclose(file);
}

// C8
TEST_P(NetWaits, many_actors_wait_for_one_descriptor_and_all_are_woken) {
  const support::NoDescriptorIsLeft none_left;
  const int counter = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  std::atomic<int> begun{0};
  std::atomic<int> woken{0};
  for (std::size_t i = 0; i < 30; ++i) {
    in_background(i, [&] {
      ++begun;
      EXPECT_TRUE(net::wait_readable(counter, kDeadline));
      ++woken;
    });
  }
  EXPECT_TRUE(support::eventually([&] { return begun == 30; }));
  EXPECT_EQ(eventfd_write(counter, 1), 0);
  EXPECT_TRUE(support::eventually([&] { return woken == 30; }));
  wait_for_idle();
  close(counter);
}

// C8
TEST_P(NetWaits, a_descriptor_closed_and_used_again_meanwhile_confuses_nobody) {
  Event timed_out;
  const std::size_t before = support::open_descriptors();
  in_background(0, [&] {
    EXPECT_EQ(error_of(net::wait_readable(ends[0], 500ms)).kind, ErrorKind::kTimedOut);
    timed_out.set();
  });
  // It watches a duplicate.
  EXPECT_TRUE(support::eventually([&] { return support::open_descriptors() == before + 1; }));
  // The number now stands for another file, which is ready from the start.
  const int other = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
  EXPECT_EQ(dup2(other, ends[0]), ends[0]);
  close(other);
  EXPECT_TRUE(timed_out.wait());
  in_actor([&] { EXPECT_TRUE(net::wait_readable(ends[0], kDeadline)); });
}

// C8
TEST_P(NetWaits, stopping_who_waits_leaves_no_registration) {
  const support::NoDescriptorIsLeft none_left;
  bulkhead::Runtime other(config());
  for (int i = 0; i < 20; ++i) {
    std::atomic<int> begun{0};
    other.start();
    for (std::size_t k = 0; k < 20; ++k) {
      other.spawn_with(on_core(k), [&, k] {
        ++begun;
        if (k % 2 == 0) {
          static_cast<void>(net::wait_readable(ends[0]));
        } else {
          static_cast<void>(net::wait_readable(ends[0], 1h));
        }
      });
    }
    EXPECT_TRUE(support::eventually([&] { return begun == 20; }));
    other.shutdown(0s);
  }
  // Nothing that happens to it later reaches anybody.
  EXPECT_EQ(write(ends[1], "x", 1), 1);
  in_actor([&] { EXPECT_TRUE(net::wait_readable(ends[0], kDeadline)); });
}

// C8
TEST_P(NetWaits, outside_actors_it_is_a_logic_error) {
  EXPECT_THROW(static_cast<void>(net::wait_readable(ends[0])), std::logic_error);
  EXPECT_THROW(static_cast<void>(net::wait_writable(ends[1])), std::logic_error);
}

}  // namespace
