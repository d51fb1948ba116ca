/// io::File: files, read and written where it holds no core up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <utility>

namespace bulkhead {

template <class T>
struct Crossing;

}  // namespace bulkhead

namespace bulkhead::io {

/// Why an operation on a file failed. Print `text`; decide by `code`.
struct Error {
  int code = 0;          ///< errno's
  std::size_t done = 0;  ///< bytes that had been written before
  std::string text;      ///< such as "open /etc/shadow: Permission denied (EACCES)"
};

template <class T>
using Result = std::expected<T, Error>;

enum class Open : std::uint8_t {
  kRead,       ///< an existing file, to read
  kReadWrite,  ///< an existing file
  kCreate,     ///< made if it is missing, emptied if not; to read and write
  kCreateNew,  ///< must not exist
  kAppend,     ///< made if it is missing; each write goes to its end
};

/// An open file, owned: move-only, closed when it is destroyed. All that waits for the disk runs by
/// blocking() (blocking.hpp): the actor waits, and its core runs others; a thread outside just does
/// it. One actor at a time uses a file. It can be sent in a message; one that an isolated actor has
/// open is closed when that fails.
///
/// An actor that is stopped meanwhile leaves at once. What it was about to write may still be
/// written; the descriptor is closed after that. Errors are values, but for what blocking() throws:
/// std::logic_error inside NoPreempt, std::bad_alloc, std::runtime_error when there is no thread.
class File {
 public:
  File() = default;
  File(File&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  File& operator=(File&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~File();

  /// `permissions` are those of a new file, less the process's mask.
  [[nodiscard]] static Result<File> open(std::string path, Open how = Open::kRead,
                                         unsigned permissions = 0666);

  /// The next bytes, at least one, at most `most`; 0 is an error. Empty: the end of the file. Takes
  /// memory for what is there, so any number will do; of what has no size, such as a pipe, it takes
  /// 1 MiB at most, and of anything 2 GiB at once: call it again for the rest.
  [[nodiscard]] Result<std::string> read(std::size_t most);
  /// The same from a place, in bytes from the beginning.
  [[nodiscard]] Result<std::string> read_at(std::uint64_t offset, std::size_t most) const;
  /// Writes all of it.
  Result<void> write(std::string data);
  Result<void> write_at(std::uint64_t offset, std::string data) const;
  /// In bytes.
  [[nodiscard]] Result<std::uint64_t> size() const;
  /// Returns when what was written is on the disk.
  Result<void> sync() const;
  /// Closes it, and tells what the destructor cannot: whether the system has anything to say.
  Result<void> close();

  [[nodiscard]] bool is_open() const noexcept { return handle_ != nullptr; }
  explicit operator bool() const noexcept { return is_open(); }
  /// As it was opened; empty when it is not open.
  [[nodiscard]] std::string path() const;

 private:
  friend struct Crossing<File>;
  struct Handle;
  class Owned;

  [[nodiscard]] static Handle* make(std::string path);
  [[nodiscard]] static Handle* owned_by_caller(std::unique_ptr<Handle> handle);
  [[nodiscard]] File another() const;
  explicit File(Handle* handle) noexcept : handle_(handle) {}

  Handle* handle_ = nullptr;
};

}  // namespace bulkhead::io

/// A file is handed over: it belongs to whoever the message is for.
template <>
struct bulkhead::Crossing<bulkhead::io::File> {
  static io::File cross(const io::File& from) { return from.another(); }
  static void let_go(io::File& from) noexcept { const io::File gone(std::move(from)); }
};
