// C8: files, by the blocking pool; errors are values that name the path and what the system said.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <string>

#include <sys/stat.h>
#include <unistd.h>

#include "support/on_cores.hpp"
#include "support/process.hpp"

namespace {

namespace io = bulkhead::io;
using bulkhead::io::File;
using bulkhead::io::Open;

class Files : public support::Running {
 protected:
  Files() { std::filesystem::create_directory(folder_); }
  ~Files() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const { return folder_ / name; }

  template <class Body>
  void in_actor(Body body) {
    std::atomic<bool> done{false};
    runtime.spawn([&] {
      body();
      done = true;
    });
    wait_for_idle();
    EXPECT_TRUE(done);
  }

 private:
  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("bulkhead_files_" + std::to_string(getpid()));
};
ON_ONE_AND_SEVERAL_CORES(Files);

TEST_P(Files, what_is_written_is_read) {
  const auto body = [&] {
    auto file = File::open(path("a"), Open::kCreate);
    ASSERT_TRUE(file) << file.error().text;
    EXPECT_EQ(file->path(), path("a"));
    ASSERT_TRUE(file->write("hello, "));
    ASSERT_TRUE(file->write("world"));
    ASSERT_TRUE(file->write(""));
    EXPECT_EQ(file->size(), 12u);
    ASSERT_TRUE(file->write_at(0, "H"));
    EXPECT_EQ(file->read_at(0, 5), "Hello");
    EXPECT_EQ(file->read_at(7, 100), "world");
    EXPECT_EQ(file->read_at(12, 100), "");
    ASSERT_TRUE(file->sync());
    ASSERT_TRUE(file->close());
    EXPECT_FALSE(file->is_open());
    auto again = File::open(path("a"));
    ASSERT_TRUE(again);
    EXPECT_EQ(again->read(6), "Hello,");
    EXPECT_EQ(again->read(100), " world");
    EXPECT_EQ(again->read(100), "");
  };
  in_actor(body);
  body();  // a thread outside likewise
}

TEST_P(Files, each_way_to_open) {
  in_actor([&] {
    EXPECT_EQ(File::open(path("new")).error().code, ENOENT);
    EXPECT_EQ(File::open(path("new"), Open::kReadWrite).error().code, ENOENT);
    ASSERT_TRUE(File::open(path("new"), Open::kCreateNew)->write("1"));
    EXPECT_EQ(File::open(path("new"), Open::kCreateNew).error().code, EEXIST);
    ASSERT_TRUE(File::open(path("new"), Open::kAppend)->write("2"));
    ASSERT_TRUE(File::open(path("new"), Open::kReadWrite)->write("0"));
    EXPECT_EQ(File::open(path("new"))->read(10), "02");
    EXPECT_EQ(File::open(path("new"), Open::kCreate)->size(), 0u);
  });
}

TEST_P(Files, errors_name_the_path_and_what_the_system_says) {
  in_actor([&] {
    EXPECT_EQ(File::open(path("none")).error().text,
              "open " + path("none") + ": No such file or directory (ENOENT)");
    EXPECT_EQ(File::open("").error().text, "open a file: its path is empty");
    EXPECT_EQ(File::open("").error().code, ENOENT);
    auto reader = File::open("/proc/self/status");
    ASSERT_TRUE(reader);
    const auto refused = reader->write("x");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().text, "write /proc/self/status: Bad file descriptor (EBADF)");
    auto full = File::open("/dev/full", Open::kReadWrite);
    ASSERT_TRUE(full);
    const auto no_room = full->write("x");
    ASSERT_FALSE(no_room);
    EXPECT_EQ(no_room.error().code, ENOSPC);
    EXPECT_EQ(no_room.error().done, 0u);
  });
}

TEST_P(Files, bad_input_is_refused) {
  in_actor([&] {
    const auto zero = File::open(std::string("a\0b", 3));
    ASSERT_FALSE(zero);
    EXPECT_EQ(zero.error().code, EINVAL);
    EXPECT_EQ(zero.error().text, "open a: the path holds a zero byte");
    auto file = File::open(path("a"), Open::kCreate);
    ASSERT_TRUE(file);
    EXPECT_EQ(file->read(0).error().code, EINVAL);
    EXPECT_EQ(file->read_at(std::numeric_limits<std::uint64_t>::max(), 1).error().code, EINVAL);
    EXPECT_EQ(file->write_at(std::numeric_limits<std::int64_t>::max(), "x").error().code, EFBIG);
    ASSERT_TRUE(file->close());
    EXPECT_EQ(file->close().error().code, EBADF);
    EXPECT_EQ(file->read(1).error().text, "read a file: it is not open");
    EXPECT_EQ(file->write("x").error().code, EBADF);
    EXPECT_EQ(file->size().error().code, EBADF);
    EXPECT_EQ(file->sync().error().code, EBADF);
    EXPECT_EQ(File().read_at(0, 1).error().code, EBADF);
  });
}

