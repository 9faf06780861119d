// The bytes of an owner in mailboxes and in external yields. Workers run by
// hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/process/errors.h"
#include "tests/runtime/stepped_core.h"

namespace actord::runtime {
namespace {

using ::testing::HasSubstr;

constexpr Owner kCharged{5};
constexpr Owner kUncharged{6};
// A message with this payload takes 1,024 bytes of a mailbox.
const std::string kPayload(970, 'x');
constexpr uint64_t kMessageBytes = 1024;

class OwnerBytes : public ::testing::Test {
 protected:
  OwnerBytes() {
    RuntimeOptions options;
    options.counts_owners = true;
    options.external_commands = {"till.*"};
    core_ = std::make_unique<SteppedCore>(1, std::move(options));
  }
  Runtime::Core& core() { return *core_->core; }
  void SetQuotas(const OwnerQuotas& all,
                 const std::vector<OwnQuotas>& own = {}) {
    ASSERT_TRUE(core().SetQuotas(all, own).ok());
  }
  void SetMailbox(uint64_t messages) {
    SetQuotas({.mailbox_bytes = messages * kMessageBytes});
  }
  // Takes what comes, and does what a test hands to `act_`.
  Pid Begin(Owner owner) {
    return core_->Submit(
        actord::testing::Script{.step =
                                    [this](Events events, StepOutput& out) {
                                      for (const Event event : events) {
                                        Note(event, out);
                                      }
                                    }},
        "script", owner);
  }
  void Note(const Event& event, StepOutput& out) {
    if (event.is_message() && event.topic() == "act") {
      std::exchange(act_, nullptr)(out);
    } else if (event.is_completion()) {
      failed_with_ = event.error().code;
      failure_ = std::string(event.error().message);
    } else {
      ++taken_;
    }
  }
  void Do(const Pid& pid, std::function<void(StepOutput&)> act) {
    act_ = std::move(act);
    core_->Send(pid, -1, "act");
    core_->Settle();
  }
  // From outside; the receiver gets no turn.
  absl::Status Send(const Pid& to, const std::string& payload = kPayload) {
    return core()
        .SendFromOutside(Owner::kAny, to, {"m", {payload, ""}}, nullptr)
        .status;
  }
  uint64_t Used(Owner owner = kCharged) {
    return core().processes.mailbox_bytes_of().UsedBy(owner);
  }
  void ExpectRefused(const absl::Status& status, const std::string& quota,
                     const std::string& limit) {
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
    EXPECT_EQ(ReasonOf(status), reason::kClientQuota) << status;
    EXPECT_EQ(QuotaOf(status), quota);
    EXPECT_EQ(QuotaLimitOf(status), limit);
  }

