// C14: event managers. Tests are named after the cases of OTP's gen_event_SUITE whose behaviour
// they check.
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>

#include "support/served.hpp"

namespace {

namespace sys = bulkhead::sys;
using bulkhead::AskError;
using bulkhead::EventHandler;
using bulkhead::EventManagerRef;
using bulkhead::Exit;
using bulkhead::HandlerError;
using support::Notes;
using Ids = std::vector<std::string>;

struct Event {
  std::string what;
};

class Listener final : public EventHandler<Event> {
 public:
  Listener(Notes* notes, std::string name) : notes_(notes), name_(std::move(name)) {}

  void init() override {
    if (name_ == "faulty") throw std::runtime_error("faulty from the start");
    notes_->diary.add(name_ + "+");
  }
  Next handle_event(const Event& event) override {
    notes_->diary.add(name_ + ":" + event.what);
    if (event.what == "fail " + name_) throw std::runtime_error("failed");
    return event.what == "leave " + name_ ? Next::kRemove : Next::kStay;
  }
  void terminate(const Exit& reason) override {
    notes_->diary.add(name_ + "- " + to_string(reason));
    if (name_ == "rude") throw std::runtime_error("rude");
  }

 private:
  Notes* notes_;
  std::string name_;
};

class EventManagers : public support::Served {
 protected:
  EventManagerRef<Event> manager() {
    auto started = bulkhead::start_event_manager<Event>(runtime, {.spawn = on_core(1)});
    EXPECT_TRUE(started.has_value());
    return *started;
  }
  std::unique_ptr<Listener> listener(const std::string& name) {
    return std::make_unique<Listener>(&notes, name);
  }
  [[nodiscard]] std::string line() const { return notes.diary.line(); }
};
ON_ONE_AND_SEVERAL_CORES(EventManagers);

TEST_P(EventManagers, add_and_delete_handler) {
  const auto events = manager();
  EXPECT_EQ(events.which_handlers(), Ids());
  EXPECT_TRUE(events.add_handler("a", listener("a")).has_value());
  EXPECT_TRUE(events.add_handler("b", listener("b")).has_value());
  EXPECT_EQ(events.add_handler("a", listener("a")).error().kind, HandlerError::Kind::kAlreadyAdded);
  EXPECT_EQ(events.which_handlers(), (Ids{"a", "b"}));
  EXPECT_TRUE(events.delete_handler("a").has_value());
  EXPECT_EQ(events.delete_handler("a").error().kind, HandlerError::Kind::kNotFound);
  EXPECT_EQ(events.which_handlers(), Ids{"b"});
  EXPECT_EQ(line(), "a+ b+ a- normal");
  EXPECT_THROW(static_cast<void>(events.add_handler("n", std::unique_ptr<Listener>())),
               std::invalid_argument);
}

TEST_P(EventManagers, add_handler_that_fails) {
  const auto events = manager();
  const auto error = events.add_handler("f", listener("faulty")).error();
  EXPECT_EQ(error.kind, HandlerError::Kind::kFailed);
  EXPECT_EQ(to_string(error),
            "the handler's init failed: panic: faulty from the start (std::runtime_error)");
  EXPECT_EQ(events.which_handlers(), Ids());
}

TEST_P(EventManagers, notify) {
  const auto events = manager();
  EXPECT_TRUE(events.add_handler("a", listener("a")).has_value());
  EXPECT_TRUE(
      events.add_handler("f", [this](const Event& event) { notes.diary.add("f:" + event.what); })
          .has_value());
  EXPECT_EQ(events.notify(Event{"one"}), bulkhead::Delivery::kQueued);
  EXPECT_TRUE(events.sync_notify(Event{"two"}).has_value());
  EXPECT_EQ(line(), "a+ a:one f:one a:two f:two");
}

// One that fails is removed; the others live, and hear of the same event.
TEST_P(EventManagers, handler_that_fails) {
  const auto events = manager();
  for (const char* name : {"a", "b", "c"}) {
    EXPECT_TRUE(events.add_handler(name, listener(name)).has_value());
  }
  EXPECT_TRUE(events.sync_notify(Event{"fail b"}).has_value());
  EXPECT_EQ(events.which_handlers(), (Ids{"a", "c"}));
  EXPECT_EQ(line(), "a+ b+ c+ a:fail b b:fail b b- panic: failed (std::runtime_error) c:fail b");
}

TEST_P(EventManagers, handler_that_leaves) {
  const auto events = manager();
  EXPECT_TRUE(events.add_handler("a", listener("a")).has_value());
  EXPECT_TRUE(events.add_handler("b", listener("rude")).has_value());
  EXPECT_TRUE(events.sync_notify(Event{"leave a"}).has_value());
  EXPECT_TRUE(events.sync_notify(Event{"leave rude"}).has_value());
  EXPECT_EQ(events.which_handlers(), Ids());
  EXPECT_EQ(line(), "a+ rude+ a:leave a a- normal rude:leave a rude:leave rude rude- normal");
}

TEST_P(EventManagers, swap_handler) {
  const auto events = manager();
  EXPECT_TRUE(events.add_handler("a", listener("a")).has_value());
  EXPECT_TRUE(events.add_handler("b", listener("b")).has_value());
  EXPECT_TRUE(events.swap_handler("a", "a", listener("new")).has_value());
  EXPECT_EQ(events.swap_handler("a", "b", listener("x")).error().kind,
            HandlerError::Kind::kAlreadyAdded);
  EXPECT_EQ(events.swap_handler("none", "c", listener("x")).error().kind,
            HandlerError::Kind::kNotFound);
  EXPECT_EQ(events.which_handlers(), (Ids{"b", "a"}));
  EXPECT_EQ(line(), "a+ b+ a- normal new+");
}

// When the manager ends its handlers are told why.
TEST_P(EventManagers, stop) {
  const auto events = manager();
  EXPECT_TRUE(events.add_handler("a", listener("a")).has_value());
  EXPECT_TRUE(events.add_handler("b", listener("b")).has_value());
  EXPECT_EQ(sys::statistics(events.server())->calls, 2u);
  EXPECT_TRUE(events.stop(Exit::shutdown("closed")).has_value());
  EXPECT_EQ(line(), "a+ b+ a- shutdown: closed b- shutdown: closed");
  const auto error = events.add_handler("c", listener("c")).error();
  EXPECT_EQ(error.kind, HandlerError::Kind::kCall);
  EXPECT_EQ(error.call, AskError::kGone);
  EXPECT_EQ(events.notify(Event{"late"}), bulkhead::Delivery::kGone);
}

}  // namespace
