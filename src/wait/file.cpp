#include "bulkhead/file.hpp"

#include <algorithm>
#include <cerrno>
#include <limits>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "bulkhead/blocking.hpp"
#include "bulkhead/cross.hpp"
#include "core/belongings.hpp"
#include "core/inside.hpp"
#include "machine/file.hpp"
#include "machine/process_wide.hpp"
#include "sync/mutex.hpp"

namespace bulkhead::io {

namespace file = machine::file;

namespace {

struct Descriptor {
  std::string path;
  int fd = -1;

  Descriptor() = default;
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd >= 0) file::close(fd);
  }
};

// Shared with the thread that works on it: the number is closed when both have let go of it.
using Shared = std::shared_ptr<Descriptor>;

// What a thread of the pool does with a file, and what it needs for that. In an isolated actor it
// crosses to that thread; what is shared lies in the process's memory anyway.
template <class Does>
struct Work {
  Shared file;
  std::string data;
  Does does;

  auto operator()() { return does(*file, data); }
};

}  // namespace

}  // namespace bulkhead::io

template <class Does>
inline constexpr bool bulkhead::kSendable<bulkhead::io::Work<Does>> = true;
template <class Does>
struct bulkhead::Crossing<bulkhead::io::Work<Does>> {
  static io::Work<Does> cross(const io::Work<Does>& from) {
    return {from.file, crossed(from.data), from.does};
  }
};

namespace bulkhead::io {

namespace {

template <class Does>
auto work_on(const Shared& file, std::string data, Does does) {
  return blocking(Work<Does>{file, std::move(data), does});
}
template <class Does>
auto work_on(const Shared& file, Does does) {
  return work_on(file, {},
                 [does](Descriptor& it, const std::string& /*data*/) { return does(it); });
}

// As much is read at once of what does not tell its size.
constexpr std::size_t kPiece = std::size_t{1} << 20;
constexpr std::size_t kMostAtOnce = 0x7ffff000;  // Linux's own limit
constexpr std::uint64_t kMostOffset = std::numeric_limits<std::int64_t>::max();

std::unexpected<Error> failed(const char* what, const std::string& path, int code,
                              std::size_t done = 0) {
  return std::unexpected(
      Error{code, done, std::string(what) + " " + path + ": " + file::describe(code)});
}

std::unexpected<Error> refused(const char* what, const std::string& path, int code,
                               const char* why) {
  return std::unexpected(Error{code, 0, std::string(what) + " " + path + ": " + why});
}

std::unexpected<Error> not_open(const char* what) {
  return refused(what, "a file", EBADF, "it is not open");
}

file::Flags flags_of(Open how) noexcept {
  switch (how) {
    case Open::kRead:
      break;
    case Open::kReadWrite:
      return {.write = true};
    case Open::kCreate:
      return {.write = true, .create = true, .truncate = true};
    case Open::kCreateNew:
      return {.write = true, .create = true, .exclusive = true};
    case Open::kAppend:
      return {.write = true, .create = true, .append = true};
  }
  return {};
}

// Calls read(span) into a string of at most `most` bytes. Only when much is asked for is it worth a
// look at how much there is.
template <class Read, class BytesThere>
Result<std::string> read_with(const std::string& path, std::size_t most, Read read,
                              BytesThere bytes_there) {
  if (most == 0) return refused("read", path, EINVAL, "no bytes were asked for");
  if (most > kPiece) most = std::min({most, std::max(bytes_there(), kPiece), kMostAtOnce});
  long count = 0;
  std::string data;
  data.resize_and_overwrite(most, [&](char* into, std::size_t size) {
    count = read(std::span<char>(into, size));
    return static_cast<std::size_t>(std::max(count, 0L));
  });
  if (count < 0) return failed("read", path, static_cast<int>(-count));
  if (data.size() < most / 2) data.shrink_to_fit();
  return data;
}

// Calls write(span, done) until all is written.
template <class Write>
Result<void> write_with(const std::string& path, const std::string& data, Write write) {
  std::size_t done = 0;
  while (done < data.size()) {
    const long count = write(std::span<const char>(data).subspan(done), done);
    if (count < 0) return failed("write", path, static_cast<int>(-count), done);
    done += static_cast<std::size_t>(count);
  }
  return {};
}

}  // namespace

struct File::Handle {
  Shared file;
  std::uint64_t number = 0;  // of an isolated actor's; else 0
};

// Those that isolated actors have open. They are closed when such a one traps, and its File, which
// would have done that, is gone. Numbers never come again.
class File::Owned {
 public:
  static Owned& process() { return machine::process_wide<Owned>(); }

  [[nodiscard]] static core::Belonging belonging(std::uint64_t number) noexcept {
    static constexpr core::Belonging::Ops kOps = {
        [](const core::Belonging& each) noexcept { return !process().has(each.what[0]); },
        [](const core::Belonging& each) noexcept { process().close(each.what[0]); }};
    return {&kOps, {number, 0, 0}};
  }

