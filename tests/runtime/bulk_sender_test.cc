// Sends that are shown to the workers together: everything is as with sends one
// by one, and nothing waits for longer than some sends take.
#include "runtime/bulk_sender.h"

#include <memory>
#include <string>
#include <vector>

#include "tests/runtime/runtime_fixture.h"

namespace actord::runtime {
namespace {

using enum absl::StatusCode;

class BulkSenderTest : public RuntimeTest {
 protected:
  // Processes that end with how many messages they got, at the topic "end".
  // Of three priorities, a few of one behind the other.
  std::vector<Pid> Receivers(int count) {
    const Script script{
        .step = [got = 0](Events events, StepOutput& out) mutable {
          for (const Event event : events) {
            if (event.topic() == "end") return out.Done(std::to_string(got));
            got += event.is_message() ? 1 : 0;
          }
        }};
    std::vector<Pid> pids;
    for (int i = 0; i < count; ++i) {
      SubmitRequest request{"script", "", {InputOf(script), ""}, {}};
      request.priority = kDefaultPriority + i / 5 % 3;
      pids.push_back(Submit(std::move(request)).value_or(Pid{}));
      EXPECT_FALSE(pids.back().empty());
    }
    return pids;
  }
};

INSTANTIATE_TEST_SUITE_P(Workers, BulkSenderTest, ::testing::Values(1, 2, 8));

// More than fit into its list, and fewer.
TEST_P(BulkSenderTest, AllReadiedReceiversRun) {
  RuntimeOptions options;
  options.workers = GetParam();
  Start(options);
  for (const int count : {1, 63, 64, 65, 1000}) {
    const std::vector<Pid> pids = Receivers(count);
    // All of them sleep before the next batch, so that it has to wake them.
    for (int round = 0; round < 3; ++round) {
      {
        BulkSender sender(*runtime_);
        for (const Pid& pid : pids) {
          ASSERT_TRUE(sender.Send(pid, {"n", {"1", ""}}).ok());
        }
      }
      ASSERT_TRUE(Eventually([&] {
        return runtime_->Describe(pids.back())->mailbox_messages == 0;
      }));
    }
    {
      BulkSender sender(*runtime_);
      for (const Pid& pid : pids) {
        ASSERT_TRUE(sender.Send(pid, {"end", {}}).ok());
      }
    }
    for (const Pid& pid : pids) {
      EXPECT_EQ(MustAwait(pid).result.bytes, "3");
    }
  }
}

// A single receiver never fills the list of processes to enqueue.
TEST_F(BulkSenderTest, WorkersSeeOneReceiverBeforeTheSenderGoes) {
  Start({});
  const Pid pid = Receivers(1).front();
  const auto sleeps = [&] {
    const auto found = runtime_->Describe(pid);
    return found->mailbox_messages == 0 && found->state == ProcessState::kIdle;
  };
  ASSERT_TRUE(Eventually(sleeps));
  BulkSender sender(*runtime_);
  for (int i = 0; i < 64; ++i) ASSERT_TRUE(sender.Send(pid, {"n", {}}).ok());
  ASSERT_TRUE(Eventually(sleeps)) << "of many sends";
  ASSERT_TRUE(sender.Send(pid, {"n", {std::string(64 << 10, 'x'), ""}}).ok());
  ASSERT_TRUE(Eventually(sleeps)) << "of many bytes";
  ASSERT_TRUE(sender.Send(pid, {"n", {}}).ok());
  EXPECT_EQ(runtime_->Describe(pid)->mailbox_messages, 1u)
      << "a single one is not shown";
}

// Each sender counts in a lane of its own, which the next sender takes over.
TEST_F(BulkSenderTest, EachMessageIsCountedAtOnce) {
  Start({});
  const Pid pid = Receivers(1).front();
  const uint64_t before = runtime_->Stats().messages_sent;
  for (uint64_t round = 1; round <= 3; ++round) {
    BulkSender one(*runtime_);
    BulkSender other(*runtime_);
    ASSERT_TRUE(one.Send(pid, {"n", {}}).ok());
    ASSERT_TRUE(other.Send(pid, {"n", {}}).ok());
    EXPECT_EQ(runtime_->Stats().messages_sent, before + 2 * round);
  }
}

TEST_F(BulkSenderTest, RefusesAsSendDoes) {
  RuntimeOptions options;
  options.max_payload_bytes = 10;
  options.max_mailbox_messages = 2;
  Start(options);
  const Pid ended =
      MustSubmit({.step = [](Events, StepOutput& out) { out.Done(); }});
  MustAwait(ended);
  BulkSender sender(*runtime_);
  EXPECT_THAT(sender.Send(ended, {}),
              Refused(kFailedPrecondition, reason::kProcessEnded));
  Pid none = ended;
  none.slot += 1000;
  EXPECT_THAT(sender.Send(none, {}),
              Refused(kNotFound, reason::kProcessNotFound));
  EXPECT_THAT(sender.Send(ended, {"", {std::string(11, 'x'), ""}}),
              Refused(kInvalidArgument, reason::kPayloadTooLarge));
  // Made ready by the first, and not shown before the mailbox is full.
  const Pid full = Receivers(1).front();
  ASSERT_TRUE(Eventually(
      [&] { return runtime_->Describe(full)->state == ProcessState::kIdle; }));
  EXPECT_TRUE(sender.Send(full, {}).ok());
  EXPECT_TRUE(sender.Send(full, {}).ok());
  EXPECT_THAT(sender.Send(full, {}),
              Refused(kResourceExhausted, reason::kMailboxFull));
  EXPECT_TRUE(Eventually(
      [&] { return runtime_->Describe(full)->mailbox_messages == 0; }));
  EXPECT_TRUE(sender.Send(full, {}).ok());
}

}  // namespace
}  // namespace actord::runtime
