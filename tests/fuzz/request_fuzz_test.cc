// A request of any bytes is refused as INVALID_ARGUMENT with a reason, or every
// part of it is within its limits.
#include <actord/text.h>
#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "daemon/links/link_request.h"
#include "daemon/links/yield_link.h"
#include "daemon/wire/proto_dead_letters.h"
#include "daemon/wire/proto_requests.h"
#include "daemon/wire/proto_watch.h"
#include "daemon/wire/proto_work.h"
#include "daemon/wire/rpc_message.h"
#include "daemon/wire/status_mapping.h"
#include "google/rpc/status.pb.h"
#include "runtime/process/errors.h"
#include "tests/fuzz/mutator.h"

namespace actord::daemon {
namespace {

constexpr int kRequests = 20'000;
constexpr size_t kMaxPayload = 64;
const char kPid[] = "1.5.2a.1";

const std::vector<std::string>& RequestWords() {
  static const auto* const words =
      new std::vector<std::string>{kPid,
                                   "1.5.2a.1.9",
                                   "\xff\xff\xff\xff\x0f",
                                   std::string("\0\0", 2),
                                   "\x0a\x08",
                                   "\xed\xa0\x80",
                                   std::string(300, 'x')};
  return *words;
}

void ExpectRefused(const absl::Status& status) {
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_NE(runtime::ReasonOf(status), "") << status;
  const grpc::Status answer = ToGrpcStatus(status);
  EXPECT_TRUE(IsUtf8(answer.error_message()));
  google::rpc::Status details;
  EXPECT_TRUE(details.ParseFromString(answer.error_details()));
}

// Feeds mutations of `seed` to `target(Request*)`, which returns a status.
template <typename Request, typename Target>
void FuzzRequest(const Request& seed, Target target) {
  const google::protobuf::LogSilencer no_word_about_each_bad_text;
  const std::vector<std::string> corpus = {seed.SerializeAsString(), ""};
  fuzz::Fuzz(corpus, RequestWords(), 3, kRequests,
             [&](const std::string& input) {
               const grpc::Slice slice(input);
               const grpc::ByteBuffer buffer(&slice, 1);
               Request request;
               absl::Status status = ReadMessage(buffer, &request);
               if (status.ok()) status = target(&request);
               if (!status.ok()) ExpectRefused(status);
             });
}

void ExpectWithinLimits(const runtime::Payload& payload) {
  EXPECT_LE(payload.bytes.size(), kMaxPayload);
  EXPECT_LE(payload.content_type.size(), 255u);
  EXPECT_TRUE(IsUtf8(payload.content_type));
}

TEST(RequestFuzz, Submit) {
  v1::SubmitRequest seed;
  seed.set_process_type("order");
  seed.set_method("open");
  seed.mutable_input()->set_data("{}");
  seed.mutable_input()->set_content_type("text/plain");
  seed.set_request_id("id");
  seed.add_messages()->set_topic("first");
  seed.add_messages()->mutable_payload()->set_data("second");
  FuzzRequest(seed, [](v1::SubmitRequest* request) {
    const auto submit = ReadSubmit(request, kMaxPayload);
    if (!submit.ok()) return submit.status();
    EXPECT_FALSE(submit->process_type.empty());
    EXPECT_LE(submit->process_type.size(), 128u);
    EXPECT_LE(submit->method.size(), 128u);
    EXPECT_LE(submit->messages.size(), 100u);
    ExpectWithinLimits(submit->input);
    for (const runtime::Message& message : submit->messages) {
      EXPECT_LE(message.topic.size(), 255u);
      ExpectWithinLimits(message.payload);
    }
    EXPECT_TRUE(Fingerprint({}, *submit) == Fingerprint({}, *submit));
    return absl::OkStatus();
  });
}

TEST(RequestFuzz, Send) {
  v1::SendRequest seed;
  seed.set_pid(kPid);
  seed.set_topic("add");
  seed.mutable_payload()->set_data("data");
  FuzzRequest(seed, [](v1::SendRequest* request) {
    const std::string pid = request->pid();
    Address to;
    runtime::Message message;
    absl::Status status = ReadSend(request, kMaxPayload, to, message);
    if (!status.ok()) return status;
    EXPECT_EQ(to.name.empty() ? runtime::FormatPid(to.pid) : "@" + to.name, pid)
        << "one text an address";
    EXPECT_LE(message.topic.size(), 255u);
    ExpectWithinLimits(message.payload);
    return status;
  });
}

TEST(RequestFuzz, Call) {
  v1::CallRequest seed;
  seed.set_pid("@orders/17");
  seed.set_topic("add");
  seed.mutable_payload()->set_data("data");
  seed.set_message_id("id");
  v1::SubmitRequest& start = *seed.mutable_start_if_absent();
  start.set_process_type("order");
  start.mutable_input()->set_data("{}");
  start.set_priority(3);
  start.set_durability(v1::DURABILITY_DURABLE);
  (*start.mutable_labels())["tenant"] = "acme";
  FuzzRequest(seed, [](v1::CallRequest* request) {
    const bool is_once = !request->message_id().empty();
    Address to;
    runtime::Message message;
    absl::Status status = ReadCall(request, kMaxPayload, to, message);
    if (!status.ok()) return status;
    EXPECT_FALSE(to.is_group);
    ExpectWithinLimits(message.payload);
    if (!request->has_start_if_absent()) return status;
    const auto started = ReadStartIfAbsent(request, kMaxPayload, to, is_once);
    if (!started.ok()) return started.status();
    EXPECT_EQ(started->name, to.name);
    EXPECT_TRUE(IsName(started->name));
    EXPECT_TRUE(started->messages.empty());
    EXPECT_TRUE(started->durable || !is_once);
    ExpectWithinLimits(started->input);
    return absl::OkStatus();
  });
}

TEST(RequestFuzz, Run) {
  v1::RunRequest seed;
  seed.mutable_submit()->set_process_type("order");
  seed.mutable_submit()->set_name("orders/17");
  FuzzRequest(seed, [](v1::RunRequest* request) {
    const auto submit = ReadSubmit(request->mutable_submit(), kMaxPayload);
    return Below("submit", submit.status());
  });
}

// A batch as SendStream reads it: one message object for all items.
TEST(RequestFuzz, SendStream) {
  v1::SendStreamRequest seed;
  for (const char* pid : {kPid, "@name", "1.5.2a.3"}) {
    v1::SendRequest& item = *seed.add_sends();
    item.set_pid(pid);
    item.set_topic("add");
    item.mutable_payload()->set_data("data");
  }
  runtime::Message message;
  FuzzRequest(seed, [&message](v1::SendStreamRequest* request) {
    absl::Status status = CheckBatch("sends", request->sends_size());
    if (!status.ok()) return status;
    for (v1::SendRequest& item : *request->mutable_sends()) {
      const std::string topic = item.topic();
      const std::string data = item.payload().data();
      Address to;
      status = ReadSend(&item, kMaxPayload, to, message);
      if (!status.ok()) {
        ExpectRefused(status);
        continue;
      }
      EXPECT_EQ(message.topic, topic);
      EXPECT_EQ(message.payload.bytes, data);
      ExpectWithinLimits(message.payload);
    }
    return absl::OkStatus();
  });
}

TEST(RequestFuzz, SubmitStream) {
  v1::SubmitStreamRequest seed;
  seed.set_await_outcomes(true);
  for (const char* type : {"order", "echo"}) {
    v1::SubmitRequest& item = *seed.add_submissions();
    item.set_process_type(type);
    item.mutable_input()->set_data("{}");
    item.set_name("orders/17");
    item.set_on_name_conflict(v1::SubmitRequest::NAME_CONFLICT_DELIVER);
  }
  FuzzRequest(seed, [](v1::SubmitStreamRequest* request) {
    absl::Status status =
        CheckBatch("submissions", request->submissions_size());
    if (!status.ok()) return status;
    for (v1::SubmitRequest& item : *request->mutable_submissions()) {
      const auto submit = ReadSubmit(&item, kMaxPayload);
      status = submit.ok() ? ReadNameConflict(item).status() : submit.status();
      if (!status.ok()) {
        ExpectRefused(status);
        continue;
      }
      EXPECT_FALSE(submit->process_type.empty());
      EXPECT_LE(submit->name.size(), 128u);
      ExpectWithinLimits(submit->input);
    }
    return absl::OkStatus();
  });
}

TEST(RequestFuzz, CompleteYield) {
  v1::CompleteYieldRequest seed;
  seed.set_token("1.5.2a.1.9");
  seed.mutable_error()->set_code(14);
  seed.mutable_error()->set_message("closed");
  FuzzRequest(seed, [](v1::CompleteYieldRequest* request) {
    const std::string token = request->token();
    const auto completion = ReadCompleteYield(request, kMaxPayload);
    if (!completion.ok()) return completion.status();
    EXPECT_EQ(runtime::FormatTaskToken(completion->token), token);
    if (completion->result.code == absl::StatusCode::kOk) {
      ExpectWithinLimits(completion->result.payload);
    }
    return absl::OkStatus();
  });
}

TEST(RequestFuzz, CreateYieldLink) {
  v1::CreateYieldLinkRequest seed;
  seed.set_token("1.5.2a.1.9");
  seed.mutable_expires_in()->set_seconds(3600);
  seed.set_text("Refund?");
  seed.add_values("approve");
  seed.add_values("decline");
  const LinkKey key{1};
  const absl::Time now = absl::FromUnixSeconds(1'800'000'000);
  FuzzRequest(seed, [&](v1::CreateYieldLinkRequest* request) {
    const auto link = ReadCreateYieldLink(*request, now);
    if (!link.ok()) return link.status();
    const absl::Duration left =
        absl::FromUnixSeconds(static_cast<int64_t>(link->expires_unix_s)) - now;
    EXPECT_GE(left, absl::Seconds(1));
    EXPECT_LE(left, absl::Hours(30 * 24) + absl::Seconds(1));
    const auto read = ReadLink(key, SignLink(key, *link));
    EXPECT_TRUE(read.has_value() && read->values == link->values &&
                read->text == request->text());
    return absl::OkStatus();
  });
}

TEST(RequestFuzz, DeadLetters) {
  v1::ListDeadLettersRequest list;
  list.set_page_size(10);
  list.set_to_pid(kPid);
  list.set_reason(v1::DEAD_LETTER_REASON_ENDED);
  list.set_newest_first(true);
  FuzzRequest(list, [](v1::ListDeadLettersRequest* request) {
    runtime::DeadLetterQuery query;
    uint64_t scope = 0;
    absl::Status status = ReadListDeadLetters(*request, 5, query, scope);
    if (!status.ok()) return status;
    EXPECT_GE(query.page_size, 1u);
    EXPECT_LE(query.page_size, 1000u);
    return status;
  });
  v1::DropDeadLettersRequest drop;
  drop.add_ids("5.17");
  drop.add_ids("6.1");
  FuzzRequest(drop, [](v1::DropDeadLettersRequest* request) {
    const auto numbers = ReadDropDeadLetters(*request, 5);
    if (!numbers.ok()) return numbers.status();
    EXPECT_LE(numbers->size(), 1000u);
    return absl::OkStatus();
  });
  v1::ResendDeadLetterRequest resend;
  resend.set_id("5.17");
  resend.set_to("@heir");
  FuzzRequest(resend, [](v1::ResendDeadLetterRequest* request) {
    const auto number = ReadDeadLetterId("id", request->id(), 5);
    if (absl::IsNotFound(number.status())) return absl::OkStatus();
    if (!number.ok()) return number.status();
    EXPECT_EQ(FormatDeadLetterId(5, *number), request->id())
        << "one text an id";
    Address to;
    return ReadAddress("to", request->to(), to);
  });
}

TEST(RequestFuzz, Lists) {
  v1::ListProcessesRequest processes;
  processes.set_page_size(10);
  processes.set_page_token("00000000000000010000000000000002");
  processes.set_process_type("order");
  processes.set_parent_pid(kPid);
  processes.set_state(v1::PROCESS_STATE_IDLE);
  FuzzRequest(processes, [](v1::ListProcessesRequest* request) {
    runtime::ProcessFilter filter;
    Paging paging;
    absl::Status status = ReadListProcesses(*request, 5, filter, paging);
    if (!status.ok()) return status;
    EXPECT_GE(paging.page_size, 1u);
    EXPECT_LE(paging.page_size, 1000u);
    return status;
  });
  v1::ListYieldsRequest yields;
  yields.set_page_size(10);
  yields.set_command("payment.*");
  yields.set_pid(kPid);
  FuzzRequest(yields, [](v1::ListYieldsRequest* request) {
    runtime::YieldFilter filter;
    Paging paging;
    absl::Status status = ReadListYields(*request, 5, filter, paging);
    if (!status.ok()) return status;
    EXPECT_GE(paging.page_size, 1u);
    EXPECT_LE(paging.page_size, 1000u);
    return status;
  });
}

TEST(RequestFuzz, Work) {
  v1::WorkRequest seed;
  v1::TaskFailure* const failure = seed.add_failures();
  failure->set_token("1.5.2a.1.9.2");
  failure->mutable_error()->set_code(14);
  failure->mutable_retry_delay()->set_seconds(5);
  v1::TaskHeartbeat* const heartbeat = seed.add_heartbeats();
  heartbeat->set_token("1.5.2a.1.9.2");
  heartbeat->mutable_progress()->set_data("half");
  FuzzRequest(seed, [](v1::WorkRequest* request) {
    absl::Status status = CheckWorkRequest(*request, /*is_first=*/false);
    if (!status.ok()) return status;
    for (const v1::TaskFailure& proto : request->failures()) {
      const auto read = ReadTaskFailure(proto);
      if (!read.ok()) return read.status();
      EXPECT_EQ(runtime::FormatTaskToken(read->token), proto.token());
      EXPECT_NE(read->token.attempt, 0u);
      EXPECT_NE(read->failure.code, absl::StatusCode::kOk);
      const absl::Duration delay =
          read->failure.retry_delay.value_or(absl::ZeroDuration());
      EXPECT_GE(delay, absl::ZeroDuration());
      EXPECT_LE(delay, absl::Hours(24));
    }
    for (v1::TaskHeartbeat& proto : *request->mutable_heartbeats()) {
      const auto read = ReadTaskHeartbeat(&proto);
      if (!read.ok()) return read.status();
      if (!read->progress) continue;
      EXPECT_LE(read->progress->bytes.size(), 4096u);
      EXPECT_LE(read->progress->content_type.size(), 255u);
    }
    return absl::OkStatus();
  });
}

TEST(RequestFuzz, Watch) {
  v1::WatchProcessesRequest seed;
  seed.set_process_type("order");
  seed.set_parent_pid(kPid);
  const auto order = ReadWatch(seed, 5);
  ASSERT_TRUE(order.ok());
  seed.set_resume_token(
      MakeResumeToken(5, order->scope, {.cursor = 17, .slot = 3}));
  seed.set_skip_snapshot(true);
  int resumed = 0;
  FuzzRequest(seed, [&resumed](v1::WatchProcessesRequest* request) {
    const auto read = ReadWatch(*request, 5);
    if (!read.ok()) return read.status();
    EXPECT_LE(read->filter.process_type.size(), 128u);
    if (read->resumes) {
      ++resumed;
      EXPECT_EQ(MakeResumeToken(5, read->scope, *read->resumes),
                request->resume_token())
          << "one text a place";
    }
    return absl::OkStatus();
  });
  EXPECT_GT(resumed, 0);
}

TEST(RequestFuzz, Shutdown) {
  v1::ShutdownRequest seed;
  seed.set_mode(v1::ShutdownRequest::MODE_DRAIN);
  seed.mutable_deadline()->set_seconds(5);
  seed.mutable_deadline()->set_nanos(6);
  FuzzRequest(seed, [](v1::ShutdownRequest* request) {
    const auto order = ReadShutdown(*request, absl::Seconds(30));
    if (!order.ok()) return order.status();
    EXPECT_GE(order->timeout, absl::ZeroDuration());
    return absl::OkStatus();
  });
}

}  // namespace
}  // namespace actord::daemon
