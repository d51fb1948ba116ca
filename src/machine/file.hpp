// Files: system calls that return a result, or a negated errno.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace bulkhead::machine::file {

struct Flags {
  bool write = false;
  bool create = false;
  bool exclusive = false;
  bool truncate = false;
  bool append = false;
};

[[nodiscard]] int open(const char* path, Flags flags, unsigned permissions) noexcept;
[[nodiscard]] long read(int fd, std::span<char> into) noexcept;
[[nodiscard]] long read_at(int fd, std::span<char> into, std::int64_t offset) noexcept;
[[nodiscard]] long write(int fd, std::span<const char> from) noexcept;
[[nodiscard]] long write_at(int fd, std::span<const char> from, std::int64_t offset) noexcept;
[[nodiscard]] std::int64_t size(int fd) noexcept;
/// How much of a regular file comes after a place, or after the position that read goes on from; 0
/// when that is not known.
[[nodiscard]] std::size_t bytes_after(int fd, std::int64_t offset) noexcept;
[[nodiscard]] std::size_t bytes_after_position(int fd) noexcept;
[[nodiscard]] int sync(int fd) noexcept;
int close(int fd) noexcept;

/// "No such file or directory (ENOENT)".
[[nodiscard]] std::string describe(int code);

}  // namespace bulkhead::machine::file
