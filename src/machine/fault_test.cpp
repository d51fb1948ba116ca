#include "machine/fault.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <thread>

#include "support/process.hpp"

namespace bulkhead::machine {
namespace {

TEST(FaultKind, tells_the_guard_from_other_addresses) {
  StackStore store(GuardKind::kMprotect);
  const Stack* stack = store.take(0);
  const auto kind = [&](const std::byte* address) {
    return kind_of_fault(SIGSEGV, SEGV_ACCERR, address, stack);
  };
  EXPECT_EQ(kind(stack->bottom - 1), FaultKind::kStackOverflow);
  EXPECT_EQ(kind(stack->bottom - guard_bytes()), FaultKind::kStackOverflow);
  EXPECT_EQ(kind(stack->bottom - guard_bytes() - 1), FaultKind::kAccess);
  EXPECT_EQ(kind(stack->bottom), FaultKind::kAccess);
  EXPECT_EQ(kind(nullptr), FaultKind::kAccess);
}

TEST(FaultKind, a_thread_without_a_guard_of_ours_has_no_overflow) {
  const Stack thread{};
  EXPECT_EQ(kind_of_fault(SIGSEGV, SEGV_MAPERR, nullptr, &thread), FaultKind::kAccess);
}

TEST(FaultKind, goes_by_the_signal_and_by_who_sent_it) {
  const Stack stack{};
  EXPECT_EQ(kind_of_fault(SIGBUS, BUS_ADRERR, nullptr, &stack), FaultKind::kAccess);
  EXPECT_EQ(kind_of_fault(SIGFPE, FPE_INTDIV, nullptr, &stack), FaultKind::kArithmetic);
  EXPECT_EQ(kind_of_fault(SIGILL, ILL_ILLOPN, nullptr, &stack), FaultKind::kInstruction);
  EXPECT_EQ(kind_of_fault(SIGTRAP, TRAP_BRKPT, nullptr, &stack), FaultKind::kInstruction);
  EXPECT_EQ(kind_of_fault(SIGABRT, SI_TKILL, nullptr, &stack), FaultKind::kAbort);
  EXPECT_EQ(kind_of_fault(SIGSEGV, SI_USER, nullptr, &stack), FaultKind::kSent);
}

TEST(FaultStack, a_thread_has_one_while_it_lives_and_leaves_no_mapping) {
  std::thread([] {
    stack_t before{};
    sigaltstack(nullptr, &before);
    {
      const FaultStack stack;
      stack_t now{};
      sigaltstack(nullptr, &now);
      EXPECT_EQ(now.ss_flags & SS_DISABLE, 0);
      EXPECT_GE(now.ss_size, std::size_t{8192});
      const FaultStack another;  // finds that there is one
      stack_t same{};
      sigaltstack(nullptr, &same);
      EXPECT_EQ(same.ss_sp, now.ss_sp);
    }
    stack_t after{};
    sigaltstack(nullptr, &after);
    EXPECT_EQ(after.ss_flags & SS_DISABLE, before.ss_flags & SS_DISABLE);
    const std::size_t mappings = support::mappings();
    for (int i = 0; i < 200; ++i) const FaultStack again;
    EXPECT_LT(support::mappings(), mappings + 50);
  }).join();
}

TEST(SignalSafeText, writes_text_and_numbers) {
  const std::string text = support::stderr_of([] {
    SignalSafeText line;
    line << "a " << std::uint64_t{0} << " " << 18446744073709551615u << " ";
    line.hexadecimal(0).append("xyz", 1).hexadecimal(0xdeadbeef);
    line.write_to_stderr();
  });
  EXPECT_EQ(text, "a 0 18446744073709551615 0x0x0xdeadbeef\n");
}

TEST(SignalSafeText, cuts_what_is_too_long) {
  const std::string text = support::stderr_of([] {
    SignalSafeText line;
    for (int i = 0; i < 300; ++i) line << "12345";
    line.write_to_stderr();
  });
  EXPECT_EQ(text.size(), 1000u);
  EXPECT_EQ(text.back(), '\n');
}

}  // namespace
}  // namespace bulkhead::machine
