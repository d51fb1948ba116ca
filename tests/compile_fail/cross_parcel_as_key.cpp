// expect: this message cannot cross: what is handed over.*cannot be the key of a container
#include "bulkhead/cross.hpp"

#include <map>
#include <utility>

#include "bulkhead/parcel.hpp"

struct Bad {
  std::map<bulkhead::Parcel<>, int> sizes;
};

int main() { static_cast<void>(bulkhead::cross(Bad{})); }
