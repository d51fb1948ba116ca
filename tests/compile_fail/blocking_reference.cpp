// C8: what runs on another thread returns a value.
// expect: bulkhead: what blocking\(\) runs returns a value, or nothing; not a reference
#include "bulkhead/blocking.hpp"

#include <string>

std::string text;

int main() {
  bulkhead::blocking([]() -> std::string& { return text; });
}
