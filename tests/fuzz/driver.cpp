// Runs a fuzz target without libFuzzer: first on every file of a corpus, then on inputs made from
// a seed. It takes the same options as libFuzzer does, as far as the tests use them:
//
//     fuzz_parser -seed=1 -runs=5000 [-max_len=4096] [corpus file or folder]...
//
// An input that ends the process is found again by the seed and the run that were printed last.

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size);

namespace {

using Input = std::vector<std::uint8_t>;

struct Options {
  std::uint64_t seed = 1;
  std::uint64_t runs = 5000;
  std::uint64_t max_len = 4096;
  std::vector<std::filesystem::path> corpus;
};

[[noreturn]] void fail(std::string_view what, std::string_view subject) {
  std::fprintf(stderr, "%.*s: %.*s\n", static_cast<int>(what.size()), what.data(),
               static_cast<int>(subject.size()), subject.data());
  std::exit(2);
}

bool take_number(std::string_view argument, std::string_view name, std::uint64_t& value) {
  if (!argument.starts_with(name)) return false;
  const std::string_view digits = argument.substr(name.size());
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value);
  if (error != std::errc{} || stop != end) fail("not a number", argument);
  return true;
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (take_number(argument, "-seed=", options.seed)) continue;
    if (take_number(argument, "-runs=", options.runs)) continue;
    if (take_number(argument, "-max_len=", options.max_len)) continue;
    if (argument.starts_with('-')) fail("unknown option", argument);
    options.corpus.emplace_back(argument);
  }
  return options;
}

Input read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) fail("cannot read", path.string());
  return Input(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

std::vector<Input> read_corpus(const std::vector<std::filesystem::path>& paths) {
  std::vector<std::filesystem::path> files;
  for (const auto& path : paths) {
    if (!std::filesystem::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
  }
  std::ranges::sort(files);
  std::vector<Input> inputs;
  inputs.reserve(files.size());
  for (const auto& file : files) inputs.push_back(read_file(file));
  return inputs;
}

// Random bytes, or, half of the time, an input of the corpus with some of its bytes changed.
Input make_input(const std::vector<Input>& corpus, std::uint64_t max_len, std::mt19937_64& random) {
  Input input;
  if (!corpus.empty() && random() % 2 == 0) {
    input = corpus[random() % corpus.size()];
    if (random() % 4 == 0) input.resize(random() % (input.size() + 1));
    for (std::uint64_t n = random() % 8; n > 0 && !input.empty(); --n) {
      input[random() % input.size()] = static_cast<std::uint8_t>(random());
    }
  } else {
    // Short inputs are tried more often than long ones.
    const std::uint64_t limit = random() % 2 == 0 ? std::min<std::uint64_t>(max_len, 64) : max_len;
    input.resize(random() % (limit + 1));
    std::ranges::generate(input, [&random] { return static_cast<std::uint8_t>(random()); });
  }
  return input;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  const std::vector<Input> corpus = read_corpus(options.corpus);
  for (const Input& input : corpus) LLVMFuzzerTestOneInput(input.data(), input.size());
  std::printf("%zu inputs of the corpus\n", corpus.size());

  std::mt19937_64 random(options.seed);
  for (std::uint64_t run = 0; run < options.runs; ++run) {
    if (run % 1000 == 0) {
      std::printf("-seed=%ju, run %ju\n", static_cast<std::uintmax_t>(options.seed),
                  static_cast<std::uintmax_t>(run));
      std::fflush(stdout);
    }
    const Input input = make_input(corpus, options.max_len, random);
    LLVMFuzzerTestOneInput(input.data(), input.size());
  }
  return 0;
}
