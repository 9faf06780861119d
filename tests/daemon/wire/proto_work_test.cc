#include "daemon/wire/proto_work.h"

#include <gtest/gtest.h>

#include <string>

#include "runtime/process/errors.h"
#include "runtime/tasks/task_table.h"
#include "tests/daemon/wire/requests.h"

namespace actord::daemon {
namespace {

const char kTaskToken[] = "1.5.2a.1.7.2";

TEST(CheckSubscribe, RequiresPatternsOfExternalCommands) {
  const runtime::LiveLimits limits{runtime::Limits()};
  const runtime::TaskTable work({"pay.*"}, {}, limits, runtime::Clock::System(),
                                nullptr);
  v1::Subscribe subscribe;
  ExpectWrong(CheckSubscribe(subscribe, work), "subscribe.commands");
  subscribe.add_commands("pay.charge");
  subscribe.add_commands("*");
  EXPECT_TRUE(CheckSubscribe(subscribe, work).ok());
  for (const std::string& bad :
       {std::string(), std::string("p*y"), std::string("print"),
        std::string("pay.") + std::string(125, 'x')}) {
    subscribe.set_commands(1, bad);
    ExpectWrong(CheckSubscribe(subscribe, work), "subscribe.commands[1]");
  }
  subscribe.set_commands(1, "pay.*");
  subscribe.set_worker(std::string(129, 'x'));
  ExpectWrong(CheckSubscribe(subscribe, work), "subscribe.worker");
  subscribe.clear_worker();
  for (int i = 0; i < 99; ++i) subscribe.add_commands("pay.*");
  ExpectWrong(CheckSubscribe(subscribe, work), "subscribe.commands");
}

TEST(CheckWorkRequest, RequiresOneSubscriptionFirst) {
  v1::WorkRequest request;
  ExpectWrong(CheckWorkRequest(request, true), "subscribe");
  EXPECT_TRUE(CheckWorkRequest(request, false).ok());
  request.mutable_subscribe();
  EXPECT_TRUE(CheckWorkRequest(request, true).ok());
  ExpectWrong(CheckWorkRequest(request, false), "subscribe");
}

TEST(CheckWorkRequest, LimitsItsItems) {
  v1::WorkRequest request;
  for (int i = 0; i < 400; ++i) {
    request.add_completions();
    request.add_failures();
  }
  for (int i = 0; i < 200; ++i) request.add_heartbeats();
  EXPECT_TRUE(CheckWorkRequest(request, false).ok());
  request.add_heartbeats();
  ExpectWrong(CheckWorkRequest(request, false), "completions");
}

TEST(ReadTaskFailure, TakesEveryField) {
  v1::TaskFailure proto;
  proto.set_token(kTaskToken);
  auto read = ReadTaskFailure(proto);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->token, (runtime::TaskToken{{{1, 5, 0x2a, 1}, 7}, 2}));
  EXPECT_EQ(read->failure.code, absl::StatusCode::kUnknown);
  EXPECT_FALSE(read->failure.retry_delay);
  proto.mutable_error()->set_code(10);
  proto.mutable_error()->set_message("no paper");
  proto.mutable_retry_delay()->set_seconds(3);
  read = ReadTaskFailure(proto);
  EXPECT_EQ(read->failure.code, absl::StatusCode::kAborted);
  EXPECT_EQ(read->failure.text, "no paper");
  EXPECT_EQ(read->failure.retry_delay, absl::Seconds(3));
  proto.mutable_retry_delay()->set_seconds(1'000'000);
  EXPECT_EQ(ReadTaskFailure(proto)->failure.retry_delay, absl::Hours(24));
}

TEST(ReadTaskFailure, RefusesInvalidFailures) {
  v1::TaskFailure good;
  good.set_token(kTaskToken);
  v1::TaskFailure proto = good;
  proto.set_token("1.5.2a.1.7");  // the token of the yield, without an attempt
  ExpectWrong(ReadTaskFailure(proto).status(), "token",
              runtime::reason::kInvalidYieldToken);
  proto.set_token("x");
  ExpectWrong(ReadTaskFailure(proto).status(), "token",
              runtime::reason::kInvalidYieldToken);
  for (const int code : {-1, 17}) {
    proto = good;
    proto.mutable_error()->set_code(code);
    ExpectWrong(ReadTaskFailure(proto).status(), "error.code");
  }
  proto = good;
  proto.mutable_error()->set_message(std::string(4097, 'x'));
  ExpectWrong(ReadTaskFailure(proto).status(), "error.message");
  proto = good;
  proto.mutable_retry_delay()->set_nanos(-1);
  ExpectWrong(ReadTaskFailure(proto).status(), "retry_delay");
}

TEST(ReadTaskHeartbeat, ProgressIsOptionalAndShort) {
  v1::TaskHeartbeat proto;
  proto.set_token(kTaskToken);
  EXPECT_FALSE(ReadTaskHeartbeat(&proto)->progress);
  proto.mutable_progress()->set_data(std::string(4096, 'x'));
  proto.mutable_progress()->set_content_type("t");
  const auto read = ReadTaskHeartbeat(&proto);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->progress->bytes.size(), 4096u);
  EXPECT_EQ(read->progress->content_type, "t");
  proto.mutable_progress()->set_data(std::string(4097, 'x'));
  ExpectWrong(ReadTaskHeartbeat(&proto).status(), "progress.data");
  proto.mutable_progress()->clear_data();
  proto.mutable_progress()->set_content_type(std::string(256, 'x'));
  ExpectWrong(ReadTaskHeartbeat(&proto).status(), "progress.content_type");
  proto.set_token("1.5.2a.1.7");
  ExpectWrong(ReadTaskHeartbeat(&proto).status(), "token",
              runtime::reason::kInvalidYieldToken);
}