  std::unique_ptr<SteppedCore> core_;
  std::function<void(StepOutput&)> act_;
  std::optional<Code> failed_with_;
  std::string failure_;
  int taken_ = 0;
};

TEST_F(OwnerBytes, MailboxBytesAreLimitedForEachOwner) {
  SetMailbox(2);
  const Pid one = Begin(kCharged);
  const Pid two = Begin(kCharged);
  EXPECT_TRUE(Send(one).ok());
  EXPECT_TRUE(Send(two).ok());
  EXPECT_EQ(Used(), 2 * kMessageBytes);
  ExpectRefused(Send(one), "mailbox_bytes", "2048");
  ExpectRefused(Send(two), "mailbox_bytes", "2048");
  EXPECT_EQ(core().Stats().refused_mailbox_of_owner, 2u);
  EXPECT_EQ(core().Stats().refused_mailbox, 0u);
  const Pid other = Begin(kUncharged);
  EXPECT_TRUE(Send(other).ok());
  // Messages that a turn has taken do not wait.
  core_->Settle();
  EXPECT_EQ(taken_, 3);
  EXPECT_EQ(Used(), 0u);
  EXPECT_EQ(Used(kUncharged), 0u);
  EXPECT_TRUE(Send(one).ok());
}

TEST_F(OwnerBytes, UntakenMessagesGiveTheirBytesBackAtTheEnd) {
  SetMailbox(4);
  const Pid pid = Begin(kCharged);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Send(pid).ok());
  ASSERT_TRUE(
      core()
          .delivery.Control(Owner::kAny, pid, kEventTerminate, "", core().lane)
          .ok());
  core_->Settle();
  EXPECT_EQ(taken_, 0);
  EXPECT_EQ(Used(), 0u);
  EXPECT_EQ(core().Stats().dead_letters_kept, 3u);
}

TEST_F(OwnerBytes, ProcessesWithoutAnOwnerHaveNoLimit) {
  SetMailbox(1);
  const Pid pid = Begin(Owner::kNobody);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(Send(pid).ok());
}

TEST_F(OwnerBytes, AreCountedFromTheFirstQuotaOn) {
  const Pid pid = Begin(kCharged);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(Send(pid).ok());
  EXPECT_FALSE(core().processes.mailbox_bytes_of().IsCounting());
  SetMailbox(1);
  EXPECT_TRUE(Send(pid).ok());
  ExpectRefused(Send(pid), "mailbox_bytes", "1024");
  core_->Settle();
  EXPECT_EQ(taken_, 4);
  EXPECT_EQ(Used(), 0u);
  // Without a quota again, nothing is refused, and the count goes on.
  SetMailbox(0);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(Send(pid).ok());
  SetMailbox(1);
  EXPECT_FALSE(Send(pid).ok());
  core_->Settle();
  EXPECT_EQ(Used(), 0u);
}

TEST_F(OwnerBytes, QuotaOfAnOwnerReplacesTheCommonQuota) {
  SetQuotas(
      {.mailbox_bytes = kMessageBytes},
      {{.owner = kCharged, .quotas = {.mailbox_bytes = 3 * kMessageBytes}}});
  const Pid pid = Begin(kCharged);
  const Pid other = Begin(kUncharged);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(Send(pid).ok());
  ExpectRefused(Send(pid), "mailbox_bytes", "3072");
  EXPECT_TRUE(Send(other).ok());
  ExpectRefused(Send(other), "mailbox_bytes", "1024");
  SetMailbox(1);
  ExpectRefused(Send(pid), "mailbox_bytes", "1024");
}

// A step's sends cannot be refused: they become dead letters.
TEST_F(OwnerBytes, SendsOfAStepAboveTheQuotaAreDeadLetters) {
  for (const int count : {1, 3, 10}) {
    const uint64_t before = core().Stats().refused_mailbox_of_owner;
    const Pid sender = Begin(kCharged);
    const Pid to = Begin(kCharged);
    SetMailbox(2);
    taken_ = 0;
    Do(sender, [&](StepOutput& out) {
      for (int i = 0; i < count; ++i) out.Send(ToAbi(to), "m", kPayload);
    });
    const int refused = count > 2 ? count - 2 : 0;
    EXPECT_EQ(core().Stats().refused_mailbox_of_owner - before,
              static_cast<uint64_t>(refused));
    EXPECT_EQ(taken_, count - refused);
    EXPECT_EQ(Used(), 0u);
  }
}

TEST_F(OwnerBytes, FirstMessagesOfAChildCount) {
  SetMailbox(2);
  const Pid parent = Begin(kCharged);
  const actord::testing::Script child{
      .step = [this](Events events, StepOutput&) {
        taken_ += static_cast<int>(events.size());
      }};
  const std::string input = actord::testing::InputOf(child);
  Do(parent, [&](StepOutput& out) {
    const actord_pid pid = ToAbi(FromAbi(out.Spawn("script", "", input)));
    for (int i = 0; i < 3; ++i) out.Send(pid, "m", kPayload);
  });
  EXPECT_EQ(taken_, 2);
  EXPECT_EQ(core().Stats().refused_mailbox_of_owner, 1u);
  EXPECT_EQ(Used(), 0u);
}

TEST_F(OwnerBytes, MessagesOfASubmissionAreRefusedTogether) {
  SetMailbox(3);
  const actord::testing::Script idle{.step = [](Events, StepOutput&) {}};
  const auto submit = [&](size_t messages, const std::string& name = "") {
    SubmitRequest request{
        "script", "", {actord::testing::InputOf(idle), ""}, {}};
    request.owner = kCharged;
    request.name = name;
    request.messages.assign(messages, {"m", {kPayload, ""}});
    // A submission that is accepted is answered by a later turn.
    auto status =
        std::make_shared<absl::Status>(absl::UnknownError("not answered"));
    core().admission.Submit(
        request, Pid{}, /*keep_result=*/true,
        [status](absl::StatusOr<Pid> pid) { *status = pid.status(); });
    return *status;
  };
  ExpectRefused(submit(4), "mailbox_bytes", "3072");
  EXPECT_EQ(core().LiveProcesses(), 0u);
  EXPECT_EQ(core().Stats().refused_mailbox_of_owner, 1u);
  EXPECT_EQ(Used(), 0u);
  submit(1, "name").IgnoreError();
  EXPECT_EQ(Used(), kMessageBytes);
  // The name is taken, so nothing of the submission stays.
  EXPECT_FALSE(submit(2, "name").ok());
  EXPECT_EQ(Used(), kMessageBytes);
  core_->Settle();
  EXPECT_EQ(Used(), 0u);
  submit(3).IgnoreError();
  EXPECT_EQ(Used(), 3 * kMessageBytes);
  core_->Settle();
  EXPECT_EQ(Used(), 0u);
}

TEST_F(OwnerBytes, CallAboveTheQuotaFails) {
  SetMailbox(1);
  const Pid caller = Begin(kCharged);
  const Pid callee = Begin(kCharged);
  Do(caller, [&](StepOutput& out) {
    out.Call(ToAbi(callee), "m", std::string(3000, 'x'));
  });
  EXPECT_EQ(failed_with_, Code::kResourceExhausted);
  EXPECT_THAT(failure_, HasSubstr("quotas.mailbox_bytes"));
  EXPECT_EQ(Used(), 0u);
}

TEST_F(OwnerBytes, ExternalYieldsAboveTheQuotaFail) {
  // Each counts its payload, its names and 1 KiB.
  SetQuotas({.yield_bytes = 5000});
  const Pid first = Begin(kCharged);
  const Pid second = Begin(kCharged);
  const Pid other = Begin(kUncharged);
  const auto yield = [](StepOutput& out) {
    out.Yield("till.pay", std::string(2000, 'x'));
  };
  Do(first, yield);
  EXPECT_EQ(failed_with_, std::nullopt);
  Do(second, yield);
  EXPECT_EQ(failed_with_, Code::kResourceExhausted);
  EXPECT_THAT(failure_, HasSubstr("quotas.yield_bytes"));
  EXPECT_EQ(core().Stats().refused_external_of_owner, 1u);
  EXPECT_EQ(core().Stats().refused_external, 0u);
  failed_with_.reset();
  Do(other, yield);
  EXPECT_EQ(failed_with_, std::nullopt);
  // The end of the process makes room.
  ASSERT_TRUE(core()
                  .delivery
                  .Control(Owner::kAny, first, kEventTerminate, "", core().lane)
                  .ok());
  core_->Settle();
  EXPECT_EQ(core().tasks.bytes_of().UsedBy(kCharged), 0u);
  Do(second, yield);
  EXPECT_EQ(failed_with_, std::nullopt);
}

TEST_F(OwnerBytes, WithoutCountingThereAreNoQuotas) {
  SteppedCore core(1);
  EXPECT_EQ(core.core->SetQuotas({.processes = 1}, {}).code(),
            absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace actord::runtime
