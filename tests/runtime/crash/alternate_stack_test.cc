#include "runtime/crash/alternate_stack.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <functional>
#include <thread>

namespace actord::runtime {
namespace {

stack_t Current() {
  stack_t current{};
  EXPECT_EQ(sigaltstack(nullptr, &current), 0);
  return current;
}

bool HasNone() { return (Current().ss_flags & SS_DISABLE) != 0; }

// Runs `test` on a thread without an alternate stack. (A sanitizer may have
// given it one, and takes that back at the thread's end.)
void OnThreadWithoutOne(const std::function<void()>& test) {
  std::thread([&test] {
    stack_t before = Current();
    const stack_t none{.ss_sp = nullptr, .ss_flags = SS_DISABLE, .ss_size = 0};
    ASSERT_EQ(sigaltstack(&none, nullptr), 0);
    test();
    ASSERT_TRUE(HasNone());
    if ((before.ss_flags & SS_DISABLE) == 0) {
      ASSERT_EQ(sigaltstack(&before, nullptr), 0);
    }
  }).join();
}

std::atomic<char*> handler_ran_at{nullptr};

// The address of a local may be on the heap, under AddressSanitizer.
void OnSignal(int /*number*/) {
  handler_ran_at = static_cast<char*>(__builtin_frame_address(0));
}

TEST(AlternateStack, HandlersRunOnIt) {
  OnThreadWithoutOne([] {
    const AlternateStack stack;
    ASSERT_TRUE(stack.is_in_use());
    struct sigaction action {};
    action.sa_handler = OnSignal;
    action.sa_flags = SA_ONSTACK;
    struct sigaction before {};
    ASSERT_EQ(sigaction(SIGUSR1, &action, &before), 0);
    raise(SIGUSR1);
    ASSERT_EQ(sigaction(SIGUSR1, &before, nullptr), 0);
    const stack_t used = Current();
    EXPECT_GE(used.ss_size, AlternateStack::kMinBytes);
    char* const begin = static_cast<char*>(used.ss_sp);
    EXPECT_GE(handler_ran_at, begin);
    EXPECT_LT(handler_ran_at, begin + used.ss_size);
  });
}

TEST(AlternateStack, NobodyMayAccessThePageBelowIt) {
  OnThreadWithoutOne([] {
    const AlternateStack stack;
    ASSERT_TRUE(stack.is_in_use());
    // The kernel reports an address that it cannot read as EFAULT.
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    char* const begin = static_cast<char*>(Current().ss_sp);
    EXPECT_EQ(write(ends[1], begin, 1), 1);
    EXPECT_EQ(write(ends[1], begin - 1, 1), -1);
    EXPECT_EQ(errno, EFAULT);
    close(ends[0]);
    close(ends[1]);
  });
}

TEST(AlternateStack, IsGoneAfterItsEnd) {
  OnThreadWithoutOne([] {
    void* begin = nullptr;
    {
      const AlternateStack stack;
      begin = Current().ss_sp;
    }
    EXPECT_TRUE(HasNone());
    EXPECT_EQ(msync(begin, 1, MS_ASYNC), -1);
    EXPECT_EQ(errno, ENOMEM);  // nothing is mapped there
  });
}

TEST(AlternateStack, LeavesAThreadItsOwn) {
  OnThreadWithoutOne([] {
    const AlternateStack first;
    const void* const begin = Current().ss_sp;
    {
      const AlternateStack second;
      EXPECT_FALSE(second.is_in_use());
      EXPECT_EQ(Current().ss_sp, begin);
    }
    EXPECT_EQ(Current().ss_sp, begin);
  });
}

}  // namespace
}  // namespace actord::runtime
