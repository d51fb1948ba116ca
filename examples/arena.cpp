// Memory that is freed all at once: a handler that builds much and keeps nothing can take it from
// an arena: here the standard library's monotonic resource, its first bytes in the actor itself.
#include <bulkhead/bulkhead.hpp>

#include <array>
#include <cstddef>
#include <cstdio>
#include <memory_resource>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

class WordCounter {
 public:
  struct Text {
    std::string text;
  };

  // How many different words the text has.
  std::size_t receive(const Text& message) {
    std::pmr::monotonic_buffer_resource arena(first_bytes_.data(), first_bytes_.size());
    std::pmr::unordered_map<std::string_view, int> words(&arena);
    std::string_view rest = message.text;
    while (!rest.empty()) {
      const auto end = rest.find(' ');
      ++words[rest.substr(0, end)];
      rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    }
    return words.size();
  }  // the arena goes, and all that was in it, without a visit to each part

 private:
  std::array<std::byte, 4096> first_bytes_;
};

int main() {
  bulkhead::Runtime runtime;
  runtime.start();
  const auto counter = runtime.spawn<WordCounter>();
  for (const char* text : {"the cat and the dog", "a rose is a rose is a rose", "one"}) {
    std::printf("%zu\n", counter.ask(WordCounter::Text{text}).value_or(0));
  }
}
