/// A strict reader of JSON, for tests of what the library writes.
#pragma once

#include <cctype>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace support {

struct Json {
  enum class Kind : unsigned char { kNull, kBool, kNumber, kText, kList, kObject };
  Kind kind = Kind::kNull;
  double number = 0;
  std::string text;
  std::vector<Json> list;
  std::map<std::string, Json> members;

  [[nodiscard]] bool has(const std::string& name) const { return members.contains(name); }
  /// Throws std::out_of_range when there is none.
  [[nodiscard]] const Json& at(const std::string& name) const { return members.at(name); }
  /// Of a member; empty when there is none.
  [[nodiscard]] std::string text_at(const std::string& name) const {
    const auto found = members.find(name);
    return found != members.end() ? found->second.text : std::string();
  }
};

class JsonReader {
 public:
  /// Throws std::runtime_error for what is no JSON text.
  [[nodiscard]] static Json read(std::string_view text) {
    JsonReader reader(text);
    Json value = reader.value();
    reader.skip();
    if (reader.at_ != text.size()) reader.fail("there is more behind the value");
    return value;
  }

 private:
  explicit JsonReader(std::string_view text) : text_(text) {}

  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error("at " + std::to_string(at_) + ": " + what + ": " +
                             std::string(text_.substr(at_, 80)));
  }
  void skip() {
    while (at_ < text_.size() && std::string_view(" \n\r\t").find(text_[at_]) != text_.npos) ++at_;
  }
  [[nodiscard]] char peek() {
    skip();
    if (at_ == text_.size()) fail("the text ends early");
    return text_[at_];
  }
  void expect(char c) {
    if (peek() != c) fail(std::string("no ") + c);
    ++at_;
  }
  [[nodiscard]] bool comes(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }

  Json value() {
    Json json;
    switch (peek()) {
      case '{':
        json.kind = Json::Kind::kObject;
        read_object(json);
        return json;
      case '[':
        json.kind = Json::Kind::kList;
        read_list(json);
        return json;
      case '"':
        json.kind = Json::Kind::kText;
        json.text = string();
        return json;
      default:
        read_scalar(json);
        return json;
    }
  }

  void read_object(Json& json) {
    expect('{');
    if (comes('}')) return;
    do {
      if (peek() != '"') fail("no name");
      std::string name = string();
      expect(':');
      if (!json.members.emplace(std::move(name), value()).second) fail("a name comes twice");
    } while (comes(','));
    expect('}');
  }

  void read_list(Json& json) {
    expect('[');
    if (comes(']')) return;
    do json.list.push_back(value());
    while (comes(','));
    expect(']');
  }

  std::string string() {
    expect('"');
    std::string result;
    for (;; ++at_) {
      if (at_ == text_.size()) fail("a string does not end");
      char c = text_[at_];
      if (static_cast<unsigned char>(c) < 0x20) fail("a control character in a string");
      if (c == '"') break;
      if (c == '\\') {
        if (++at_ == text_.size()) fail("a string does not end");
        c = text_[at_];
        if (c == 'u') {
          c = static_cast<char>(std::stoi(std::string(text_.substr(at_ + 1, 4)), nullptr, 16));
          at_ += 4;
        } else if (c != '"' && c != '\\' && c != '/') {
          fail("an escape that nobody needs");
        }
      }
      result.push_back(c);
    }
    ++at_;
    return result;
  }

  void read_scalar(Json& json) {
    for (const std::string_view word : {"true", "false", "null"}) {
      if (text_.substr(at_, word.size()) != word) continue;
      json.kind = word == "null" ? Json::Kind::kNull : Json::Kind::kBool;
      json.text = word;
      at_ += word.size();
      return;
    }
    const std::size_t begin = at_;
    while (at_ < text_.size() && std::string_view("+-.0123456789eE").find(text_[at_]) != text_.npos)
      ++at_;
    if (begin == at_) fail("no value");
    const std::string digits(text_.substr(begin, at_ - begin));
    char* end = nullptr;
    json.kind = Json::Kind::kNumber;
    json.text = digits;
    json.number = std::strtod(digits.c_str(), &end);
    if (*end != '\0') fail("no number");
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace support
