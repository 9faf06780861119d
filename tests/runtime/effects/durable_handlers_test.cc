// Commands of durable processes that handlers of plugins handle, over restarts.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "tests/runtime/durable/durable_fixture.h"

namespace actord::runtime {
namespace {

class DurableHandlers : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(world.Start().ok()); }
  // Waits for a handler on the pool.
  void WaitFor(const std::atomic<int>& calls, int count) {
    for (int i = 0; i < 1000 && calls < count; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_EQ(calls, count);
  }
  std::string WaitForNotesOf(const Pid& puppet) {
    std::string notes;
    for (int i = 0; i < 1000 && notes.empty(); ++i) {
      world.Settle();
      notes = world.NotesOf(puppet);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return notes;
  }

  DurableWorld world;
};

TEST_F(DurableHandlers, HandlerOfAPluginRunsWhenTheStepIsDurable) {
  std::atomic<int> calls = 0;
  world.core->AddCommand("bill", ACTORD_HANDLER_INLINE, [&](auto& call) {
    ++calls;
    call.Reply(ACTORD_OK, "billed");
    return ACTORD_HANDLED;
  });
  const Pid puppet = world.NewPuppet();
  EXPECT_TRUE(world.Send(puppet, "yield", "bill 7").status.ok());
  world.Turn();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(WaitForNotesOf(puppet), "c1=billed");
  EXPECT_EQ(calls, 1);
}

TEST_F(DurableHandlers, HandlerThatMayHaveRunIsNotCalledAgain) {
  std::atomic<int> calls = 0;
  const auto bill = [&](auto& call) {
    ++calls;
    static_cast<void>(call.Defer());
    return ACTORD_DEFERRED;
  };
  world.core->AddCommand("bill", ACTORD_HANDLER_POOLED, bill);
  const Pid puppet = world.NewPuppet();
  world.Tell(puppet, "yield", "bill 7");
  WaitFor(calls, 1);
  world.Crash(/*keep_cache=*/false);
  ASSERT_TRUE(world.Start().ok());
  world.core->AddCommand("bill", ACTORD_HANDLER_POOLED, bill);
  world.Settle();
  EXPECT_EQ(world.NotesOf(puppet), "c1!10");
  EXPECT_EQ(calls, 1);
}

TEST_F(DurableHandlers, HandlerThatIsIdempotentIsCalledAgain) {
  std::atomic<int> calls = 0;
  const auto bill = [&](auto& call) {
    if (++calls == 1) {
      static_cast<void>(call.Defer());
      return ACTORD_DEFERRED;
    }
    call.Reply(ACTORD_OK, "billed");
    return ACTORD_HANDLED;
  };
  world.core->AddCommand("bill", ACTORD_HANDLER_POOLED, bill,
                         ACTORD_HANDLER_FLAG_IDEMPOTENT);
  const Pid puppet = world.NewPuppet();
  world.Tell(puppet, "yield", "bill 7");
  WaitFor(calls, 1);
  world.Crash(/*keep_cache=*/false);
  ASSERT_TRUE(world.Start().ok());
  world.core->AddCommand("bill", ACTORD_HANDLER_POOLED, bill,
                         ACTORD_HANDLER_FLAG_IDEMPOTENT);
  EXPECT_EQ(WaitForNotesOf(puppet), "c1=billed");
  EXPECT_EQ(calls, 2);
}

TEST_F(DurableHandlers, HandlerThatIsPureAnswersWithinTheTurn) {
  std::atomic<int> calls = 0;
  world.core->AddCommand(
      "price", ACTORD_HANDLER_INLINE,
      [&](auto& call) {
        ++calls;
        call.Reply(ACTORD_OK, "9.99");
        return ACTORD_HANDLED;
      },
      ACTORD_HANDLER_FLAG_PURE);
  const Pid puppet = world.NewPuppet();
  EXPECT_TRUE(world.Send(puppet, "yield", "price 7").status.ok());
  world.Turn();
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(WaitForNotesOf(puppet), "c1=9.99");
  // The answer is in the store, so the handler is not asked again.
  world.Restart(/*keep_cache=*/false);
  EXPECT_EQ(world.NotesOf(puppet), "c1=9.99");
  EXPECT_EQ(calls, 1);
}

TEST_F(DurableHandlers, HandlerThatIsPureAndHasNotAnsweredIsCalledAgain) {
  std::atomic<int> calls = 0;
  const auto price = [&](auto& call) {
    if (++calls == 1) {
      static_cast<void>(call.Defer());
      return ACTORD_DEFERRED;
    }
    call.Reply(ACTORD_OK, "9.99");
    return ACTORD_HANDLED;
  };
  world.core->AddCommand("price", ACTORD_HANDLER_INLINE, price,
                         ACTORD_HANDLER_FLAG_PURE);
  const Pid puppet = world.NewPuppet();
  world.Tell(puppet, "yield", "price 7");
  EXPECT_EQ(calls, 1);
  world.Crash(/*keep_cache=*/false);
  ASSERT_TRUE(world.Start().ok());
  world.core->AddCommand("price", ACTORD_HANDLER_INLINE, price,
                         ACTORD_HANDLER_FLAG_PURE);
  EXPECT_EQ(WaitForNotesOf(puppet), "c1=9.99");
  EXPECT_EQ(calls, 2);
}

TEST_F(DurableHandlers, PureCommandThatIsHandledAgainKeepsItsDeadline) {
  std::atomic<int> calls = 0;
  const auto price = [&](auto& call) {
    ++calls;
    static_cast<void>(call.Defer());
    return ACTORD_DEFERRED;
  };
  world.core->AddCommand("price", ACTORD_HANDLER_INLINE, price,
                         ACTORD_HANDLER_FLAG_PURE);
  const Pid puppet = world.NewPuppet();
  world.Tell(puppet, "within", "1000 price 7");
  world.Elapse(400 * kMs);
  world.Crash(/*keep_cache=*/false);
  ASSERT_TRUE(world.Start().ok());
  world.core->AddCommand("price", ACTORD_HANDLER_INLINE, price,
                         ACTORD_HANDLER_FLAG_PURE);
  world.Settle();
  EXPECT_EQ(calls, 2);
  world.Elapse(400 * kMs);
  EXPECT_EQ(world.NotesOf(puppet), "");
  world.Elapse(300 * kMs);
  EXPECT_EQ(world.NotesOf(puppet), "c1!4");
}

}  // namespace
}  // namespace actord::runtime
