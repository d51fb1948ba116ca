#include "snapshot.hpp"

#include <bulkhead/bulkhead.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

namespace io = bulkhead::io;

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(at));
    if (!part.empty()) parts.push_back(part);
    text.remove_prefix(std::min(part.size() + 1, text.size()));
  }
  return parts;
}

namespace {

// --- its text: a heading; a line for each key, of its value, and when it expires; a checksum ---

constexpr std::string_view kHeading = "store, version 1\n";

std::string checksum(std::string_view text) {
  std::uint64_t sum = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : text) sum = (sum ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  std::array<char, 32> line{};
  std::snprintf(line.data(), line.size(), "sum %016llx\n", static_cast<unsigned long long>(sum));
  return line.data();
}

std::string encode(const Items& items) {
  std::string text(kHeading);
  for (const Item& item : items) {
    text += item.key + ' ' + item.value + ' ';
    text += item.until ? std::to_string(item.until->time_since_epoch().count()) : "-";
    text += '\n';
  }
  return text + checksum(text);
}

std::optional<Item> decode_line(std::string_view line) {
  const auto words = split(line, ' ');
  if (words.size() != 3) return std::nullopt;
  Item item{std::string(words[0]), std::string(words[1]), {}};
  if (words[2] == "-") return item;
  std::int64_t milliseconds = 0;
  const char* const end = words[2].data() + words[2].size();
  const auto [stop, fault] = std::from_chars(words[2].data(), end, milliseconds);
  if (fault != std::errc() || stop != end) return std::nullopt;
  item.until = Instant(std::chrono::milliseconds(milliseconds));
  return item;
}

std::expected<Items, std::string> decode(std::string_view text) {
  const std::size_t end = text.size() - std::min(text.size(), checksum("").size());
  if (text.substr(end) != checksum(text.substr(0, end))) {
    return std::unexpected("its end is missing, or its checksum is wrong");
  }
  if (!text.starts_with(kHeading)) return std::unexpected("it is of another version");
  Items items;
  for (const std::string_view line : split(text.substr(0, end).substr(kHeading.size()), '\n')) {
    auto item = decode_line(line);
    if (!item) return std::unexpected("a line makes no sense: " + std::string(line));
    items.push_back(*std::move(item));
  }
  return items;
}

// --- its file ---

// What blocks runs in another thread, which gets its own copies of the names.
std::expected<void, std::string> rename(const std::string& from, const std::string& to) {
  const std::error_code fault = bulkhead::blocking([from, to] {
    std::error_code why;
    std::filesystem::rename(from, to, why);
    return why;
  });
  if (!fault) return {};
  return std::unexpected("rename " + from + " to " + to + ": " + fault.message());
}

io::Result<std::string> read_all(io::File file) {
  constexpr std::size_t kAtOnce = std::size_t{1} << 30;
  std::string text;
  for (;;) {
    auto more = file.read(kAtOnce);
    if (!more) return more;
    if (more->empty()) return text;
    text += *more;
  }
}

io::Result<void> write_new(const std::string& path, std::string text) {
  auto file = io::File::open(path, io::Open::kCreate, 0600);
  if (!file) return std::unexpected(std::move(file.error()));
  auto done = file->write(std::move(text));
  if (done) done = file->sync();
  if (done) done = file->close();
  return done;
}

// A name in a folder is on the disk when the folder is.
io::Result<void> sync_folder_of(const std::string& path) {
  const auto folder = std::filesystem::path(path).parent_path();
  const auto file = io::File::open(folder.empty() ? "." : folder.string());
  if (!file) return std::unexpected(file.error());
  return file->sync();
}

// Returns its new name.
std::expected<std::string, std::string> put_aside(const std::string& path) {
  for (int i = 1;; ++i) {
    const std::string aside = path + ".damaged." + std::to_string(i);
    const bool taken = bulkhead::blocking([aside] {
      std::error_code ignored;
      return std::filesystem::exists(aside, ignored);
    });
    if (taken) continue;
    if (auto renamed = rename(path, aside); !renamed) {
      return std::unexpected(std::move(renamed.error()));
    }
    return aside;
  }
}

}  // namespace

std::expected<void, std::string> save_snapshot(const std::string& path, const Items& items) {
  const std::string fresh = path + ".new";
  if (auto written = write_new(fresh, encode(items)); !written) {
    return std::unexpected(std::move(written.error().text));
  }
  if (auto renamed = rename(fresh, path); !renamed) return renamed;
  if (auto synced = sync_folder_of(path); !synced) {
    return std::unexpected(std::move(synced.error().text));
  }
  return {};
}

std::expected<Items, std::string> load_snapshot(const std::string& path) {
  auto file = io::File::open(path);
  if (!file && file.error().code == ENOENT) return Items();
  if (!file) return std::unexpected(std::move(file.error().text));
  auto text = read_all(*std::move(file));
  if (!text) return std::unexpected(std::move(text.error().text));
  auto items = decode(*text);
  if (items) return items;
  const auto aside = put_aside(path);
  if (!aside) {
    return std::unexpected(path + " is damaged (" + items.error() +
                           "), and cannot be put aside: " + aside.error());
  }
  std::fprintf(stderr, "store: %s is damaged: %s. It is kept as %s, and there are no keys now.\n",
               path.c_str(), items.error().c_str(), aside->c_str());
  return Items();
}
