// expect: cannot cross to or from an isolated actor: it holds a pointer, reference or view
#include "bulkhead/parcel.hpp"

int main() { bulkhead::Parcel<const char*> bad(3); }
