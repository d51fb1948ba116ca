// What may be sent between ordinary actors, since the program says so, may not cross for that.
// expect: cannot cross to or from an isolated actor: it holds a pointer, reference or view
// expect: (Interned::text\)|value\.text\b)
// expect: say by bulkhead::Crossing how it crosses
#include "bulkhead/cross.hpp"

struct Interned {
  const char* text;
};
template <>
inline constexpr bool bulkhead::kSendable<Interned> = true;

int main() { bulkhead::check_crossable<Interned>(); }
