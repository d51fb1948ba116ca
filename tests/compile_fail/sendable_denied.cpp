// A type can say of itself that it stays where it is.
// expect: cannot be sent: it holds something for which bulkhead::kSendable is specialised to false
// expect: (Holder = |refuse\w*<)Bad[;,]
// expect: (Member = |, )Socket(; int Position = |, )2[;,]
// expect: (Bad::socket\)|value\.socket\b)
// expect: (M = Bad\b|check_sendable<Bad>)
#include "bulkhead/message.hpp"

class Socket {
 public:
  Socket();

 private:
  int descriptor_;
};

template <>
inline constexpr bool bulkhead::kSendable<Socket> = false;

struct Bad {
  int id;
  Socket socket;
};

int main() { bulkhead::check_sendable<Bad>(); }
