#include "bulkhead/file.hpp"

#include <algorithm>
#include <cerrno>
#include <limits>
#include <memory>
#include <span>
#include <utility>

#include "bulkhead/blocking.hpp"
#include "machine/file.hpp"

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
};

File::~File() { delete handle_; }

Result<File> File::open(std::string path, Open how, unsigned permissions) {
  if (path.find('\0') != path.npos) {
    return refused("open", path.substr(0, path.find('\0')), EINVAL, "the path holds a zero byte");
  }
  if (path.empty()) return refused("open", "a file", ENOENT, "its path is empty");
  const auto made = std::make_shared<Descriptor>();
  made->path = std::move(path);
  const int fd = blocking([made, how, permissions] {
    made->fd = file::open(made->path.c_str(), flags_of(how), permissions);
    return made->fd;
  });
  if (fd < 0) return failed("open", made->path, -fd);
  return File(new Handle{made});
}

Result<std::string> File::read(std::size_t most) {
  if (!is_open()) return not_open("read");
  return blocking([shared = handle_->file, most] {
    return read_with(
        shared->path, most, [&](std::span<char> into) { return file::read(shared->fd, into); },
        [&] { return file::bytes_after_position(shared->fd); });
  });
}

Result<std::string> File::read_at(std::uint64_t offset, std::size_t most) const {
  if (!is_open()) return not_open("read");
  if (offset > kMostOffset) {
    return refused("read", handle_->file->path, EINVAL, "no file is that long");
  }
  const auto place = static_cast<std::int64_t>(offset);
  return blocking([shared = handle_->file, most, place] {
    return read_with(
        shared->path, most,
        [&](std::span<char> into) { return file::read_at(shared->fd, into, place); },
        [&] { return file::bytes_after(shared->fd, place); });
  });
}

Result<void> File::write(std::string data) {
  if (!is_open()) return not_open("write");
  return blocking([shared = handle_->file, data = std::move(data)] {
    return write_with(shared->path, data, [&](std::span<const char> from, std::size_t /*done*/) {
      return file::write(shared->fd, from);
    });
  });
}

Result<void> File::write_at(std::uint64_t offset, std::string data) const {
  if (!is_open()) return not_open("write");
  if (offset > kMostOffset - data.size()) {
    return refused("write", handle_->file->path, EFBIG, "no file is that long");
  }
  return blocking([shared = handle_->file, data = std::move(data), offset] {
    return write_with(shared->path, data, [&](std::span<const char> from, std::size_t done) {
      return file::write_at(shared->fd, from, static_cast<std::int64_t>(offset + done));
    });
  });
}

Result<std::uint64_t> File::size() const {
  if (!is_open()) return not_open("size of");
  const std::int64_t size = blocking([shared = handle_->file] { return file::size(shared->fd); });
  if (size < 0) return failed("size of", handle_->file->path, static_cast<int>(-size));
  return static_cast<std::uint64_t>(size);
}

Result<void> File::sync() const {
  if (!is_open()) return not_open("sync");
  const int result = blocking([shared = handle_->file] { return file::sync(shared->fd); });
  if (result < 0) return failed("sync", handle_->file->path, -result);
  return {};
}

Result<void> File::close() {
  if (!is_open()) return not_open("close");
  const Shared shared = handle_->file;
  delete std::exchange(handle_, nullptr);
  // Nobody else works on it: who did was waited for by its one user.
  const int result = blocking([shared] { return file::close(std::exchange(shared->fd, -1)); });
  if (result < 0) return failed("close", shared->path, -result);
  return {};
}

std::string File::path() const { return is_open() ? handle_->file->path : std::string(); }

}  // namespace bulkhead::io
