// Tests when a lease is lost or fails, and when its task is handed out again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/runtime/tasks/task_queue_fixture.h"

namespace actord::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using WorkAttempts = TaskQueueTest;

// --- lost workers
// -------------------------------------------------------------

TEST_F(WorkAttempts, TasksOfAWorkerThatClosesGoToAnotherAtOnce) {
  const auto lost = Open({"a"}, 10);
  Add(1);
  Add(2);
  EXPECT_EQ(TakeAll(lost).size(), 2u);
  const auto other = Open({"a"}, 10);
  EXPECT_EQ(Take(other), 0u);
  queue_.Close(lost, now_);
  EXPECT_THAT(queue_.TakeWoken(), ElementsAre(other));
  EXPECT_NE(Take(other, /*attempt=*/2), 0u);
  EXPECT_NE(Take(other, /*attempt=*/2), 0u);
  EXPECT_EQ(queue_.StateOf(TokenOf(1))->last_error, "its worker went away");
  queue_.Close(lost, now_);  // a second time
  EXPECT_EQ(queue_.workers(), 1u);
}

TEST_F(WorkAttempts, ALeaseWithoutASignOfLifeEnds) {
  const auto worker = Open({"quick.*"}, 10);
  Add(1, "quick.a");
  EXPECT_EQ(Take(worker, 1), 1u);
  AdvanceTo(10);
  EXPECT_TRUE(queue_.StateOf(TokenOf(1))->leased);
  AdvanceTo(11);
  EXPECT_FALSE(queue_.StateOf(TokenOf(1))->leased);
  EXPECT_THAT(queue_.TakeWoken(), ElementsAre(worker));
  EXPECT_THAT(Cancelled(worker), ElementsAre(1));
  // It gets nothing, not even this, until it is heard.
  EXPECT_EQ(Take(worker), 0u);
  EXPECT_FALSE(queue_.Heartbeat(TokenOf(1), now_));
  queue_.Heard(worker);
  EXPECT_THAT(queue_.TakeWoken(), ElementsAre(worker));
  EXPECT_EQ(Take(worker, 2), 1u);
}

TEST_F(WorkAttempts, HeartbeatsKeepATaskUntilTheAttemptsTimeIsOver) {
  const auto worker = Open({"quick.*"}, 10);
  Add(1, "quick.a");
  EXPECT_EQ(Take(worker, 1), 1u);
  for (const uint64_t second : {9, 17, 25}) {
    AdvanceTo(second);
    EXPECT_TRUE(queue_.Heartbeat(TokenOf(1), now_)) << second;
  }
  AdvanceTo(26);
  EXPECT_FALSE(queue_.Heartbeat(TokenOf(1), now_));
  EXPECT_THAT(Cancelled(worker), ElementsAre(1));
  EXPECT_THAT(std::string(queue_.StateOf(TokenOf(1))->last_error),
              HasSubstr("longer than 25s"));
  // It was alive, so it may have another go.
  EXPECT_EQ(Take(worker, 2), 1u);
}

// --- failures
// -----------------------------------------------------------------

TEST_F(WorkAttempts, FailedAttemptsPauseLongerAndLonger) {
  const auto worker = Open({"quick.*"}, 10);
  Add(1, "quick.a");
  EXPECT_EQ(Take(worker, 1), 1u);
  EXPECT_TRUE(Fail(1));
  EXPECT_FALSE(Fail(1)) << "the attempt is over";
  EXPECT_EQ(Take(worker), 0u);
  AdvanceTo(2);
  EXPECT_THAT(queue_.TakeWoken(), ElementsAre(worker));
  EXPECT_EQ(Take(worker, 2), 1u);
  EXPECT_TRUE(Fail(1));
  AdvanceTo(3);
  EXPECT_EQ(Take(worker), 0u);
  AdvanceTo(4);
  EXPECT_EQ(Take(worker, 3), 1u);
}

TEST_F(WorkAttempts, AWorkerMayChooseThePause) {
  const auto worker = Open({"quick.*"}, 10);
  Add(1, "quick.a");
  EXPECT_EQ(Take(worker, 1), 1u);
  EXPECT_TRUE(queue_.Fail(
      TokenOf(1), {absl::StatusCode::kAborted, "x", absl::Seconds(50)}, now_));
  AdvanceTo(50);
  EXPECT_EQ(Take(worker), 0u);
  AdvanceTo(51);
  EXPECT_EQ(Take(worker, 2), 1u);
  EXPECT_TRUE(queue_.Fail(
      TokenOf(1), {absl::StatusCode::kAborted, "x", absl::ZeroDuration()},
      now_));
  EXPECT_EQ(Take(worker, 3), 1u);
}

