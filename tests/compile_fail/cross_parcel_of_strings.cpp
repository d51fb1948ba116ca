// expect: bulkhead: the elements of a Parcel must be trivially copyable
#include "bulkhead/parcel.hpp"

#include <string>

int main() { bulkhead::Parcel<std::string> bad(3); }