TEST(WriteTask, WritesEveryField) {
  constexpr uint64_t kNsPerSecond = 1'000'000'000;
  runtime::TaskAttempt task;
  task.token = {{{1, 5, 0x2a, 1}, 7}, 2};
  task.yield.token = task.token.yield;
  task.yield.command = "pay.charge";
  task.yield.payload = {"42", "t"};
  task.yield.process_type = "order";
  task.yield.created_unix_ns = 1 * kNsPerSecond;
  task.max_attempts = 5;
  task.lease = absl::Seconds(30);
  v1::Task proto;
  WriteTask(task, &proto);
  EXPECT_EQ(proto.token(), kTaskToken);
  EXPECT_EQ(proto.idempotency_key(), "1.5.2a.1.7");
  EXPECT_EQ(proto.command(), "pay.charge");
  EXPECT_EQ(proto.payload().data(), "42");
  EXPECT_EQ(proto.payload().content_type(), "t");
  EXPECT_EQ(proto.pid(), "1.5.2a.1");
  EXPECT_EQ(proto.process_type(), "order");
  EXPECT_EQ(proto.attempt(), 2u);
  EXPECT_EQ(proto.max_attempts(), 5u);
  EXPECT_EQ(proto.lease().seconds(), 30);
  EXPECT_EQ(proto.create_time().seconds(), 1);
  EXPECT_FALSE(proto.has_deadline());
  EXPECT_FALSE(proto.has_attempt_deadline());
  EXPECT_FALSE(proto.has_progress());
  task.yield.deadline_unix_ns = 2 * kNsPerSecond;
  task.attempt_deadline_unix_ns = 3 * kNsPerSecond;
  task.progress = runtime::Payload{"half", ""};
  WriteTask(task, &proto);
  EXPECT_EQ(proto.deadline().seconds(), 2);
  EXPECT_EQ(proto.attempt_deadline().seconds(), 3);
  EXPECT_EQ(proto.progress().data(), "half");
}

TEST(WriteRefusal, HasTheContentOfAnError) {
  v1::TaskRefusal proto;
  WriteRefusal(runtime::Retryable(absl::StatusCode::kResourceExhausted,
                                  runtime::reason::kMailboxFull, "full",
                                  absl::Seconds(2)),
               &proto);
  EXPECT_EQ(proto.code(), 8);
  EXPECT_EQ(proto.reason(), "MAILBOX_FULL");
  EXPECT_EQ(proto.message(), "full");
  EXPECT_EQ(proto.retry_delay().seconds(), 2);
}

}  // namespace
}  // namespace actord::daemon
