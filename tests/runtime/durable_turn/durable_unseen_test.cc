// Durable processes that hand on more messages than a step can get.
#include <actord/coroutine.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "tests/runtime/durable/durable_fixture.h"

namespace actord::runtime {
namespace {

// Waits for "go", so that its items queue up, and begins again. Then takes the
// items, which must come in their order, and answers how many came. A "late" of
// a volatile process comes behind them.
class Hoard : public actord::CoroutineProcess {
 public:
  static constexpr const char* kName = "hoard";
  static constexpr actord::Method kMethods[] = {{"run", nullptr}};
  static constexpr actord::Durability kDurability = actord::Durability::kReplay;

  static inline bool refuses = false;

  actord::Status Init(std::string_view /*method*/, actord::Payload input) {
    if (!refuses || input.bytes.empty()) return {};
    return {actord::Code::kOutOfRange, "not again"};
  }
  actord::Task<> Main(actord::Context& ctx, actord::OwnedPayload input) {
    if (input.empty()) {
      const actord::Message go = co_await ctx.Receive("go");
      co_return ctx.ContinueAs(go.payload().bytes == "twice" ? "twice"
                                                             : "again");
    }
    if (input.bytes == "twice") co_return ctx.ContinueAs("again");
    std::string text;
    uint64_t next = 0;
    for (;;) {
      const actord::Message message = co_await ctx.Receive();
      if (message.call() != 0) {
        ctx.Reply(message, std::to_string(next) + text);
      } else if (message.topic() == "late") {
        text += " late";
      } else if (std::to_string(next++) != message.payload().bytes) {
        text += " not " + std::string(message.payload().bytes);
      }
    }
  }
};

constexpr int kItems = 1'000;

Pid StartHoard(DurableWorld& world) {
  world.more_types = {&actord::kProcessType<Hoard>};
  EXPECT_EQ(world.Start(), absl::OkStatus());
  const auto told = world.Submit("", "", true, "hoard");
  world.Settle();
  EXPECT_TRUE(told->has_value() && (*told)->ok());
  return told->has_value() && (*told)->ok() ? ***told : Pid{};
}

TEST(DurableUnseen, EachMessageThatIsHandedOnActsOnceWhereverTheProgramEnds) {
  for (int turns = 0; turns <= 12; ++turns) {
    SCOPED_TRACE(turns);
    DurableWorld world(1 + static_cast<uint64_t>(turns));
    const Pid hoard = StartHoard(world);
    for (int i = 0; i < kItems; ++i) {
      ASSERT_TRUE(world.Send(hoard, "item", std::to_string(i)).status.ok());
    }
    world.Settle();
    world.Send(hoard, "go", "");
    world.Send(hoard, "item", std::to_string(kItems));
    world.Turns(turns);
    while (world.store->Work()) {
    }
    world.Restart(/*keep_cache=*/false);
    EXPECT_EQ(world.BalanceOf(hoard), std::to_string(kItems + 1));
    // The replay of the same steps gets the same events.
    world.Restart(/*keep_cache=*/true);
    EXPECT_EQ(world.BalanceOf(hoard), std::to_string(kItems + 1));
  }
}

// Wherever the program ends: between the last step of a life and the next Init,
// or between the record of the end and its release.
TEST(DurableUnseen, UnseenMessageIsADeadLetterIfInitRefuses) {
  const absl::Cleanup again = [] { Hoard::refuses = false; };
  constexpr int kLetters = 400;
  constexpr int kAll = 12;
  for (const int turns : {0, 1, 2, 3, 4, 5, 6, kAll}) {
    SCOPED_TRACE(turns);
    Hoard::refuses = false;
    DurableWorld world(1 + static_cast<uint64_t>(turns));
    const Pid hoard = StartHoard(world);
    for (int i = 0; i < kLetters; ++i) {
      ASSERT_TRUE(world.Send(hoard, "item", std::to_string(i)).status.ok());
    }
    world.Settle();
    Hoard::refuses = true;
    world.Send(hoard, "go", "");
    world.Turns(turns);
    while (world.store->Work()) {
    }
    if (turns == kAll) world.Settle();
    for (const bool keep_cache : {false, true, false}) {
      world.Restart(keep_cache);
      world.Settle();
      const auto page = world.runtime().dead_letters.List(
          {.page_size = 1000, .max_payload_bytes = 9});
      ASSERT_EQ(page.letters.size(), static_cast<size_t>(kLetters));
      for (int i = 0; i < kLetters; ++i) {
        EXPECT_EQ(page.letters[i].message.payload.bytes, std::to_string(i));
        EXPECT_EQ(page.letters[i].to, hoard);
        EXPECT_EQ(page.letters[i].reason, DeadLetterReason::kDroppedAtEnd);
      }
    }
  }
}

// The first step of the second life gets only some of the messages, and hands
// them on once more.
TEST(DurableUnseen, UnseenMessagesAreHandedOnTwice) {
  for (int turns = 0; turns <= 5; ++turns) {
    SCOPED_TRACE(turns);
    DurableWorld world(1 + static_cast<uint64_t>(turns));
    const Pid hoard = StartHoard(world);
    for (int i = 0; i < kItems; ++i) {
      ASSERT_TRUE(world.Send(hoard, "item", std::to_string(i)).status.ok());
    }
    world.Settle();
    world.Send(hoard, "go", "twice");
    world.Turns(turns);
    while (world.store->Work()) {
    }
    world.Restart(/*keep_cache=*/false);
    EXPECT_EQ(world.BalanceOf(hoard), std::to_string(kItems));
    world.Restart(/*keep_cache=*/true);
    EXPECT_EQ(world.BalanceOf(hoard), std::to_string(kItems));
  }
}

// A terminate ends a life whose first steps have got some of them.
TEST(DurableUnseen, UnseenRestIsADeadLetterAfterATerminate) {
  size_t most = 0;
  for (int turns = 0; turns <= 12; ++turns) {
    SCOPED_TRACE(turns);
    DurableWorld world(1 + static_cast<uint64_t>(turns));
    const Pid hoard = StartHoard(world);
    for (int i = 0; i < kItems; ++i) {
      ASSERT_TRUE(world.Send(hoard, "item", std::to_string(i)).status.ok());
    }
    world.Settle();
    world.Send(hoard, "go", turns % 2 == 0 ? "twice" : "");
    world.Turns(turns / 2);
    ASSERT_TRUE(world.runtime()
                    .Control(Owner::kAny, hoard, kEventTerminate, "now")
                    .status.ok());
    world.Turns(1);
    while (world.store->Work()) {
    }
    const auto list = [&world] {
      return world.runtime()
          .dead_letters.List({.page_size = 10'000, .max_payload_bytes = 9})
          .letters;
    };
    world.Restart(/*keep_cache=*/false);
    const std::vector<DeadLetter> letters = list();
    // "go" waits if no step has got it; then the first life has all the items.
    int next = kItems;
    for (size_t i = letters.size(); i-- > 0;) {
      if (letters[i].message.topic == "go") continue;
      EXPECT_EQ(letters[i].message.payload.bytes, std::to_string(--next));
    }
    most = std::max(most, letters.size());
    world.Restart(/*keep_cache=*/true);
    EXPECT_EQ(list().size(), letters.size());
  }
  EXPECT_GT(most, static_cast<size_t>(kItems / 2)) << "after its first step";
}

TEST(DurableUnseen, MessagesOfVolatileSendersComeBehindUnseenOnes) {
  DurableWorld world;
  const Pid hoard = StartHoard(world);
  const Pid sender = world.NewPuppet("volatile", /*durable=*/false);
  for (int i = 0; i < kItems; ++i) world.Send(hoard, "item", std::to_string(i));
  world.Settle();
  world.Send(hoard, "go", "");
  world.Turn();
  world.Send(sender, "send", FormatPid(hoard) + " late x");
  world.Settle();
  EXPECT_EQ(world.BalanceOf(hoard), std::to_string(kItems) + " late");
  world.Restart(/*keep_cache=*/false);
  EXPECT_EQ(world.BalanceOf(hoard), std::to_string(kItems) + " late");
}

// A restart puts the messages of the mailbox behind the handed-on messages.
TEST(DurableUnseen, LoggedMessagesComeBehindUnseenOnesAfterARestart) {
  for (int turns = 1; turns <= 4; ++turns) {
    SCOPED_TRACE(turns);
    DurableWorld world(1 + static_cast<uint64_t>(turns));
    const Pid hoard = StartHoard(world);
    for (int i = 0; i < kItems; ++i) {
      world.Send(hoard, "item", std::to_string(i));
    }
    world.Settle();
    world.Send(hoard, "go", "");
    world.Turns(turns);
    world.Send(hoard, "item", std::to_string(kItems));
    while (world.store->Work()) {
    }
    world.Restart(/*keep_cache=*/false);
    EXPECT_EQ(world.BalanceOf(hoard), std::to_string(kItems + 1));
  }
}

TEST(DurableUnseen, ProcessEndsIfUnseenMessagesDoNotFitIntoARecord) {
  DurableWorld world;
  const Pid hoard = StartHoard(world);
  // The fixture's records have 256 KiB.
  for (int i = 0; i < 400; ++i) {
    world.Send(hoard, "item", std::string(1'000, 'x'));
    if (i % 100 == 99) world.Settle();
  }
  const auto outcome = world.Await(hoard);
  world.Tell(hoard, "go");
  ASSERT_TRUE(outcome->has_value() && (*outcome)->ok());
  EXPECT_EQ((**outcome)->code, absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace actord::runtime
