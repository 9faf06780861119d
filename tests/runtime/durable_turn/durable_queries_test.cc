// Queries of durable processes: steps that only answer calls have no record.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>

#include "tests/runtime/durable/durable_fixture.h"

namespace actord::runtime {
namespace {

class DurableQueries : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(world_.Start(), absl::OkStatus());
    pid_ = world_.NewAccount(5);
    world_.Settle();
  }
  void CrashAndStart(uint64_t seed = 0) {
    world_.Crash(/*keep_cache=*/false);
    RuntimeOptions options;
    options.seed = seed;
    ASSERT_EQ(world_.Start(options), absl::OkStatus());
  }
  uint64_t Tail() { return world_.store->journal().Tail(); }
  // Whether the step that answers a call writes a record.
  bool Writes(const std::string& topic, const std::string& text = "") {
    const uint64_t before = Tail();
    // A call without an answer ends with the world.
    const auto is_answered = std::make_shared<bool>(false);
    world_.runtime().calls.Begin(
        Owner::kAny, pid_, {topic, {text, ""}},
        [is_answered, this](const absl::StatusOr<Payload>& got) {
          *is_answered = true;
          if (got.ok()) answer_ = got->bytes;
        });
    world_.Settle();
    EXPECT_TRUE(*is_answered || topic == "pay") << topic;
    return Tail() != before;
  }
  uint64_t Steps() {
    return world_.runtime().Describe(pid_, Owner::kAny)->steps;
  }

  DurableWorld world_;
  Pid pid_;
  std::string answer_;  // the last one
};

TEST_F(DurableQueries, WriteNothing) {
  for (int i = 0; i < 100; ++i) ASSERT_FALSE(Writes("get")) << i;
  EXPECT_FALSE(Writes("refuse")) << "an answer with an error is one, too";
  CrashAndStart();
  EXPECT_EQ(world_.BalanceOf(pid_), "5");
}

TEST_F(DurableQueries, StepsThatChangeTheStateAreKept) {
  for (int i = 1; i <= 200; ++i) {
    ASSERT_TRUE(Writes("add", "1")) << i;
    if (i % 3 == 0) Writes("get");
  }
  CrashAndStart();
  EXPECT_EQ(world_.BalanceOf(pid_), "205");
}

TEST_F(DurableQueries, ManyChangesPutTheExaminationOff) {
  for (int i = 0; i < 200; ++i) Writes("add", "1");
  int written = 0;
  for (int i = 0; i < 200; ++i) written += Writes("get") ? 1 : 0;
  EXPECT_GT(written, 0);
  EXPECT_LE(written, 64);
}

TEST_F(DurableQueries, RecordsAfterThemHaveTheNextNumber) {
  const uint64_t steps = Steps();
  for (int i = 0; i < 10; ++i) Writes("get");
  EXPECT_EQ(Steps(), steps + 10) << "an operator sees that the process works";
  EXPECT_TRUE(Writes("add", "1"));
  EXPECT_EQ(Steps(), steps + 11);
  CrashAndStart();
  EXPECT_EQ(Steps(), steps + 1);
  EXPECT_EQ(world_.BalanceOf(pid_), "6");
  EXPECT_EQ(Steps(), steps + 2) << "the question after the start has a record";
}

TEST_F(DurableQueries, OutcomeHasTheStepsOfTheStore) {
  for (int i = 0; i < 10; ++i) Writes("get");
  world_.Send(pid_, "end", "");
  world_.Settle();
  const auto before = world_.Await(pid_);
  world_.Settle();
  ASSERT_TRUE(before->has_value() && (*before)->ok());
  CrashAndStart();
  const auto after = world_.Await(pid_);
  world_.Settle();
  ASSERT_TRUE(after->has_value() && (*after)->ok());
  EXPECT_EQ((**before)->steps, (**after)->steps);
  EXPECT_EQ((**after)->steps, 2u) << "the first and the last";
}

TEST_F(DurableQueries, MessageBesideTheCallIsKept) {
  const uint64_t before = Tail();
  EXPECT_NE(world_.Send(pid_, "set", "5").position, 0u);
  EXPECT_EQ(world_.BalanceOf(pid_), "5") << "the same state as before";
  EXPECT_GT(Tail(), before + 1) << "the message is consumed by a record";
  CrashAndStart();
  EXPECT_EQ(world_.BalanceOf(pid_), "5");
}

TEST_F(DurableQueries, AnswersRestOnDurableRecords) {
  EXPECT_NE(world_.Send(pid_, "add", "2").position, 0u);
  world_.Turn();  // the step of the message, whose record is not on the disk
  const auto answer = world_.Ask(pid_);
  world_.Turn();
  EXPECT_FALSE(answer->has_value()) << "it shows what a crash would undo";
  world_.Settle();
  ASSERT_TRUE(answer->has_value());
  EXPECT_EQ(**answer, "7");
}

// The seed of random bits is the number of the step, and a sleep or a crash
// takes the numbers of queries back.
TEST_F(DurableQueries, RandomBitsDoNotComeAgain) {
  std::set<std::string> drawn;
  const auto draw = [&] {
    EXPECT_TRUE(Writes("draw")) << "the next step must have another number";
    EXPECT_TRUE(drawn.insert(answer_).second) << answer_;
  };
  CrashAndStart(/*seed=*/7);
  for (int i = 0; i < 3; ++i) {
    draw();
    Writes("get");
  }
  CrashAndStart(/*seed=*/7);
  for (int i = 0; i < 10; ++i) draw();
}

TEST_F(DurableQueries, EffectsAreKept) {
  const Pid other = world_.NewAccount(0);
  const uint64_t before = Tail();
  EXPECT_TRUE(Writes("pay", FormatPid(other) + " 0"))
      << "the state is the same, and a message goes out";
  EXPECT_GT(Tail(), before);
}

}  // namespace
}  // namespace actord::runtime
