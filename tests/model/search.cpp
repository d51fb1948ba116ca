#include "search.hpp"

#include <charconv>

namespace bulkhead::model {

namespace {

constexpr std::string_view kDigits = "0123456789abcdefghijklmnopqrstuvwxyz";

}  // namespace

unsigned Search::choose(unsigned alternatives) {
  if (depth_ == choices_.size()) choices_.push_back({0, alternatives});
  Choice& choice = choices_[depth_++];
  if (choice.alternatives == 0) choice.alternatives = alternatives;
  if (choice.alternatives != alternatives || choice.taken >= alternatives) {
    fits_ = false;
    return 0;
  }
  return choice.taken;
}

bool Search::next() {
  if (depth_ != choices_.size()) fits_ = false;  // it ended before all choices were used
  choices_.resize(depth_);
  while (!choices_.empty()) {
    Choice& last = choices_.back();
    if (++last.taken < last.alternatives) return true;
    choices_.pop_back();
  }
  return false;
}

std::string Search::text() const {
  std::size_t length = choices_.size();
  while (length > 0 && choices_[length - 1].taken == 0) --length;  // 0 is what is chosen anyway
  std::string text;
  for (std::size_t i = 0; i < length; ++i) {
    const std::uint32_t taken = choices_[i].taken;
    if (taken < kDigits.size()) {
      text += kDigits[taken];
    } else {
      text += '(' + std::to_string(taken) + ')';
    }
  }
  return text;
}

bool Search::load(std::string_view text) {
  choices_.clear();
  while (!text.empty()) {
    std::uint32_t taken = 0;
    if (text.front() == '(') {
      const char* end = text.data() + text.size();
      auto [stop, error] = std::from_chars(text.data() + 1, end, taken);
      if (error != std::errc() || stop == end || *stop != ')') return false;
      text.remove_prefix(static_cast<std::size_t>(stop - text.data()) + 1);
    } else {
      const std::size_t digit = kDigits.find(text.front());
      if (digit == std::string_view::npos) return false;
      taken = static_cast<std::uint32_t>(digit);
      text.remove_prefix(1);
    }
    choices_.push_back({taken, 0});
  }
  return true;
}

}  // namespace bulkhead::model