  void add(std::unique_ptr<Handle>& handle) {
    const sync::Guard guard(lock_);
    handle->number = ++last_;
    Handle* const its = handle.get();
    all_.emplace(its->number, std::move(handle));
  }
  [[nodiscard]] bool has(std::uint64_t number) const noexcept {
    const sync::Guard guard(lock_);
    return all_.contains(number);
  }
  void close(std::uint64_t number) noexcept {
    decltype(all_)::node_type gone;  // closed outside the lock
    const sync::Guard guard(lock_);
    gone = all_.extract(number);
  }

 private:
  template <class T>
  friend T& machine::process_wide();
  explicit Owned(const Owned* /*parents*/) {}

  mutable sync::Mutex lock_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Handle>> all_;
  std::uint64_t last_ = 0;
};

File::~File() {
  if (handle_ == nullptr) return;
  if (handle_->number == 0) {
    delete handle_;
  } else {
    Owned::process().close(handle_->number);
  }
}

Result<File> File::open(std::string path, Open how, unsigned permissions) {
  if (path.find('\0') != path.npos) {
    return refused("open", path.substr(0, path.find('\0')), EINVAL, "the path holds a zero byte");
  }
  if (path.empty()) return refused("open", "a file", ENOENT, "its path is empty");
  File opened(make(std::move(path)));
  const Shared& file = opened.handle_->file;
  const int fd = work_on(file, [how, permissions](Descriptor& it) {
    it.fd = file::open(it.path.c_str(), flags_of(how), permissions);
    return it.fd;
  });
  if (fd < 0) return failed("open", file->path, -fd);
  return opened;
}

// In the process's memory, since others work on it.
File::Handle* File::make(std::string path) {
  const core::BrieflyInside inside;
  auto made = std::make_unique<Handle>();
  made->file = std::make_shared<Descriptor>();
  // Of an isolated actor's path a copy.
  made->file->path = core::owner() == nullptr ? std::move(path) : std::string(path.c_str());
  return owned_by_caller(std::move(made));
}

File::Handle* File::owned_by_caller(std::unique_ptr<Handle> handle) {
  if (core::owner() == nullptr) return handle.release();
  core::expect_belonging();
  Handle* const its = handle.get();
  Owned::process().add(handle);
  core::belongs_to_caller(Owned::belonging(its->number));
  return its;
}

// One that is the same, until one of both has gone: whoever is to be handed it may fail to get it.
File File::another() const {
  if (!is_open()) return File();
  const core::BrieflyInside inside;
  auto made = std::make_unique<Handle>();
  made->file = handle_->file;
  return File(owned_by_caller(std::move(made)));
}

Result<std::string> File::read(std::size_t most) {
  if (!is_open()) return not_open("read");
  return work_on(handle_->file, [most](Descriptor& it) {
    return read_with(
        it.path, most, [&](std::span<char> into) { return file::read(it.fd, into); },
        [&] { return file::bytes_after_position(it.fd); });
  });
}

Result<std::string> File::read_at(std::uint64_t offset, std::size_t most) const {
  if (!is_open()) return not_open("read");
  if (offset > kMostOffset) {
    return refused("read", handle_->file->path, EINVAL, "no file is that long");
  }
  const auto place = static_cast<std::int64_t>(offset);
  return work_on(handle_->file, [most, place](Descriptor& it) {
    return read_with(
        it.path, most, [&](std::span<char> into) { return file::read_at(it.fd, into, place); },
        [&] { return file::bytes_after(it.fd, place); });
  });
}

Result<void> File::write(std::string data) {
  if (!is_open()) return not_open("write");
  return work_on(handle_->file, std::move(data), [](Descriptor& it, const std::string& from) {
    return write_with(it.path, from, [&](std::span<const char> part, std::size_t /*done*/) {
      return file::write(it.fd, part);
    });
  });
}

Result<void> File::write_at(std::uint64_t offset, std::string data) const {
  if (!is_open()) return not_open("write");
  if (offset > kMostOffset - data.size()) {
    return refused("write", handle_->file->path, EFBIG, "no file is that long");
  }
  const auto write = [offset](Descriptor& it, const std::string& from) {
    return write_with(it.path, from, [&](std::span<const char> part, std::size_t done) {
      return file::write_at(it.fd, part, static_cast<std::int64_t>(offset + done));
    });
  };
  return work_on(handle_->file, std::move(data), write);
}

Result<std::uint64_t> File::size() const {
  if (!is_open()) return not_open("size of");
  const std::int64_t size =
      work_on(handle_->file, [](Descriptor& it) { return file::size(it.fd); });
  if (size < 0) return failed("size of", handle_->file->path, static_cast<int>(-size));
  return static_cast<std::uint64_t>(size);
}

Result<void> File::sync() const {
  if (!is_open()) return not_open("sync");
  const int result = work_on(handle_->file, [](Descriptor& it) { return file::sync(it.fd); });
  if (result < 0) return failed("sync", handle_->file->path, -result);
  return {};
}

Result<void> File::close() {
  if (!is_open()) return not_open("close");
  const File closing(std::move(*this));
  const Shared& file = closing.handle_->file;
  // Nobody else works on it: who did was waited for by its one user.
  const int result =
      work_on(file, [](Descriptor& it) { return file::close(std::exchange(it.fd, -1)); });
  if (result < 0) return failed("close", file->path, -result);
  return {};
}

std::string File::path() const { return is_open() ? handle_->file->path : std::string(); }

}  // namespace bulkhead::io