TEST_F(WorkAttempts, AttemptsThatRunOutEndTheYieldWithTheLastError) {
  for (const char* last : {"failed", "lease", "closed"}) {
    const auto worker = Open({"quick.*"}, 10);
    Add(1, "quick.a");
    for (uint32_t attempt = 1; attempt <= 2; ++attempt) {
      EXPECT_EQ(Take(worker, attempt), 1u);
      EXPECT_TRUE(Fail(1));
      EXPECT_THAT(queue_.TakeEndings(), IsEmpty());
      AdvanceTo(now_ / kSecond + 2);
    }
    EXPECT_EQ(Take(worker, 3), 1u);
    if (std::string(last) == "failed") {
      EXPECT_TRUE(Fail(1));
    } else if (std::string(last) == "lease") {
      AdvanceTo(now_ / kSecond + 10);
    } else {
      queue_.Close(worker, now_);
    }
    const auto endings = queue_.TakeEndings();
    ASSERT_EQ(endings.size(), 1u) << last;
    EXPECT_EQ(endings[0].token, TokenOf(1));
    const std::map<std::string, std::pair<absl::StatusCode, std::string>> want =
        {{"failed", {absl::StatusCode::kAborted, "no paper"}},
         {"lease",
          {absl::StatusCode::kDeadlineExceeded,
           "its worker gave no sign of life for 10s"}},
         {"closed", {absl::StatusCode::kUnavailable, "its worker went away"}}};
    EXPECT_EQ(endings[0].code, want.at(last).first);
    EXPECT_EQ(endings[0].text,
              "quick.a failed after 3 attempts: " + want.at(last).second);
    queue_.Remove(TokenOf(1), 0);
    queue_.Close(worker, now_);
    EXPECT_EQ(queue_.NextDue(), TaskQueue::kNever);
  }
}

TEST_F(WorkAttempts, ATaskMayHaveAPolicyOfItsOwn) {
  WorkPolicy own{.pattern = "", .max_attempts = 2};
  own.lease = absl::Seconds(3);
  own.start_timeout = absl::Seconds(500);
  own.backoff = absl::Seconds(7);
  queue_.Add(TokenOf(1), "quick.a", now_, std::make_unique<WorkPolicy>(own));
  Add(2, "quick.a");
  AdvanceTo(101);  // too long for the other one
  ASSERT_EQ(queue_.TakeEndings().size(), 1u);
  const auto worker = Open({"quick.*"}, 10);
  EXPECT_EQ(Take(worker, 1), 1u);
  AdvanceTo(103);
  EXPECT_TRUE(queue_.Heartbeat(TokenOf(1), now_));
  AdvanceTo(105);
  EXPECT_TRUE(Fail(1));
  queue_.Tick((112 * kSecond) - 1);
  EXPECT_EQ(Take(worker), 0u);
  AdvanceTo(112);
  EXPECT_EQ(Take(worker, 2), 1u);
  AdvanceTo(115);
  const auto endings = queue_.TakeEndings();
  ASSERT_EQ(endings.size(), 1u);
  EXPECT_THAT(endings[0].text, HasSubstr("after 2 attempts"));
  EXPECT_THAT(endings[0].text, HasSubstr("no sign of life for 3s"));
}