// C8: it is the file that says how much memory a read takes.
TEST_P(Files, a_read_of_more_than_there_is_takes_memory_for_what_is_there) {
  const std::string text(3 << 20, 'x');
  in_actor([&] {
    auto file = File::open(path("a"), Open::kCreate);
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->write(text));
    auto again = File::open(path("a"));
    ASSERT_TRUE(again);
    EXPECT_EQ(again->read(1), "x");
    for (const std::size_t most : {std::size_t{1} << 43, std::numeric_limits<std::size_t>::max()}) {
      const auto all = again->read_at(0, most);
      ASSERT_TRUE(all) << all.error().text;
      EXPECT_EQ(*all, text);
      EXPECT_EQ(again->read_at(text.size() - 5, most), "xxxxx");
      EXPECT_EQ(again->read_at(text.size() + 5, most), "");
    }
    const auto rest = again->read(std::numeric_limits<std::size_t>::max());
    ASSERT_TRUE(rest) << rest.error().text;
    EXPECT_EQ(rest->size(), text.size() - 1);
    EXPECT_EQ(again->read(std::numeric_limits<std::size_t>::max()), "");
  });
}

// C8: what has no size, or says that it has none, is read in pieces.
TEST_P(Files, what_does_not_tell_its_size_is_read_in_pieces) {
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  in_actor([&] {
    constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
    auto fifo = File::open(path("fifo"), Open::kReadWrite);
    ASSERT_TRUE(fifo) << fifo.error().text;
    ASSERT_TRUE(fifo->write("hello"));
    const auto hello = fifo->read(kAll);
    EXPECT_EQ(hello, "hello");
    EXPECT_LT(hello->capacity(), 1000u);
    EXPECT_EQ(File::open("/dev/zero")->read(kAll)->size(), std::size_t{1} << 20);
    EXPECT_GT(File::open("/proc/self/status")->read(kAll)->size(), 100u);
  });
}

TEST_P(Files, descriptors_are_closed_however_the_owner_ends) {
  const std::size_t before = support::open_descriptors();
  for (std::size_t i = 0; i < 20; ++i) {
    runtime.spawn_with(on_core(i), [&, i] {
      auto file = File::open(path(std::to_string(i)), Open::kCreate);
      auto moved = std::move(*file);
      ASSERT_FALSE(file->is_open());
      moved = std::move(*File::open(path(std::to_string(i))));
      if (i % 2 == 0) bulkhead::panic("with files open");
    });
  }
  wait_for_idle();
  EXPECT_EQ(support::open_descriptors(), before);
}

// A read that nobody waits for any more holds the descriptor until it is over.
TEST_P(Files, who_is_ended_at_a_read_leaves_at_once_and_the_descriptor_is_closed_later) {
  const std::size_t before = support::open_descriptors();
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  support::Event entered;
  std::atomic<bool> left{false};
  struct Leaves {
    std::atomic<bool>& left;
    ~Leaves() { left = true; }
  };
  auto writer = std::make_shared<File>();
  runtime.spawn([&, writer] {
    const Leaves leaves{left};
    auto file = File::open(path("fifo"), Open::kReadWrite);
    ASSERT_TRUE(file) << file.error().text;
    *writer = std::move(*File::open(path("fifo"), Open::kReadWrite));
    entered.set();
    static_cast<void>(file->read(1));
    ADD_FAILURE() << "there is nothing to read";
  });
  ASSERT_TRUE(entered.wait());
  static_cast<void>(support::stderr_of([&] { runtime.shutdown(std::chrono::milliseconds(50)); }));
  EXPECT_TRUE(left);
  ASSERT_TRUE(writer->write("x"));
  ASSERT_TRUE(writer->close());
  EXPECT_TRUE(support::eventually([&] { return support::open_descriptors() <= before; }));
}

}  // namespace
