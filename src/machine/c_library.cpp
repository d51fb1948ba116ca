#include "machine/c_library.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/auxv.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>

namespace bulkhead::machine {

namespace {

struct Range {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;

  [[nodiscard]] bool holds(std::uintptr_t address) const noexcept {
    return address >= begin && address < end;
  }
};

// Their machine code lies in one piece each.
Range library;
Range loader;

// They take no lock; some of them call others of the library, which do not either.
constexpr const char* kWithoutLocks[] = {
    "snprintf",
    "vsnprintf",
    "sprintf",
    "vsprintf",
    "__snprintf_chk",
    "__vsnprintf_chk",
    "__sprintf_chk",
    "__vsprintf_chk",
    "sscanf",
    "vsscanf",
    "__isoc99_sscanf",
    "__isoc99_vsscanf",
    "strtol",
    "strtoul",
    "strtoll",
    "strtoull",
    "strtod",
    "strtof",
    "strtold",
    "atoi",
    "atol",
    "atoll",
    "atof",
    "strdup",
    "strndup",
    "strtok",
    "strtok_r",
    "getenv",
    "qsort",
    "qsort_r",
    "bsearch",
};
std::array<Range, std::size(kWithoutLocks)> without_locks;

Range range_of(const char* function) noexcept {
  void* address = dlsym(RTLD_DEFAULT, function);
  if (address == nullptr) return {};
  Dl_info where;
  void* found = nullptr;
  if (dladdr1(address, &where, &found, RTLD_DL_SYMENT) == 0 || found == nullptr) return {};
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  return {begin, begin + static_cast<const ElfW(Sym)*>(found)->st_size};
}

// The executable part of the object in which that address lies.
struct Looked {
  std::uintptr_t wanted;
  Range code;
};
int look_at_object(dl_phdr_info* object, std::size_t /*size*/, void* into) noexcept {
  auto& looked = *static_cast<Looked*>(into);
  Range code;
  bool inside = false;
  for (const ElfW(Phdr) & part : std::span(object->dlpi_phdr, object->dlpi_phnum)) {
    if (part.p_type != PT_LOAD) continue;
    const std::uintptr_t begin = object->dlpi_addr + part.p_vaddr;
    const Range range{begin, begin + part.p_memsz};
    inside = inside || range.holds(looked.wanted);
    if ((part.p_flags & PF_X) != 0) code = range;
  }
  if (inside) looked.code = code;
  return inside ? 1 : 0;
}
Range code_around(std::uintptr_t address) noexcept {
  Looked looked{address, {}};
  if (address != 0) dl_iterate_phdr(&look_at_object, &looked);
  return looked.code;
}

// A return address stands behind its call, which may be the last thing in its function.
std::uintptr_t code_at(std::span<void* const> frames, std::size_t i) noexcept {
  return reinterpret_cast<std::uintptr_t>(frames[i]) - (i == 0 ? 0 : 1);
}

}  // namespace

void learn_c_library() noexcept {
  // (A function that the program does not define itself.)
  library =
      code_around(reinterpret_cast<std::uintptr_t>(dlsym(RTLD_DEFAULT, "gnu_get_libc_version")));
  loader = code_around(getauxval(AT_BASE));
  const Range program = code_around(getauxval(AT_ENTRY));
  if (library.begin == program.begin) library = {};  // one without shared libraries
  std::transform(std::begin(kWithoutLocks), std::end(kWithoutLocks), without_locks.begin(),
                 &range_of);
}

bool may_hold_c_library_lock(std::span<void* const> frames) noexcept {
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if (loader.holds(code_at(frames, i))) return true;
  }
  std::size_t within = 0;
  while (within < frames.size() && library.holds(code_at(frames, within))) ++within;
  if (within < 2) return false;
  const std::uintptr_t entered = code_at(frames, within - 1);
  return std::none_of(without_locks.begin(), without_locks.end(),
                      [entered](const Range& each) { return each.holds(entered); });
}

}  // namespace bulkhead::machine
