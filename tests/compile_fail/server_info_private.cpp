// A handle_info that is private, beside one that is not (C14).
// expect: (EachInfoMustBePublic<Till>|'handle_info' is a private member of 'Till')
// expect: private
#include <bulkhead/otp.hpp>

struct Tick {};
class Till : public bulkhead::GenServer {
 public:
  void handle_info(Tick) {}

 private:
  void handle_info(const bulkhead::Down&) {}
};

void f() { static_cast<void>(bulkhead::start_server<Till>({})); }
