// C3: this_actor::address is for the actor that runs, of its class. What was wrong: in a
// constructor it gave the spawner's address under the type of the new actor, so that messages were
// handled by an object of another class.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <stdexcept>
#include <string>

#include "support/on_cores.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::Address;

struct Go {};

struct Seen {
  std::atomic<int> right{0};
  std::atomic<int> refused{0};
  std::atomic<int> wrong{0};
};

// What address(self) says, or ends with.
template <class Call>
void expect_refused(Seen& seen, Call call) {
  try {
    static_cast<void>(call());
    ++seen.wrong;
  } catch (const std::logic_error& error) {
    const std::string text = error.what();
    if (text.find("this_actor::address") != text.npos) {
      ++seen.refused;
    } else {
      ++seen.wrong;
    }
  }
}

class Child {
 public:
  explicit Child(Seen* seen) : seen_(seen) {
    expect_refused(*seen_, [this] { return this_actor::address(this); });
    expect_refused(*seen_, [] { return this_actor::address<Child>(); });
  }
  ~Child() { check(); }
  void started() { check(); }
  void receive(Go /*message*/) { check(); }

 private:
  void check() {
    const bool right = this_actor::address(this).pid() == this_actor::pid() &&
                       this_actor::address<Child>().pid() == this_actor::pid();
    ++(right ? seen_->right : seen_->wrong);
  }

  Seen* seen_;
};

struct Parent {
  explicit Parent(Seen* counts) : seen(counts) {}
  void receive(Go message) {
    bulkhead::spawn<Child>(seen).send(message);
    expect_refused(*seen, [] { return this_actor::address<Child>(); });
    const Parent other(seen);
    expect_refused(*seen, [&other] { return this_actor::address(&other); });
    const bool right = this_actor::address(this).pid() == this_actor::pid();
    ++(right ? seen->right : seen->wrong);
  }
  Seen* seen;
};

// An address by a base class that is not where the object begins would reach the wrong part of it.
struct Front {
  long number = 1;
};
struct Back {
  long other = 2;
  void ask_back(Seen& seen) {
    expect_refused(seen, [this] { return this_actor::address(this); });
  }
  void receive(Go /*message*/) {}
};
struct Both : Front, Back {
  explicit Both(Seen* counts) : seen(counts) {}
  void started() { ask_back(*seen); }
  Seen* seen;
};

class AddressOfThisActor : public support::Running {
 protected:
  Seen seen;
};
ON_ONE_AND_SEVERAL_CORES(AddressOfThisActor);

TEST_P(AddressOfThisActor, is_refused_in_a_constructor_in_an_actor) {
  const auto parent = runtime.spawn<Parent>(&seen);
  parent.send(Go{});
  wait_for_idle();
  EXPECT_EQ(seen.refused, 4);
  EXPECT_EQ(seen.right, 3);
  runtime.shutdown();
  EXPECT_EQ(seen.right, 4);
  EXPECT_EQ(seen.wrong, 0);
}

TEST_P(AddressOfThisActor, is_refused_in_a_constructor_outside) {
  runtime.spawn<Child>(&seen).send(Go{});
  wait_for_idle();
  EXPECT_EQ(seen.refused, 2);
  EXPECT_EQ(seen.right, 2);
  EXPECT_EQ(seen.wrong, 0);
}

TEST_P(AddressOfThisActor, is_refused_for_a_part_of_it) {
  runtime.spawn<Both>(&seen);
  wait_for_idle();
  EXPECT_EQ(seen.refused, 1);
  EXPECT_EQ(seen.wrong, 0);
}

TEST_P(AddressOfThisActor, says_what_to_do_instead) {
  std::string text;
  struct Curious {
    explicit Curious(std::string* text) {
      try {
        static_cast<void>(this_actor::address(this));
      } catch (const std::logic_error& error) {
        *text = error.what();
      }
    }
    void receive(Go /*message*/) {}
  };
  runtime.spawn([&text] { bulkhead::spawn<Curious>(&text); });
  wait_for_idle();
  EXPECT_NE(text.find("started()"), text.npos) << text;
  runtime.spawn<Curious>(&text);
  EXPECT_NE(text.find("this_actor::address was called outside any actor"), text.npos) << text;
}

}  // namespace
