#include "machine/file.hpp"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "machine/system_call.hpp"

namespace bulkhead::machine::file {

int open(const char* path, Flags flags, unsigned permissions) noexcept {
  int bits = O_CLOEXEC | (flags.write ? O_RDWR : O_RDONLY);
  if (flags.create) bits |= O_CREAT;
  if (flags.exclusive) bits |= O_EXCL;
  if (flags.truncate) bits |= O_TRUNC;
  if (flags.append) bits |= O_APPEND;
  return again_when_interrupted([&] { return ::open(path, bits, permissions); });
}

long read(int fd, std::span<char> into) noexcept {
  return again_when_interrupted([&] { return ::read(fd, into.data(), into.size()); });
}

long read_at(int fd, std::span<char> into, std::int64_t offset) noexcept {
  return again_when_interrupted([&] { return ::pread(fd, into.data(), into.size(), offset); });
}

long write(int fd, std::span<const char> from) noexcept {
  return again_when_interrupted([&] { return ::write(fd, from.data(), from.size()); });
}

long write_at(int fd, std::span<const char> from, std::int64_t offset) noexcept {
  return again_when_interrupted([&] { return ::pwrite(fd, from.data(), from.size(), offset); });
}

std::int64_t size(int fd) noexcept {
  struct stat status {};
  const int result = again_when_interrupted([&] { return ::fstat(fd, &status); });
  return result < 0 ? result : status.st_size;
}

std::size_t bytes_after(int fd, std::int64_t offset) noexcept {
  struct stat status {};
  const int result = again_when_interrupted([&] { return ::fstat(fd, &status); });
  if (result < 0 || offset < 0 || !S_ISREG(status.st_mode) || status.st_size < offset) return 0;
  return static_cast<std::size_t>(status.st_size - offset);
}

std::size_t bytes_after_position(int fd) noexcept {
  return bytes_after(fd, ::lseek(fd, 0, SEEK_CUR));
}

int sync(int fd) noexcept {
  return again_when_interrupted([&] { return ::fsync(fd); });
}

// Once, also when interrupted: the number is free then all the same.
int close(int fd) noexcept {
  if (::close(fd) == 0 || errno == EINTR) return 0;
  return -errno;
}

std::string describe(int code) {
  const char* words = strerrordesc_np(code);
  const char* name = strerrorname_np(code);
  std::string text = words != nullptr ? words : "unknown error " + std::to_string(code);
  if (name != nullptr) text += " (" + std::string(name) + ")";
  return text;
}

}  // namespace bulkhead::machine::file
