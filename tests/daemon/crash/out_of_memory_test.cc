#include "daemon/crash/out_of_memory.h"

#include <gtest/gtest.h>

#include <new>

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
