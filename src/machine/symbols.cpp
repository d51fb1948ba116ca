#include "machine/symbols.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "machine/fork.hpp"
#include "sync/thread.hpp"

#if defined(BULKHEAD_HAVE_LIBDW)
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#elif defined(BULKHEAD_HAVE_LIBBACKTRACE)
#include <backtrace.h>
#else
#include <execinfo.h>
#endif

namespace bulkhead::machine {

namespace {

using Places = std::vector<CodePlace>;

std::string readable(const char* symbol) {
  if (symbol == nullptr) return "??";
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(symbol, nullptr, nullptr, &status), &std::free);
  return status == 0 && name != nullptr ? name.get() : symbol;
}

}  // namespace

#if defined(BULKHEAD_HAVE_LIBDW)

namespace {

// What is mapped into the process, and what is known of it.
class Modules {
 public:
  // Not the standard function to find debugging information, which may ask servers for it.
  Modules()
      : callbacks_{&dwfl_linux_proc_find_elf, &dwfl_build_id_find_debuginfo, nullptr, nullptr} {
    dwfl_ = dwfl_begin(&callbacks_);
    if (dwfl_ != nullptr) report();
  }

  Places look_up(Dwarf_Addr pc) {
    if (dwfl_ == nullptr) return {{"??"}};
    Dwfl_Module* module = find(pc);
    Dwarf_Addr bias = 0;
    Dwarf_Die* unit = module != nullptr ? unit_of(module, pc, bias) : nullptr;
    const Scopes scopes = unit != nullptr ? functions_around(unit, pc - bias) : Scopes();
    Places places;
    CodePlace place = scopes.count != 0 ? line_of(module, pc) : CodePlace();
    for (int i = 0; i < scopes.count; ++i) {
      Dwarf_Die& scope = scopes.all.get()[i];
      const int tag = dwarf_tag(&scope);
      if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram) continue;
      place.function = name_of(scope);
      places.push_back(std::move(place));
      if (tag == DW_TAG_subprogram) break;
      place = call_of(unit, scope);
    }
    if (places.empty()) {
      places.push_back({readable(module != nullptr ? dwfl_module_addrname(module, pc) : nullptr)});
    }
    return places;
  }

 private:
  struct Scopes {
    std::unique_ptr<Dwarf_Die, decltype(&std::free)> all{nullptr, &std::free};
    int count = 0;
  };

  void report() {
    const std::unique_ptr<std::FILE, decltype(&std::fclose)> maps(
        std::fopen("/proc/self/maps", "re"), &std::fclose);
    if (maps != nullptr) dwfl_linux_proc_maps_report(dwfl_, maps.get());
    dwfl_report_end(dwfl_, nullptr, nullptr);
  }

  // A library may have been loaded since the last look.
  Dwfl_Module* find(Dwarf_Addr pc) {
    Dwfl_Module* module = dwfl_addrmodule(dwfl_, pc);
    if (module != nullptr) return module;
    dwfl_report_begin(dwfl_);
    report();
    return dwfl_addrmodule(dwfl_, pc);
  }

  // Not all compilers write an index of addresses; without, each unit is asked.
  static Dwarf_Die* unit_of(Dwfl_Module* module, Dwarf_Addr pc, Dwarf_Addr& bias) {
    Dwarf_Die* unit = dwfl_module_addrdie(module, pc, &bias);
    if (unit != nullptr) return unit;
    while ((unit = dwfl_module_nextcu(module, unit, &bias)) != nullptr) {
      if (dwarf_haspc(unit, pc - bias) > 0) return unit;
    }
    return nullptr;
  }

  // The functions around an address, from the innermost on, with blocks in between.
  static Scopes functions_around(Dwarf_Die* unit, Dwarf_Addr pc) {
    Dwarf_Die* found = nullptr;
    const int around = dwarf_getscopes(unit, pc, &found);
    const std::unique_ptr<Dwarf_Die, decltype(&std::free)> innermost(found, &std::free);
    Scopes scopes;
    if (around <= 0) return scopes;
    Dwarf_Die* all = nullptr;
    scopes.count = std::max(dwarf_getscopes_die(found, &all), 0);
    scopes.all.reset(all);
    return scopes;
  }

