// The outcomes of durable processes that only the store keeps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

#include "runtime/process/errors.h"
#include "runtime/store/state_keys.h"
#include "tests/runtime/durable/durable_fixture.h"

namespace actord::runtime {
namespace {

using ::testing::HasSubstr;

class DurableResults : public ::testing::Test {
 protected:
  // Results are in memory for a second.
  void StartWith(uint64_t result_max_bytes = 1 << 20) {
    options_.result_ttl = absl::Seconds(1);
    options_.result_max_bytes = result_max_bytes;
    ASSERT_EQ(world_.Start(options_), absl::OkStatus());
  }
  void Restart() {
    world_.Crash(/*keep_cache=*/false);
    ASSERT_EQ(world_.Start(options_), absl::OkStatus());
  }
  Pid Ended(std::string balance, Owner owner = Owner::kNobody,
            bool durable = true, const std::string& topic = "end") {
    SubmitRequest request{"account", "", {std::move(balance), ""}, {}};
    request.owner = owner;
    request.durable = durable;
    Pid pid;
    world_.runtime().admission.Submit(
        request, Pid{}, /*keep_result=*/true,
        [&pid](absl::StatusOr<Pid> begun) { pid = begun.value(); });
    world_.Settle();
    world_.Tell(pid, topic);
    return pid;
  }
  absl::StatusOr<Outcome> Await(const Pid& pid, Owner by = Owner::kAny) {
    const auto outcome = world_.Await(pid, by);
    if (!outcome->has_value()) return absl::InternalError("no answer");
    return **outcome;
  }
  // The result, or the reason why there is none.
  std::string ResultOf(const Pid& pid, Owner by = Owner::kAny) {
    const absl::StatusOr<Outcome> outcome = Await(pid, by);
    return outcome.ok() ? outcome->result.bytes : ReasonOf(outcome.status());
  }
  size_t InMemory() {
    world_.runtime().results.Trim();
    return world_.runtime().results.kept();
  }

