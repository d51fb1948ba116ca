// expect: deleted
#include "bulkhead/parcel.hpp"

int main() {
  bulkhead::Parcel<> parcel(3);
  bulkhead::Parcel<> copy(parcel);
}