TEST_F(WorkAttempts, ATaskThatNobodyTakesEndsTheYield) {
  Add(1, "quick.a");
  AdvanceTo(100);
  EXPECT_THAT(queue_.TakeEndings(), IsEmpty());
  AdvanceTo(101);
  const auto endings = queue_.TakeEndings();
  ASSERT_EQ(endings.size(), 1u);
  EXPECT_EQ(endings[0].code, absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(endings[0].text, "no worker took quick.a within 1m40s");
}

TEST_F(WorkAttempts, LongErrorsAreCutBetweenCharacters) {
  const auto worker = Open({"quick.*"}, 10);
  Add(1, "quick.a");
  EXPECT_EQ(Take(worker, 1), 1u);
  std::string text(RemoteTasks::kMaxErrorBytes - 1, 'x');
  EXPECT_TRUE(queue_.Fail(
      TokenOf(1), {absl::StatusCode::kAborted, text + "\u00e4", std::nullopt},
      now_));
  EXPECT_EQ(queue_.StateOf(TokenOf(1))->last_error, text);
}

// --- yields that end
// ----------------------------------------------------------

TEST_F(WorkAttempts, AYieldThatEndsIsTakenBackFromItsWorker) {
  const auto worker = Open({"a"}, 1);
  Add(1);
  Add(2);
  EXPECT_EQ(Take(worker), 1u);
  queue_.Remove(TokenOf(1), 0);
  queue_.Remove(TokenOf(2), 0);
  queue_.Remove(TokenOf(2), 0);
  EXPECT_THAT(queue_.TakeWoken(), ElementsAre(worker));
  EXPECT_THAT(Cancelled(worker), ElementsAre(1));
  EXPECT_TRUE(queue_.AddCredits(worker, 1));
  EXPECT_EQ(Take(worker), 0u);
  EXPECT_EQ(queue_.leased(), 0u);
}

TEST_F(WorkAttempts, ItsOwnAnswerIsNoCancel) {
  const auto worker = Open({"a"}, 1);
  Add(1);
  EXPECT_EQ(Take(worker), 1u);
  queue_.Remove(TokenOf(1), /*answered_by=*/1);
  EXPECT_THAT(Cancelled(worker), IsEmpty());
}

// --- size
// ---------------------------------------------------------------------

// Random operations beside a plain account of what may be where.
TEST_F(WorkAttempts, NothingIsLostOrHandedOutTwiceUnderRandomOperations) {
  uint64_t random = 42;
  const auto draw = [&random](uint64_t below) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    return (random >> 33) % below;
  };
  std::map<uint64_t, RemoteWorkerId> held;  // by tag; 0: nobody
  std::vector<RemoteWorkerId> workers;
  uint64_t next_tag = 1;
  const char* const commands[] = {"quick.a", "quick.b", "other", "p.x"};
  const std::vector<std::vector<std::string>> patterns = {
      {"*"}, {"quick.*", "other"}, {"p.*"}, {"quick.b"}};
  const auto taken_back = [&] {
    for (const RemoteWorkerId id : workers) {
      for (const uint64_t tag : Cancelled(id)) {
        if (held.count(tag) != 0 && held[tag] == id) held[tag] = 0;
      }
    }
    for (const auto& ending : queue_.TakeEndings()) {
      queue_.Remove(ending.token, 0);
      held.erase(ending.token.tag);
    }
  };
  for (int i = 0; i < 50'000; ++i) {
    const uint64_t what = draw(100);
    if (what < 35) {
      Add(next_tag, commands[draw(4)], /*process=*/1);
      held[next_tag++] = 0;
    } else if (what < 70 && !workers.empty()) {
      const auto id = workers[draw(workers.size())];
      if (const uint64_t tag = Take(id)) {
        ASSERT_EQ(held.at(tag), 0u) << "handed out twice";
        held[tag] = id;
      }
    } else if (what < 85 && !held.empty()) {
      const auto it = held.lower_bound(draw(next_tag));
      if (it == held.end()) continue;
      const auto [tag, holder] = *it;
      const auto state = queue_.StateOf(TokenOf(tag));
      ASSERT_TRUE(state);
      ASSERT_EQ(state->leased, holder != 0) << tag;
      if (holder != 0 && draw(2) == 0) {
        ASSERT_TRUE(Fail(tag));
        it->second = 0;
      } else {
        queue_.Remove(TokenOf(tag), holder != 0 ? state->attempts : 0);
        held.erase(it);
      }
    } else if (what < 90) {
      AdvanceTo(now_ / kSecond + draw(4));
    } else if (what < 94 && workers.size() < 6) {
      workers.push_back(Open(patterns[draw(4)], 20));
    } else if (what < 96 && !workers.empty()) {
      const size_t at = draw(workers.size());
      for (auto& [tag, holder] : held) {
        if (holder == workers[at]) holder = 0;
      }
      queue_.Close(workers[at], now_);
      workers.erase(workers.begin() + static_cast<std::ptrdiff_t>(at));
    } else if (!workers.empty()) {
      const auto id = workers[draw(workers.size())];
      queue_.Heard(id);
      if (!queue_.AddCredits(id, static_cast<uint32_t>(draw(10)))) continue;
    }
    taken_back();
  }
  // Some worker can get every waiting task.
  const auto all = Open({"*"}, 0);
  AdvanceTo(now_ / kSecond + 100);
  taken_back();
  while (queue_.AddCredits(all, 1)) {
    const uint64_t tag = Take(all);
    if (tag == 0) break;
    ASSERT_EQ(held.at(tag), 0u);
    queue_.Remove(TokenOf(tag), 0);
    held.erase(tag);
  }
  for (const auto& [tag, holder] : held) EXPECT_NE(holder, 0u) << tag;
}

}  // namespace
}  // namespace actord::runtime
