// The search for a handler that a throw would make is made beforehand, by the same means: the walk
// over the frames, and for each the compiler's own function that reads its table of handlers.
//
// Clang gives a function that is noexcept a handler for everything, which ends the process. It
// cannot be told from a catch (...). So in code of such compilers only a handler counts that names
// Unwind, as the runtime's own do.
#include "core/unwinding.hpp"

#include <cxxabi.h>
#include <unwind.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <typeinfo>

#include "bulkhead/actor_class.hpp"
#include "bulkhead/standard.hpp"
#include "bulkhead/unwind.hpp"
#include "core/core.hpp"
#include "core/domain.hpp"
#include "core/exception_head.hpp"
#include "core/extras.hpp"

extern "C" _Unwind_Reason_Code __gxx_personality_v0(int version, _Unwind_Action actions,
                                                    _Unwind_Exception_Class kind,
                                                    _Unwind_Exception* exception,
                                                    _Unwind_Context* frame);

namespace bulkhead::core {

namespace {

// An exception to search with, which is never thrown.
class Trial {
 public:
  explicit Trial(const std::type_info& type) : object_(abi::__cxa_allocate_exception(1)) {
    abi::__cxa_init_primary_exception(object_, const_cast<std::type_info*>(&type), nullptr);
    head().landing_pad = 0;
  }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;
  ~Trial() { abi::__cxa_free_exception(object_); }

  /// Has the frame a handler for it? Also one that is to terminate.
  bool stops_at(_Unwind_Context* frame) {
    _Unwind_Exception& header = head().header;
    return __gxx_personality_v0(1, _UA_SEARCH_PHASE, header.exception_class, &header, frame) ==
           _URC_HANDLER_FOUND;
  }
  [[nodiscard]] bool is_caught() { return head().landing_pad != 0; }
  [[nodiscard]] bool is_caught_like(Trial& other) {
    return head().landing_pad == other.head().landing_pad && head().handler == other.head().handler;
  }

 private:
  ExceptionHead& head() { return static_cast<ExceptionHead*>(object_)[-1]; }

  void* object_;
};

struct Nobodys {};  // only a handler for everything catches it

struct Search {
  bool caught = false;
  Trial unwind{typeid(Unwind)};
  std::optional<Trial> nobodys = {};  // there if only a handler counts that names Unwind
};

_Unwind_Reason_Code look(_Unwind_Context* frame, void* argument) {
  auto& search = *static_cast<Search*>(argument);
  if (_Unwind_GetLanguageSpecificData(frame) == nullptr) return _URC_NO_REASON;
  if (!search.unwind.stops_at(frame)) return _URC_NO_REASON;
  const bool by_any = search.nobodys && search.nobodys->stops_at(frame) &&
                      search.unwind.is_caught_like(*search.nobodys);
  search.caught = search.unwind.is_caught() && !by_any;
  return _URC_END_OF_STACK;
}

}  // namespace

// Not noexcept: it is one of the frames.
bool may_throw_unwind(bool hides_noexcept) {
  Search search;
  if (hides_noexcept || kHidesNoexcept) search.nobodys.emplace(typeid(Nobodys));
  _Unwind_Backtrace(&look, &search);
  return search.caught;
}

void Core::check_unwind() {
  Slot& slot = *current()->running;
  if (!slot.has(Slot::kUnwind)) return;
  tell_stop(slot);
  if (slot.has(Slot::kHearsStop) && !current()->must_end(slot)) return;
  if (!may_unwind()) return;
  slot.set(Slot::kUnwinding);
  throw Unwind();
}

// Not even one that hears requests to stop goes on then.
bool Core::must_end(const Slot& slot) const noexcept {
  return domain.load(std::memory_order_relaxed)->ending() || is_sentenced(slot);
}

bool Core::may_unwind() {
  const Slot& slot = *current()->running;
  return !slot.has(Slot::kEnding) && std::uncaught_exceptions() == 0 &&
         may_throw_unwind(slot.kind->hides_noexcept);
}

}  // namespace bulkhead::core
