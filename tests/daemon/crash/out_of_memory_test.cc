#include "daemon/crash/out_of_memory.h"

#include <grpc/support/alloc.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstddef>
#include <new>
#include <system_error>

#include "runtime/crash/running_code.h"

namespace actord::daemon {
namespace {

constexpr int kStatus = 70;

// The handler that `operator new` calls when the system refuses memory.
void RefuseMemory() { std::get_new_handler()(); }

TEST(OutOfMemoryDeathTest, DaemonEndsWithALineAndStatus70) {
  const OutOfMemory out_of_memory(LogFormat::kJson, kStatus);
  EXPECT_EXIT(RefuseMemory(), testing::ExitedWithCode(kStatus),
              R"("level":"fatal","message":"out of memory: )");
}

// Clang refuses a `throw` in the text of a noexcept function.
template <typename Exception>
void Throw(const Exception& exception) {
  throw exception;
}

// gRPC's own allocation would abort. The size is more than any address space;
// AddressSanitizer itself ends a program that asks for it.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ACTORD_REFUSES_LARGE_ALLOCATIONS 1
#endif
#endif
TEST(OutOfMemoryDeathTest, AllocationsOfGrpcEndTheDaemonToo) {
#if defined(ACTORD_REFUSES_LARGE_ALLOCATIONS)
  GTEST_SKIP() << "AddressSanitizer refuses the allocation";
#endif
  const OutOfMemory out_of_memory(LogFormat::kJson, kStatus);
  constexpr size_t kTooMuch = size_t{1} << 62;
  const char* const line = R"("message":"out of memory: )";
  EXPECT_EXIT(gpr_malloc(kTooMuch), testing::ExitedWithCode(kStatus), line);
  EXPECT_EXIT(gpr_zalloc(kTooMuch), testing::ExitedWithCode(kStatus), line);
  EXPECT_EXIT(gpr_realloc(nullptr, kTooMuch), testing::ExitedWithCode(kStatus),
              line);
}

TEST(OutOfMemoryDeathTest, ExceptionThatNobodyCatchesEndsTheDaemonToo) {
  const OutOfMemory out_of_memory(LogFormat::kJson, kStatus);
  EXPECT_EXIT([]() noexcept { Throw(std::bad_alloc()); }(),
              testing::ExitedWithCode(kStatus), "out of memory: ");
  EXPECT_EXIT(
      []() noexcept {
        Throw(std::system_error(
            std::make_error_code(std::errc::resource_unavailable_try_again)));
      }(),
      testing::ExitedWithCode(kStatus), "out of memory or threads: ");
  EXPECT_EXIT(
      {
        const runtime::PluginScope scope(
            {.plugin = "orders", .function = "destroy"});
        []() noexcept { Throw(std::bad_alloc()); }();
      },
      testing::ExitedWithCode(kStatus), "out of memory: .* of a plugin");
  // Other exceptions abort, as without the object.
  EXPECT_EXIT([]() noexcept { Throw(1); }(), testing::KilledBySignal(SIGABRT),
              "");
}

TEST(OutOfMemory, PluginCodeGetsAnException) {
  const OutOfMemory out_of_memory(LogFormat::kConsole, kStatus);
  const runtime::PluginScope scope({.plugin = "orders", .function = "create"});
  EXPECT_THROW(RefuseMemory(), std::bad_alloc);
}

TEST(OutOfMemory, FormerHandlerComesBack) {
  const std::new_handler before = std::get_new_handler();
  { const OutOfMemory out_of_memory(LogFormat::kConsole, kStatus); }
  EXPECT_EQ(std::get_new_handler(), before);
}

}  // namespace
}  // namespace actord::daemon
