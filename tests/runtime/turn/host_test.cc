// The daemon as handlers see it. Workers run by hand.
#include "runtime/turn/host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/runtime/stepped_core.h"

namespace actord::runtime {
namespace {

using actord::testing::Call;
using actord::testing::InputOf;
using actord::testing::Script;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

class HostTest : public ::testing::Test {
 protected:
  void Start(RuntimeOptions options = {}) {
    core_ = std::make_unique<SteppedCore>(1, options);
    host_ = core_->core->host.abi();
  }
  int32_t Send(const Pid& to, std::string_view bytes) {
    actord_message message{};
    message.struct_size = sizeof(message);
    message.topic = ToAbi(std::string_view("topic"));
    message.payload.bytes = ToAbi(bytes);
    const actord_pid from = {1, 2, 3, 5};
    const actord_pid abi_to = ToAbi(to);
    return host_->send(host_, &from, &abi_to, &message);
  }

  std::unique_ptr<SteppedCore> core_;
  const actord_host* host_ = nullptr;
};

TEST_F(HostTest, SendSaysWhatBecameOfTheMessage) {
  RuntimeOptions options;
  options.max_payload_bytes = 100;
  options.max_mailbox_messages = 2;
  Start(options);
  std::vector<std::pair<Pid, std::string>> got;
  const Pid pid = core_->Submit([&](Events events, StepOutput&) {
    for (const Event event : events) {
      got.emplace_back(FromAbi(event.from()), event.payload().bytes);
    }
  });
  const Pid gone = core_->Submit([](Events, StepOutput& out) { out.Done(); });
  EXPECT_EQ(Send(pid, "1"), ACTORD_OK);
  EXPECT_EQ(Send(pid, std::string(90, 'x')), ACTORD_OK);
  EXPECT_EQ(Send(pid, "3"), ACTORD_RESOURCE_EXHAUSTED);
  core_->Settle();
  EXPECT_EQ(Send(pid, std::string(101, 'x')), ACTORD_INVALID_ARGUMENT);
  EXPECT_EQ(Send(gone, "x"), ACTORD_FAILED_PRECONDITION);
  EXPECT_EQ(Send({9, 9, 9, 9}, "x"), ACTORD_NOT_FOUND);
  EXPECT_THAT(got, ElementsAre(Pair(Pid{1, 2, 3, 5}, "1"),
                               Pair(Pid{1, 2, 3, 5}, std::string(90, 'x'))));
}

TEST_F(HostTest, SpawnCompletesWithThePidOrTheReason) {
  RuntimeOptions options;
  options.max_processes = 2;
  Start(options);
  std::string type = "script";
  Script child;
  const Pid* parent = nullptr;
  core_->AddCommand("spawn", ACTORD_HANDLER_INLINE, [&](Call& call) {
    actord_spawn spawn{};
    spawn.struct_size = sizeof(spawn);
    spawn.process_type = ToAbi(type);
    const std::string input = InputOf(child);
    spawn.input.bytes = ToAbi(input);
    const actord_pid from = call.from();
    EXPECT_EQ(FromAbi(from), *parent);
    host_->spawn(host_, &from, &spawn, call.Defer());
    return ACTORD_DEFERRED;
  });
  std::vector<std::pair<int, std::string>> answers;
  const Pid pid = core_->Submit([&](Events events, StepOutput& out) {
    for (const Event event : events) {
      if (event.is_message()) {
        out.Yield("spawn");
      } else {
        answers.emplace_back(static_cast<int>(event.error().code),
                             event.payload().bytes);
      }
    }
  });
  parent = &pid;
  const auto ask = [&] {
    core_->Send(pid, -1);
    core_->Settle();
    EXPECT_FALSE(answers.empty());
    return answers.back();
  };
  const auto [code, text] = ask();
  EXPECT_EQ(code, ACTORD_OK);
  const absl::StatusOr<Pid> spawned = ParsePid(text);
  ASSERT_TRUE(spawned.ok());
  EXPECT_EQ(core_->process(*spawned).parent.Load(), pid);
  EXPECT_EQ(ask().first, ACTORD_RESOURCE_EXHAUSTED) << "the table is full";
  core_->core->delivery
      .Control(Owner::kAny, *spawned, kEventTerminate, "", core_->core->lane)
      .IgnoreError();
  core_->Settle();
  type = "nothing";
  EXPECT_EQ(ask().first, ACTORD_NOT_FOUND);
  type = "script";
  child.init = [](std::string_view) {
    return Status(Code::kAborted, "not today");
  };
  EXPECT_THAT(ask(), Pair(ACTORD_ABORTED, HasSubstr("not today")));
  EXPECT_EQ(answers.size(), 4u);
}

TEST_F(HostTest, SpawnRefusesAnInputAboveTheLimitUnread) {
  RuntimeOptions options;
  options.max_payload_bytes = 100;
  Start(options);
  const char only_byte = 'x';
  actord_spawn spawn{};
  spawn.struct_size = sizeof(spawn);
  spawn.process_type = ToAbi(std::string_view("script"));
  spawn.input.bytes = {&only_byte, size_t{1} << 40};
  host_->spawn(host_, nullptr, &spawn, 0);
  spawn.input.bytes = {};
  spawn.input.content_type = {&only_byte, size_t{1} << 40};
  host_->spawn(host_, nullptr, &spawn, 0);
  core_->Settle();
  EXPECT_EQ(core_->core->LiveProcesses(), 0u);
  EXPECT_EQ(core_->core->Stats().refused_payloads, 1u);
}

TEST_F(HostTest, ReadsAndWritesPids) {
  Start();
  char text[64];
  const actord_pid largest = {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX};
  const size_t size = host_->format_pid(host_, &largest, text);
  EXPECT_EQ(std::string(text, size), "ffffffff.ffffffff.ffffffff.ffffffff");
  actord_pid back{};
  EXPECT_EQ(host_->parse_pid(host_, {text, size}, &back), ACTORD_OK);
  EXPECT_EQ(FromAbi(back), FromAbi(largest));
  EXPECT_EQ(host_->parse_pid(host_, ToAbi(std::string_view("x")), &back),
            ACTORD_INVALID_ARGUMENT);
  EXPECT_EQ(FromAbi(back), FromAbi(largest)) << "left as it was";
}

TEST_F(HostTest, HasTheClockAndTheLog) {
  std::vector<std::pair<LogLevel, std::string>> lines;
  RuntimeOptions options;
  options.log = [&](LogLevel level, std::string_view message) {
    lines.emplace_back(level, message);
  };
  Start(options);
  EXPECT_EQ(host_->monotonic_ns(host_), core_->clock.MonotonicNs());
  EXPECT_EQ(host_->unix_time_ns(host_), core_->clock.UnixNs());
  for (const int32_t level :
       {int{ACTORD_LOG_DEBUG}, int{ACTORD_LOG_ERROR}, -5, 99}) {
    host_->log(host_, level, ToAbi(std::string_view("x")));
  }
  EXPECT_THAT(
      lines,
      ElementsAre(Pair(LogLevel::kDebug, "x"), Pair(LogLevel::kError, "x"),
                  Pair(LogLevel::kDebug, "x"), Pair(LogLevel::kError, "x")));
}

TEST_F(HostTest, ACompletionIsGoodOnceAndOnlyIfItWasGivenOut) {
  Start();
  actord_completion completion = 0;
  core_->AddCommand("later", ACTORD_HANDLER_INLINE, [&](Call& call) {
    completion = call.Defer();
    return ACTORD_DEFERRED;
  });
  int completions = 0;
  const Pid pid = core_->Submit([&](Events events, StepOutput& out) {
    if (events.empty()) out.Yield("later");
    completions += static_cast<int>(events.size());
  });
  ASSERT_NE(completion, 0u);
  const auto complete = [&](actord_completion handle) {
    return host_->complete(host_, handle, ACTORD_OK, nullptr);
  };
  constexpr actord_completion kGeneration = uint64_t{1} << 32;
  for (const actord_completion never :
       {actord_completion{0}, completion + 1, completion + kGeneration,
        completion - kGeneration, UINT64_MAX, completion & UINT32_MAX}) {
    EXPECT_EQ(complete(never), ACTORD_FAILED_PRECONDITION);
    EXPECT_EQ(host_->complete_after(host_, never, 1),
              ACTORD_FAILED_PRECONDITION);
  }
  EXPECT_EQ(host_->complete_after(host_, completion, 1'000'000'000), ACTORD_OK);
  EXPECT_EQ(complete(completion), ACTORD_OK);
  EXPECT_EQ(complete(completion), ACTORD_FAILED_PRECONDITION);
  core_->Settle();
  // Its timer is gone as well.
  core_->clock.manual.AdvanceNs(2'000'000'000);
  core_->WakeAll();
  core_->Settle();
  EXPECT_EQ(completions, 1);
  // The record's next use has another handle.
  const actord_completion old = completion;
  const Pid other = core_->Submit([&](Events events, StepOutput& out) {
    if (events.empty()) out.Yield("later");
  });
  EXPECT_NE(completion, old);
  EXPECT_EQ(complete(old), ACTORD_FAILED_PRECONDITION);
  EXPECT_EQ(core_->process(other).yields_count, 1u);
  EXPECT_EQ(core_->process(pid).yields_count, 0u);
}

}  // namespace
}  // namespace actord::runtime
