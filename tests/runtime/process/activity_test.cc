#include "runtime/process/activity.h"

#include <gtest/gtest.h>

#include <atomic>

#include "runtime/settings/options.h"

namespace actord::runtime {
namespace {

constexpr uint64_t kMessage = Activity::ForMessages(1, 2);

TEST(Activity, RunnableIsAFunctionOfTheWord) {
  struct Case {
    const char* what;
    uint64_t word;
    bool runnable;
  };
  const Case cases[] = {
      {"idle", 0, false},
      {"idle with a message", kMessage, true},
      {"idle with a completion", Activity::kUrgentOne, true},
      {"ready", Activity::kReady, true},
      {"blocked", Activity::kBlocked, false},
      {"blocked with messages", Activity::kBlocked + 5 * kMessage, false},
      {"blocked with a completion", Activity::kBlocked + Activity::kUrgentOne,
       true},
      {"blocked, but with events in hand",
       Activity::kBlocked | Activity::kReady, true},
      {"ended", Activity::kEnded, false},
      {"ended with a message", Activity::kEnded + kMessage, false},
      {"ended with a completion", Activity::kEnded + Activity::kUrgentOne,
       false},
      {"ended and ready", Activity::kEnded | Activity::kReady, false},
      {"buffers alone", Activity::ForMessages(0, 7), false},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(Activity::Runnable(c.word), c.runnable) << c.what;
  }
}

TEST(Activity, OnlyTheAddThatMakesItRunnableEnqueues) {
  std::atomic<uint64_t> word{0};
  EXPECT_TRUE(Activity::Add(word, kMessage));
  EXPECT_FALSE(Activity::Add(word, kMessage));
  EXPECT_FALSE(Activity::Add(word, Activity::kUrgentOne));
  EXPECT_EQ(Activity::Messages(word), 2u);
  EXPECT_EQ(Activity::Urgent(word), 1u);
  EXPECT_EQ(Activity::Units(word), 4u);

  word = Activity::kBlocked;
  EXPECT_FALSE(Activity::Add(word, kMessage));
  EXPECT_FALSE(Activity::Add(word, kMessage));
  EXPECT_TRUE(Activity::Add(word, Activity::kUrgentOne));
  EXPECT_FALSE(Activity::Add(word, Activity::kUrgentOne));

  word = Activity::kEnded;
  EXPECT_FALSE(Activity::Add(word, kMessage));
  EXPECT_FALSE(Activity::Add(word, Activity::kUrgentOne));
  // Admission: `ended` goes, `ready` comes; what arrived before is kept.
  EXPECT_TRUE(Activity::Add(word, Activity::kReady - Activity::kEnded));
  EXPECT_EQ(word & (Activity::kEnded | Activity::kReady), Activity::kReady);
  EXPECT_EQ(Activity::Messages(word), 1u);
  EXPECT_EQ(Activity::Urgent(word), 1u);
}

TEST(Activity, FieldsDoNotRunIntoEachOtherAtTheirLimits) {
  // Cancels up to their limit, and every yield that a process may have
  // outstanding completed on top, and one of each thread in between.
  constexpr uint64_t kMaxYields = 16'000;
  constexpr uint64_t kThreads = 1024 + 256;
  EXPECT_LE(Activity::kUrgentMax + kMaxYields + kThreads,
            Activity::kUrgentMask);
  RuntimeOptions options;
  options.max_yields = kMaxYields;
  EXPECT_TRUE(ValidateOptions(options).ok());
  options.max_yields = kMaxYields + 1;
  EXPECT_FALSE(ValidateOptions(options).ok());

  // Messages: the limit that options allow, as many exits as there may be
  // watches, and some racing senders.
  constexpr uint64_t kMaxMessages = 900'000;
  EXPECT_LE(kMaxMessages + Activity::kExitsMax + 10'000,
            Activity::kMessagesMask);
  options = {};
  options.max_mailbox_messages = kMaxMessages;
  EXPECT_TRUE(ValidateOptions(options).ok());
  options.max_mailbox_messages = kMaxMessages + 1;
  EXPECT_FALSE(ValidateOptions(options).ok());

  // Bytes: 1 GiB in units, and messages of 64 MiB of racing senders.
  constexpr uint64_t kMaxUnits = (uint64_t{1} << 30) / 64;
  constexpr uint64_t kLargest = (uint64_t{64} << 20) / 64;
  std::atomic<uint64_t> word{0};
  Activity::Add(word, Activity::ForMessages(0, kMaxUnits + 15 * kLargest));
  EXPECT_EQ(Activity::Units(word), kMaxUnits + 15 * kLargest);
  options = {};
  options.max_mailbox_bytes = size_t{1} << 30;
  options.max_payload_bytes = size_t{64} << 20;
  EXPECT_TRUE(ValidateOptions(options).ok());
  options.max_mailbox_bytes += 1;
  EXPECT_FALSE(ValidateOptions(options).ok());
}

}  // namespace
}  // namespace actord::runtime