  RuntimeOptions options_;
  DurableWorld world_;
};

TEST_F(DurableResults, StoreAnswersWhenTheMemoryHasDroppedAResult) {
  StartWith();
  const Pid pid = Ended("5", kAlice);
  const absl::StatusOr<Outcome> first = Await(pid);
  ASSERT_TRUE(first.ok());
  for (int start = 0; start < 3; ++start) {
    EXPECT_EQ(InMemory(), 1U);
    world_.Elapse(2 * kSecond);
    EXPECT_EQ(InMemory(), 0U);
    const absl::StatusOr<Outcome> again = Await(pid);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(again->kind, EndKind::kResult);
    EXPECT_EQ(again->result.bytes, "5");
    EXPECT_EQ(again->result.content_type, first->result.content_type);
    EXPECT_EQ(again->steps, first->steps);
    EXPECT_EQ(again->started_unix_ns, first->started_unix_ns);
    EXPECT_EQ(again->ended_unix_ns, first->ended_unix_ns);
    EXPECT_EQ(again->owner, kAlice);
    Restart();
  }
}

TEST_F(DurableResults, StoreAnswersForAResultWithoutRoomInMemory) {
  // One result has room.
  StartWith(/*result_max_bytes=*/300);
  const Pid pushed_out = Ended("1");
  const Pid newest = Ended("2");
  for (int start = 0; start < 2; ++start) {
    EXPECT_EQ(InMemory(), 1U);
    EXPECT_EQ(ResultOf(pushed_out), "1");
    EXPECT_EQ(ResultOf(newest), "2");
    Restart();
  }
  // None has.
  options_.result_max_bytes = 0;
  Restart();
  const Pid never_kept = Ended("3");
  EXPECT_EQ(InMemory(), 0U);
  EXPECT_EQ(ResultOf(never_kept), "3");
  EXPECT_EQ(ResultOf(newest), "2");
}

TEST_F(DurableResults, ResultOfAnotherOwnerIsAnsweredAsOneThatIsNotKept) {
  StartWith();
  const Pid pid = Ended("5", kAlice);
  Pid never = pid;
  never.slot += 1000;
  for (int start = 0; start < 2; ++start) {
    world_.Elapse(2 * kSecond);
    EXPECT_EQ(ResultOf(pid, kBob), reason::kResultNotKept);
    EXPECT_EQ(ResultOf(never, kBob), reason::kResultNotKept);
    EXPECT_EQ(Await(pid, kBob).status().code(),
              Await(never, kBob).status().code());
    EXPECT_EQ(ResultOf(pid, kAlice), "5");
    Restart();
  }
}

TEST_F(DurableResults, FailureIsAnsweredFromTheStore) {
  StartWith();
  const Pid pid = Ended("5", Owner::kNobody, /*durable=*/true, "throw");
  const absl::StatusOr<Outcome> first = Await(pid);
  ASSERT_TRUE(first.ok());
  Restart();
  world_.Elapse(2 * kSecond);
  ASSERT_EQ(InMemory(), 0U);
  const absl::StatusOr<Outcome> again = Await(pid);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->kind, EndKind::kThrew);
  EXPECT_EQ(again->code, first->code);
  EXPECT_EQ(again->message, first->message);
}

TEST_F(DurableResults, FailureThatTheMemoryKnowsIsAnsweredWithoutARead) {
  StartWith();
  const auto reads = [this](const Pid& pid, size_t text_bytes) {
    world_.Elapse(2 * kSecond);
    EXPECT_EQ(InMemory(), 0U);
    // Otherwise the read would bring the state store up to the journal.
    EXPECT_EQ(world_.store->CatchUp(), absl::OkStatus());
    const int before = world_.state_reads;
    const absl::StatusOr<Outcome> outcome = Await(pid);
    EXPECT_TRUE(outcome.ok()) << outcome.status();
    if (outcome.ok()) {
      EXPECT_EQ(outcome->kind, EndKind::kFailed);
      EXPECT_EQ(outcome->message, std::string(text_bytes, 'x'));
    }
    return world_.state_reads - before;
  };
  const auto failed = [this](size_t text_bytes) {
    const Pid pid = world_.NewAccount(5);
    world_.Tell(pid, "fail", std::string(text_bytes, 'x'));
    return pid;
  };
  EXPECT_EQ(reads(failed(1000), 1000), 0);
  // The memory has only the beginning of a long text.
  EXPECT_EQ(reads(failed(1023), 1023), 1);
  EXPECT_EQ(reads(failed(3000), 3000), 1);
}

TEST_F(DurableResults, OnlyAMissOfADurableResultReadsTheStore) {
  StartWith();
  const Pid durable = Ended("5");
  const Pid not_durable = Ended("6", Owner::kNobody, /*durable=*/false);
  const auto reads = [this](const Pid& pid, const std::string& expected) {
    const int before = world_.state_reads;
    EXPECT_EQ(ResultOf(pid), expected);
    return world_.state_reads - before;
  };
  EXPECT_EQ(reads(durable, "5"), 0);
  EXPECT_EQ(reads(not_durable, "6"), 0);
  world_.Elapse(2 * kSecond);
  ASSERT_EQ(ResultOf(durable), "5");  // The state store has caught up.
  EXPECT_EQ(reads(durable, "5"), 1);
  EXPECT_EQ(reads(not_durable, std::string(reason::kResultNotKept)), 0);
  Pid of_no_home = durable;
  of_no_home.generation += 1;
  EXPECT_EQ(reads(of_no_home, std::string(reason::kProcessNotFound)), 0);
}

TEST_F(DurableResults, PidThatNeverWasCostsAReadOnlyInAwait) {
  StartWith();
  Pid never = Ended("5");
  ASSERT_EQ(ResultOf(never), "5");
  never.slot += 1000;
  ASSERT_EQ(world_.store->CatchUp(), absl::OkStatus());
  Runtime::Core& runtime = world_.runtime();
  const Message message{"add", {"1", ""}};
  const int before = world_.state_reads;
  for (const Owner by : {Owner::kAny, kBob}) {
    EXPECT_FALSE(runtime.Describe(never, by).ok());
    EXPECT_FALSE(
        runtime.SendFromOutside(by, never, message, nullptr).status.ok());
    EXPECT_FALSE(
        runtime.Control(by, never, ACTORD_EVENT_CANCEL, "").Tell(nullptr).ok());
    absl::Status answer;
    runtime.calls.Begin(by, never, message,
                        [&answer](const absl::StatusOr<Payload>& reply) {
                          answer = reply.status();
                        });
    EXPECT_EQ(ReasonOf(answer), reason::kProcessEnded);
  }
  EXPECT_EQ(world_.state_reads, before);
  EXPECT_EQ(ResultOf(never), reason::kResultNotKept);
  EXPECT_EQ(world_.state_reads, before + 1);
}

TEST_F(DurableResults, ResultThatNobodyWantedIsNotKept) {
  StartWith();
  const Pid pid = world_.NewAccount(5);
  world_.Tell(pid, "spawn");
  std::optional<Pid> child;
  for (const ProcessInfo& info :
       world_.runtime().ListProcesses({}, 0, 100).processes) {
    if (info.parent == pid) child = info.pid;
  }
  ASSERT_TRUE(child.has_value());
  world_.Tell(*child, "end");
  EXPECT_EQ(ResultOf(*child), reason::kResultNotKept);
}

TEST_F(DurableResults, DamagedResultIsSaidToBeDamaged) {
  StartWith();
  const Pid pid = Ended("5");
  world_.Elapse(2 * kSecond);
  ASSERT_EQ(ResultOf(pid), "5");
  const StateWrite damage{.key = KeyOf(KeyKind::kOutcome, pid),
                          .value = "no outcome"};
  ASSERT_TRUE(world_.state.Write({&damage, 1}).ok());
  const absl::Status status = Await(pid).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(status.message(), HasSubstr(FormatPid(pid)));
  // The daemon goes on.
  EXPECT_EQ(world_.failed, absl::OkStatus());
}

}  // namespace
}  // namespace actord::runtime
