// A hook of an application that is a function of a class, and would not be called (C15).
// expect: error: .*(cannot derive from .final. base|base .* is marked .final.)
#include <bulkhead/otp.hpp>

struct Shop : bulkhead::Application {
  void stopping(bulkhead::Runtime&) {}
};

int run(const Shop& shop) { return bulkhead::run_application(shop); }
