// The search for a handler that a throw would make is made beforehand, by the same means: the walk
// over the frames, and for each the compiler's own function that reads its table of handlers.
// (Clang makes a noexcept function look like one that catches all: there the search tells nothing.)
#include "core/unwinding.hpp"

#include <cxxabi.h>
#include <unwind.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <typeinfo>

#include "core/core.hpp"
#include "core/domain.hpp"
#include "core/extras.hpp"

extern "C" _Unwind_Reason_Code __gxx_personality_v0(int version, _Unwind_Action actions,
                                                    _Unwind_Exception_Class kind,
                                                    _Unwind_Exception* exception,
                                                    _Unwind_Context* frame);

namespace bulkhead::core {

namespace {

// The end of what the C++ runtime keeps in front of an exception, as the Itanium C++ ABI has it.
struct Head {
  std::uintptr_t landing_pad;  // of the handler that was found; 0 when that is to terminate
  void* adjusted;
  _Unwind_Exception header;
};
static_assert(offsetof(Head, header) == 16);

_Unwind_Reason_Code look(_Unwind_Context* frame, void* argument) {
  auto& head = *static_cast<Head*>(argument);
  if (_Unwind_GetLanguageSpecificData(frame) == nullptr) return _URC_NO_REASON;
  const _Unwind_Reason_Code found =
      __gxx_personality_v0(1, _UA_SEARCH_PHASE, head.header.exception_class, &head.header, frame);
  return found == _URC_HANDLER_FOUND ? _URC_END_OF_STACK : _URC_NO_REASON;
}

}  // namespace

// Not noexcept: it is one of the frames.
bool may_throw_unwind() {
  void* unwind = abi::__cxa_allocate_exception(sizeof(Unwind));
  auto* type = const_cast<std::type_info*>(&typeid(Unwind));
  abi::__cxa_init_primary_exception(unwind, type, nullptr);
  Head* head = reinterpret_cast<Head*>(static_cast<std::byte*>(unwind) - sizeof(Head));
  head->landing_pad = 0;
  _Unwind_Backtrace(&look, head);
  const bool caught = head->landing_pad != 0;
  abi::__cxa_free_exception(unwind);
  return caught;
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
  return !current()->running->has(Slot::kEnding) && std::uncaught_exceptions() == 0 &&
         may_throw_unwind();
}

}  // namespace bulkhead::core
