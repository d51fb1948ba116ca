#include "trace.hpp"

#include <algorithm>
#include <charconv>

#include "model_sync.hpp"

namespace bulkhead::model {

namespace {

constexpr std::uint64_t kSmall = 1 << 16;  // no address is as low as this

std::string padded(std::string_view text, std::size_t width) {
  std::string result(text);
  if (result.size() < width) result.resize(width, ' ');
  return result;
}

}  // namespace

std::string_view order_text(std::memory_order order) {
  switch (order) {
    case std::memory_order_relaxed:
      return "relaxed";
    case std::memory_order_consume:
      return "consume";
    case std::memory_order_acquire:
      return "acquire";
    case std::memory_order_release:
      return "release";
    case std::memory_order_acq_rel:
      return "acq_rel";
    case std::memory_order_seq_cst:
      return "seq_cst";
  }
  return "?";
}

std::string hex_text(std::uint64_t bits) {
  char digits[16];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, bits, 16);
  return "0x" + std::string(digits, end);
}

void Trace::reset(Recording recording) {
  recording_ = recording;
  regions_.clear();
  strangers_.clear();
  lines_.clear();
}

void Trace::name(std::string_view text, const void* begin, std::size_t bytes) {
  if (on()) regions_.push_back({std::string(text), to_bits(begin), bytes});
}

const Trace::Region* Trace::region_of(std::uint64_t address) const {
  const Region* best = nullptr;
  for (const Region& region : regions_) {
    const bool inside = address >= region.begin && address - region.begin < region.bytes;
    if (inside && (best == nullptr || region.bytes <= best->bytes)) best = &region;
  }
  return best;
}

std::string Trace::address(std::uint64_t address) {
  if (address == 0) return "null";
  if (address < kSmall) return std::to_string(address);
  if (const Region* region = region_of(address)) {
    const std::uint64_t offset = address - region->begin;
    return '&' + region->name + (offset == 0 ? "" : '+' + std::to_string(offset));
  }
  auto known = std::find(strangers_.begin(), strangers_.end(), address);
  if (known == strangers_.end()) known = strangers_.insert(known, address);
  return 'p' + std::to_string(known - strangers_.begin() + 1);
}

std::string Trace::location(const Location& at) {
  const std::uint64_t address = to_bits(at.owner);
  const Region* region = region_of(address);
  if (region == nullptr) return "atomic" + std::to_string(at.number + 1);
  const std::uint64_t offset = address - region->begin;
  return region->name + (offset == 0 ? "" : '+' + std::to_string(offset));
}

std::string Trace::value(const Location& at, std::uint64_t bits) { return at.type->text(bits); }

std::string Trace::staleness(const Location& at, std::size_t message) {
  const std::size_t newer = at.history.size() - 1 - message;
  return newer == 0 ? "" : "  (stale: " + std::to_string(newer) + " newer)";
}

std::string Trace::operation(const Op& op, std::string_view result) {
  std::string text = padded(op.name, 10) + ' ';
  if (op.at != nullptr) text += padded(location(*op.at), 12) + ' ';
  if (!result.empty()) text += padded(result, 24) + ' ';
  if (op.kind <= OpKind::kFence) text += order_text(op.order);
  return text;
}

void Trace::add(std::string_view thread, bool preempts, std::string_view what) {
  if (!on()) return;
  lines_.push_back({std::string(thread), std::string(what), preempts});
  if (what == kSpins) fold_turns();
}

void Trace::fold_turns() {
  constexpr std::size_t kLongestTurn = 6;
  for (std::size_t turn = 2; turn <= kLongestTurn && 2 * turn <= lines_.size(); ++turn) {
    const auto last = lines_.end() - static_cast<std::ptrdiff_t>(turn);
    const auto before = last - static_cast<std::ptrdiff_t>(turn);
    const auto same = [](const Line& a, const Line& b) { return a.same(b); };
    if (!std::equal(last, lines_.end(), before, same)) continue;
    ++(last - 1)->again;
    lines_.erase(last, lines_.end());
    return;
  }
}

std::string Trace::text() const {
  std::size_t width = 0;
  for (const Line& line : lines_) width = std::max(width, line.thread.size());
  std::string text;
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    const Line& line = lines_[i];
    std::string row = padded(std::to_string(i + 1), 4) + (line.preempts ? "* " : "  ") +
                      padded(line.thread, width) + "  " + line.what;
    row.erase(row.find_last_not_of(' ') + 1);
    if (line.again > 0) row += ", and " + std::to_string(line.again) + " turns more";
    text += "    " + row + '\n';
  }
  return text;
}

}  // namespace bulkhead::model