  static std::string name_of(Dwarf_Die& function) {
    Dwarf_Attribute attribute;
    for (const unsigned name : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name}) {
      const char* text = dwarf_formstring(dwarf_attr_integrate(&function, name, &attribute));
      if (text != nullptr) return readable(text);
    }
    return "??";
  }

  static CodePlace line_of(Dwfl_Module* module, Dwarf_Addr pc) {
    CodePlace place;
    Dwfl_Line* line = dwfl_module_getsrc(module, pc);
    const char* file = line != nullptr
                           ? dwfl_lineinfo(line, nullptr, &place.line, nullptr, nullptr, nullptr)
                           : nullptr;
    if (file != nullptr) place.file = file;
    return place;
  }

  // Where an inlined function was called.
  static CodePlace call_of(Dwarf_Die* unit, Dwarf_Die& inlined) {
    CodePlace place;
    Dwarf_Attribute attribute;
    Dwarf_Word number = 0;
    if (dwarf_formudata(dwarf_attr(&inlined, DW_AT_call_line, &attribute), &number) == 0) {
      place.line = static_cast<int>(number);
    }
    Dwarf_Files* files = nullptr;
    if (dwarf_formudata(dwarf_attr(&inlined, DW_AT_call_file, &attribute), &number) == 0 &&
        dwarf_getsrcfiles(unit, &files, nullptr) == 0) {
      const char* file = dwarf_filesrc(files, number, nullptr, nullptr);
      if (file != nullptr) place.file = file;
    }
    return place;
  }

  Dwfl_Callbacks callbacks_;
  Dwfl* dwfl_;
};

Places look_up(std::uintptr_t pc) {
  static auto* modules = new Modules;
  return modules->look_up(pc);
}

}  // namespace

#elif defined(BULKHEAD_HAVE_LIBBACKTRACE)

namespace {

backtrace_state* state() {
  static backtrace_state* made = backtrace_create_state(nullptr, 1, nullptr, nullptr);
  return made;
}

void on_symbol(void* places, std::uintptr_t /*address*/, const char* symbol, std::uintptr_t,
               std::uintptr_t) {
  static_cast<Places*>(places)->push_back({readable(symbol)});
}

// Without debugging information the symbol table may know.
int on_place(void* places, std::uintptr_t address, const char* file, int line,
             const char* function) {
  if (function == nullptr) {
    backtrace_syminfo(state(), address, &on_symbol, nullptr, places);
  } else {
    static_cast<Places*>(places)->push_back(
        {readable(function), file != nullptr ? file : "", line});
  }
  return 0;
}

Places look_up(std::uintptr_t pc) {
  Places places;
  backtrace_pcinfo(state(), pc, &on_place, nullptr, &places);
  if (places.empty()) places.push_back({"??"});
  return places;
}

}  // namespace

#else

namespace {

// "binary(symbol+offset) [address]"
Places look_up(std::uintptr_t pc) {
  void* address = reinterpret_cast<void*>(pc);
  const std::unique_ptr<char*, decltype(&std::free)> symbols(backtrace_symbols(&address, 1),
                                                             &std::free);
  if (symbols == nullptr) return {{"??"}};
  const std::string text(*symbols);
  const auto open = text.find('(');
  const auto plus = text.find('+', open == std::string::npos ? 0 : open);
  if (open == std::string::npos || plus == std::string::npos || plus <= open + 1) {
    return {{text}};
  }
  return {{readable(text.substr(open + 1, plus - open - 1).c_str())}};
}

}  // namespace

#endif

namespace {

// The same places fail again and again. The libraries are not for several threads at once; and they
// want more stack than an actor may have, so that they have a thread's.
class Known {
 public:
  std::vector<Places> places_of(std::span<void* const> return_addresses) {
    const sync::Guard guard(lock_);
    if (places_.size() >= kMost) places_.clear();
    std::vector<std::uintptr_t> unknown;
    for (void* const address : return_addresses) {
      if (!places_.contains(call_before(address))) unknown.push_back(call_before(address));
    }
    if (!unknown.empty()) learn(unknown);
    std::vector<Places> all;
    for (void* const address : return_addresses) all.push_back(places_[call_before(address)]);
    // It may have been for want of descriptors, or of memory.
    for (const std::uintptr_t pc : unknown) {
      if (const auto known = places_.find(pc);
          known != places_.end() && known->second.front().function == "??") {
        places_.erase(known);
      }
    }
    return all;
  }

 private:
  static constexpr std::size_t kMost = 10'000;

  static std::uintptr_t call_before(void* return_address) noexcept {
    return reinterpret_cast<std::uintptr_t>(return_address) - 1;
  }

  // Without a thread nothing is known of them.
  void learn(const std::vector<std::uintptr_t>& unknown) {
    std::exception_ptr failure;
    try {
      sync::Thread([&] {
        try {
          for (const std::uintptr_t pc : unknown) places_[pc] = look_up(pc);
        } catch (...) {
          failure = std::current_exception();
        }
      }).join();
    } catch (const std::system_error&) {
      for (const std::uintptr_t pc : unknown) places_[pc] = {{"??"}};
    }
    if (failure != nullptr) std::rethrow_exception(failure);
  }

  ForkMutex lock_{Nesting::kInner};
  std::unordered_map<std::uintptr_t, Places> places_;
};

}  // namespace

std::vector<Places> places_of(std::span<void* const> return_addresses) {
  static auto* known = new Known;
  return known->places_of(return_addresses);
}

}  // namespace bulkhead::machine
