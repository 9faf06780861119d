#include "daemon/crash/out_of_memory.h"

#include <grpc/event_engine/memory_allocator.h>
#include <grpc/slice.h>
#include <grpc/support/alloc.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
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
  EXPECT_EXIT(RefuseMemory(), ::testing::ExitedWithCode(kStatus),
              R"("level":"fatal","message":"out of memory: )");
}

// Clang refuses a `throw` in the text of a noexcept function.
template <typename Exception>
void Throw(const Exception& exception) {
  throw exception;
}

// gRPC's own functions would abort, or use a null pointer. The sizes are more
// than any address space has.
class AllocationsOfGrpcDeathTest : public ::testing::Test {
 protected:
  static constexpr size_t kTooMuch = size_t{1} << 62;
  static constexpr const char* kLine = R"("message":"out of memory: )";

  // The child is a new program, so that AddressSanitizer reads its options
  // again: it is to refuse an allocation as the system does.
  AllocationsOfGrpcDeathTest() {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    setenv("ASAN_OPTIONS", "allocator_may_return_null=1", 1);
  }

  const OutOfMemory out_of_memory_{LogFormat::kJson, kStatus};
};

TEST_F(AllocationsOfGrpcDeathTest, EndTheDaemon) {
  EXPECT_EXIT(gpr_malloc(kTooMuch), ::testing::ExitedWithCode(kStatus), kLine);
  EXPECT_EXIT(gpr_zalloc(kTooMuch), ::testing::ExitedWithCode(kStatus), kLine);
  EXPECT_EXIT(gpr_realloc(nullptr, kTooMuch),
              ::testing::ExitedWithCode(kStatus), kLine);
}

// The account of gRPC's memory, which grants everything.
class Account
    : public grpc_event_engine::experimental::internal::MemoryAllocatorImpl {
 public:
  explicit Account(size_t& reserved) : reserved_(reserved) {}

  size_t Reserve(
      grpc_event_engine::experimental::MemoryRequest request) override {
    reserved_ += request.max();
    return request.max();
  }
  void Release(size_t size) override { reserved_ -= size; }
  void Shutdown() override {}

 private:
  size_t& reserved_;
};

TEST_F(AllocationsOfGrpcDeathTest, SlicesEndTheDaemon) {
  size_t reserved = 0;
  grpc_event_engine::experimental::MemoryAllocator allocator(
      std::make_shared<Account>(reserved));
  EXPECT_EXIT(allocator.MakeSlice(kTooMuch), ::testing::ExitedWithCode(kStatus),
              kLine);
}

TEST(AllocationsOfGrpc, SliceReturnsItsMemoryWithItsLastReference) {
  size_t reserved = 0;
  grpc_slice rest;
  {
    grpc_event_engine::experimental::MemoryAllocator allocator(
        std::make_shared<Account>(reserved));
    grpc_slice slice = allocator.MakeSlice({100, 8192});
    EXPECT_GE(GRPC_SLICE_LENGTH(slice), 8192u);
    EXPECT_GT(reserved, GRPC_SLICE_LENGTH(slice));
    std::memset(GRPC_SLICE_START_PTR(slice), 'x', GRPC_SLICE_LENGTH(slice));
    rest = grpc_slice_split_tail(&slice, 100);
    grpc_slice_unref(slice);
  }
  EXPECT_GT(reserved, 0u) << "the rest holds it";
  EXPECT_EQ(GRPC_SLICE_START_PTR(rest)[8000], 'x');
  grpc_slice_unref(rest);
  EXPECT_EQ(reserved, 0u);
}

TEST(OutOfMemoryDeathTest, ExceptionThatNobodyCatchesEndsTheDaemonToo) {
  const OutOfMemory out_of_memory(LogFormat::kJson, kStatus);
  EXPECT_EXIT([]() noexcept { Throw(std::bad_alloc()); }(),
              ::testing::ExitedWithCode(kStatus), "out of memory: ");
  EXPECT_EXIT(
      []() noexcept {
        Throw(std::system_error(
            std::make_error_code(std::errc::resource_unavailable_try_again)));
      }(),
      ::testing::ExitedWithCode(kStatus), "out of memory or threads: ");
  EXPECT_EXIT(
      {
        const runtime::PluginScope scope(
            {.plugin = "orders", .function = "destroy"});
        []() noexcept { Throw(std::bad_alloc()); }();
      },
      ::testing::ExitedWithCode(kStatus), "out of memory: .* of a plugin");
  // Other exceptions abort, as without the object.
  EXPECT_EXIT([]() noexcept { Throw(1); }(), ::testing::KilledBySignal(SIGABRT),
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
