// Request ids and message ids over the end of the program.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "runtime/process/errors.h"
#include "tests/runtime/durable/durable_fixture.h"

namespace actord::runtime {
namespace {

using Role = RequestIds::Role;

class DurableIds : public ::testing::Test {
 protected:
  DurableIds() { EXPECT_TRUE(world_.Start().ok()); }

  void Restart() {
    world_.Crash(/*keep_cache=*/false);
    ASSERT_EQ(world_.Start(), absl::OkStatus());
  }
  static bool IsTold(const std::shared_ptr<DurableWorld::Told>& told,
                     const Pid& pid) {
    return told->answer.has_value() && told->answer->ok() &&
           **told->answer == pid;
  }

  DurableWorld world_;
};

TEST_F(DurableIds, RepeatedSubmitStartsNothingAfterARestart) {
  const auto first = world_.SubmitOnce("id", "5");
  world_.Settle();
  ASSERT_TRUE(first->answer.has_value() && first->answer->ok());
  const Pid pid = **first->answer;
  for (int i = 0; i < 2; ++i) {
    Restart();
    const auto repeat = world_.SubmitOnce("id", "5");
    EXPECT_EQ(repeat->role, Role::kRepeat);
    EXPECT_TRUE(IsTold(repeat, pid));
    EXPECT_EQ(world_.SubmitOnce("id", "6")->role, Role::kReused);
    EXPECT_EQ(world_.runtime().LiveProcesses(), 1u);
  }
  EXPECT_EQ(world_.SubmitOnce("other", "5")->role, Role::kFirst);
}

TEST_F(DurableIds, RepeatedMessageIsTakenOnceAfterARestart) {
  const Pid pid = world_.NewAccount(1);
  const auto first = world_.SendOnce("id", pid, "add", "2");
  world_.Settle();
  EXPECT_TRUE(IsTold(first, pid));
  Restart();
  const auto repeat = world_.SendOnce("id", pid, "add", "2");
  EXPECT_EQ(repeat->role, Role::kRepeat);
  EXPECT_TRUE(IsTold(repeat, pid));
  EXPECT_EQ(world_.SendOnce("id", pid, "add", "3")->role, Role::kReused);
  EXPECT_EQ(world_.SendOnce("id", pid, "add", "2", Owner{1})->role,
            Role::kFirst)
      << "another owner has ids of its own";
  EXPECT_EQ(world_.BalanceOf(pid), "5");
}

TEST_F(DurableIds, RepeatWaitsUntilTheFirstIsDurable) {
  const Pid pid = world_.NewAccount(1);
  const auto submitted = world_.SubmitOnce("id", "5");
  const auto sent = world_.SendOnce("id", pid, "add", "2");
  world_.Turn();
  const auto submitted_again = world_.SubmitOnce("id", "5");
  const auto sent_again = world_.SendOnce("id", pid, "add", "2");
  EXPECT_EQ(submitted_again->role, Role::kRepeat);
  EXPECT_EQ(sent_again->role, Role::kRepeat);
  EXPECT_FALSE(submitted_again->answer.has_value());
  EXPECT_FALSE(sent_again->answer.has_value());
  world_.store->Work();
  EXPECT_TRUE(submitted_again->answer.has_value());
  EXPECT_TRUE(sent_again->answer.has_value());
}

TEST_F(DurableIds, UnsyncedChangeIsForgottenWithItsId) {
  const Pid pid = world_.NewAccount(1);
  world_.SubmitOnce("id", "5");
  world_.SendOnce("id", pid, "add", "2");
  world_.Turn();
  Restart();
  EXPECT_EQ(world_.SubmitOnce("id", "5")->role, Role::kFirst);
  EXPECT_EQ(world_.SendOnce("id", pid, "add", "2")->role, Role::kFirst);
  EXPECT_EQ(world_.BalanceOf(pid), "3");
}

TEST_F(DurableIds, IdsOfVolatileProcessesEndWithTheProgram) {
  const auto first = world_.SubmitOnce("id", "5", "", "account", false);
  world_.Settle();
  ASSERT_TRUE(first->answer.has_value() && first->answer->ok());
  world_.SendOnce("id", **first->answer, "add", "2");
  Restart();
  EXPECT_EQ(world_.SubmitOnce("id", "6")->role, Role::kFirst);
  EXPECT_EQ(world_.SendOnce("id", **first->answer, "add", "3")->role,
            Role::kFirst);
}

TEST_F(DurableIds, RefusedSubmitMayBeRepeatedAfterARestart) {
  const auto first = world_.SubmitOnce("id", "refuse");
  world_.Settle();
  ASSERT_TRUE(first->answer.has_value());
  EXPECT_FALSE(first->answer->ok());
  Restart();
  const auto second = world_.SubmitOnce("id", "5");
  EXPECT_EQ(second->role, Role::kFirst);
  world_.Settle();
  EXPECT_TRUE(second->answer.has_value() && second->answer->ok());
}

// Its SUBMITTED is durable, and its Init runs after the restart.
TEST_F(DurableIds, RepeatWaitsForAnInitThatRunsAfterTheRestart) {
  world_.SubmitOnce("good", "5");
  world_.SubmitOnce("bad", "refuse");
  world_.store->Work();
  Restart();
  const auto good = world_.SubmitOnce("good", "5");
  const auto bad = world_.SubmitOnce("bad", "refuse");
  EXPECT_EQ(good->role, Role::kRepeat);
  EXPECT_EQ(bad->role, Role::kRepeat);
  EXPECT_EQ(world_.SubmitOnce("good", "6")->role, Role::kReused);
  world_.Turn();
  EXPECT_FALSE(good->answer.has_value()) << "it is not durable";
  world_.Settle();
  ASSERT_TRUE(good->answer.has_value() && good->answer->ok());
  EXPECT_EQ(world_.BalanceOf(**good->answer), "5");
  ASSERT_TRUE(bad->answer.has_value());
  EXPECT_FALSE(bad->answer->ok());
  EXPECT_EQ(world_.SubmitOnce("bad", "5")->role, Role::kFirst);
}

TEST_F(DurableIds, RequestThatTheHolderOfANameGotIsKept) {
  const Pid pid = world_.NewAccount(1);
  RequestIds* ids = &world_.runtime().request_ids;
  const auto deliver = [&](const std::string& id, int count) {
    const RequestId request{id, {1, 2}};
    const std::vector<Message> messages(static_cast<size_t>(count),
                                        {"add", {"2", ""}});
    const Sent sent = world_.runtime().SendAllFromOutside(Owner::kNobody, pid,
                                                          messages, &request);
    EXPECT_EQ(sent.status, absl::OkStatus());
    EXPECT_NE(sent.position, 0u);
  };
  deliver("two", 2);
  deliver("none", 0);
  world_.Settle();
  Restart();
  ids = &world_.runtime().request_ids;
  for (const char* id : {"two", "none"}) {
    absl::StatusOr<Pid> answer = absl::UnknownError("no answer");
    EXPECT_EQ(ids->Begin(ids->KeyOf(Owner::kNobody, id), {1, 2},
                         [&](const absl::StatusOr<Pid>& got) { answer = got; }),
              Role::kRepeat);
    EXPECT_EQ(answer.value(), pid);
  }
  EXPECT_EQ(world_.BalanceOf(pid), "5");
}

// The message is in the journal before the quota refuses it.
TEST_F(DurableIds, RefusedMessageMayBeRepeatedAfterARestart) {
  world_.Stop();
  RuntimeOptions options;
  options.counts_owners = true;
  ASSERT_TRUE(world_.Start(options).ok());
  SubmitRequest request{"account", "", {"1", ""}, {}};
  request.owner = Owner{1};
  request.durable = true;
  Pid pid;
  world_.runtime().admission.Submit(
      request, Pid{}, true,
      [&](absl::StatusOr<Pid> begun) { pid = begun.value(); });
  world_.Settle();
  ASSERT_TRUE(world_.runtime().SetQuotas({.mailbox_bytes = 1}, {}).ok());
  const auto refused = world_.SendOnce("id", pid, "add", "2");
  world_.Settle();
  ASSERT_TRUE(refused->answer.has_value());
  EXPECT_FALSE(refused->answer->ok());
  Restart();
  const auto again = world_.SendOnce("id", pid, "add", "2");
  EXPECT_EQ(again->role, Role::kFirst);
  world_.Settle();
  EXPECT_TRUE(IsTold(again, pid));
  EXPECT_EQ(world_.BalanceOf(pid), "3");
}

// The process ends when its message is in the journal, and not yet in its
// mailbox.
TEST_F(DurableIds, MessageThatCameTooLateIsAnsweredSoAfterARestart) {
  const Pid pid = world_.NewAccount(1);
  world_.Send(pid, "end", "");
  int looks = 0;
  world_.store_clock.hook = [&] {
    if (++looks == 1) world_.Settle();
  };
  const auto late = world_.SendOnce("id", pid, "add", "2");
  world_.store_clock.hook = nullptr;
  EXPECT_FALSE(late->answer.has_value()) << "the journal has its message";
  world_.Settle();
  ASSERT_TRUE(late->answer.has_value());
  EXPECT_EQ(ReasonOf(late->answer->status()), reason::kProcessEnded);
  Restart();
  const auto again = world_.SendOnce("id", pid, "add", "2");
  EXPECT_EQ(again->role, Role::kFirst);
  ASSERT_TRUE(again->answer.has_value());
  EXPECT_EQ(ReasonOf(again->answer->status()), reason::kProcessEnded);
}

TEST_F(DurableIds, AreForgottenAfterTheirTime) {
  const auto first = world_.SubmitOnce("id", "5");
  world_.Settle();
  const uint64_t day_ns = world_.applier.request_id_ttl_ns;
  world_.clock.AdvanceNs(day_ns / 2);
  Restart();
  world_.core->clock.manual.AdvanceNs(day_ns / 2 - kSecond);
  EXPECT_EQ(world_.SubmitOnce("id", "5")->role, Role::kRepeat);
  world_.core->clock.manual.AdvanceNs(2 * kSecond);
  EXPECT_EQ(world_.SubmitOnce("id", "5")->role, Role::kFirst);
}

TEST_F(DurableIds, StoreLimitsTheNumberOfIds) {
  world_.Stop();
  world_.applier.request_id_max = 2;
  ASSERT_TRUE(world_.Start().ok());
  const Pid pid = world_.NewAccount(1);
  for (const char* id : {"1", "2", "3"}) {
    world_.core->clock.manual.AdvanceNs(kSecond);
    world_.SendOnce(id, pid, "add", "2");
    world_.Settle();
  }
  Restart();
  EXPECT_EQ(world_.SendOnce("2", pid, "add", "2")->role, Role::kRepeat);
  EXPECT_EQ(world_.SendOnce("3", pid, "add", "2")->role, Role::kRepeat);
  EXPECT_EQ(world_.SendOnce("1", pid, "add", "2")->role, Role::kFirst);
}

TEST_F(DurableIds, FingerprintsHaveTheKeyOfTheStore) {
  const SipKey before = world_.store->fingerprint_key();
  Restart();
  const SipKey after = world_.store->fingerprint_key();
  EXPECT_EQ(before.k0, after.k0);
  EXPECT_EQ(before.k1, after.k1);
  EXPECT_NE(before.k0, before.k1);
  EXPECT_EQ(world_.runtime().request_ids.content_key().k0, before.k0);
  EXPECT_EQ(world_.runtime().message_ids.content_key().k1, before.k1);
}

}  // namespace
}  // namespace actord::runtime
