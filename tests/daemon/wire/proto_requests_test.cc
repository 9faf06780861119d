#include "daemon/wire/proto_requests.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "absl/strings/str_cat.h"
#include "daemon/wire/page_token.h"
#include "runtime/process/errors.h"
#include "tests/daemon/wire/requests.h"

namespace actord::daemon {
namespace {

constexpr uint32_t kIncarnation = 5;

TEST(ReadSubmit, TakesEveryField) {
  v1::SubmitRequest request;
  request.set_process_type("order");
  request.set_method("open");
  request.mutable_input()->set_data(std::string("\0\xff", 2));
  request.mutable_input()->set_content_type("application/x");
  request.set_request_id("id");
  request.set_priority(0);
  request.add_messages()->set_topic("first");
  request.add_messages()->mutable_payload()->set_data("second");
  const auto submit = ReadSubmit(&request, kMaxPayload);
  ASSERT_TRUE(submit.ok()) << submit.status();
  EXPECT_EQ(submit->process_type, "order");
  EXPECT_EQ(submit->method, "open");
  EXPECT_EQ(submit->input.bytes, std::string("\0\xff", 2));
  EXPECT_EQ(submit->input.content_type, "application/x");
  ASSERT_EQ(submit->messages.size(), 2u);
  EXPECT_EQ(submit->messages[0].topic, "first");
  EXPECT_EQ(submit->messages[1].payload.bytes, "second");
  EXPECT_EQ(submit->priority, 0);
  EXPECT_EQ(request.request_id(), "id") << "still needed by the caller";
}

TEST(ReadSubmit, PriorityDefaults) {
  v1::SubmitRequest request;
  request.set_process_type("order");
  const auto submit = ReadSubmit(&request, kMaxPayload);
  ASSERT_TRUE(submit.ok()) << submit.status();
  EXPECT_EQ(submit->priority, 16);
}

TEST(ReadSubmit, RefusesFieldsOutOfTheirLimits) {
  const struct {
    std::function<void(v1::SubmitRequest&)> spoil;
    const char* field;
    std::string_view reason = runtime::reason::kInvalidField;
  } cases[] = {
      {[](auto& r) { r.clear_process_type(); }, "process_type"},
      {[](auto& r) { r.set_process_type(std::string(129, 'x')); },
       "process_type"},
      {[](auto& r) { r.set_method(std::string(129, 'x')); }, "method"},
      {[](auto& r) { r.set_request_id(std::string(129, 'x')); }, "request_id"},
      {[](auto& r) { r.mutable_input()->set_data(std::string(17, 'x')); },
       "input.data", runtime::reason::kPayloadTooLarge},
      {[](auto& r) {
         r.mutable_input()->set_content_type(std::string(256, 'x'));
       },
       "input.content_type"},
      {[](auto& r) {
         for (int i = 0; i < 101; ++i) r.add_messages();
       },
       "messages"},
      {[](auto& r) {
         r.add_messages();
         r.add_messages()->set_topic(std::string(256, 'x'));
       },
       "messages[1].topic"},
      {[](auto& r) {
         r.add_messages()->mutable_payload()->set_data(std::string(17, 'x'));
       },
       "messages[0].payload.data", runtime::reason::kPayloadTooLarge},
  };
  for (const auto& c : cases) {
    v1::SubmitRequest request;
    request.set_process_type("order");
    c.spoil(request);
    const auto submit = ReadSubmit(&request, kMaxPayload);
    ASSERT_FALSE(submit.ok()) << c.field;
    ExpectWrong(submit.status(), c.field, c.reason);
  }
}

TEST(ReadSubmit, AcceptsExactlyTheLimits) {
  v1::SubmitRequest request;
  request.set_process_type(std::string(128, 'x'));
  request.set_method(std::string(128, 'x'));
  request.set_request_id(std::string(128, 'x'));
  request.mutable_input()->set_data(std::string(16, 'x'));
  request.mutable_input()->set_content_type(std::string(255, 'x'));
  for (int i = 0; i < 100; ++i) {
    request.add_messages()->set_topic(std::string(255, 'x'));
  }
  const auto submit = ReadSubmit(&request, kMaxPayload);
  EXPECT_TRUE(submit.ok()) << submit.status();
}

TEST(ReadSend, TakesEveryField) {
  v1::SendRequest request;
  request.set_pid(kPid);
  request.set_topic("topic");
  request.mutable_payload()->set_data("data");
  request.mutable_payload()->set_content_type("text/plain");
  Address to;
  runtime::Message message;
  const absl::Status status = ReadSend(&request, kMaxPayload, to, message);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(to.pid, kParsedPid);
  EXPECT_EQ(message.topic, "topic");
  EXPECT_EQ(message.payload.bytes, "data");
  EXPECT_EQ(message.payload.content_type, "text/plain");
}

TEST(ReadSend, RefusesFieldsOutOfTheirLimits) {
  const struct {
    std::function<void(v1::SendRequest&)> spoil;
    const char* field;
    std::string_view reason = runtime::reason::kInvalidField;
  } cases[] = {
      {[](auto& r) { r.set_pid(""); }, "pid", runtime::reason::kInvalidPid},
      {[](auto& r) { r.set_pid("1.5.2A.1"); }, "pid",
       runtime::reason::kInvalidPid},
      {[](auto& r) { r.set_topic(std::string(256, 'x')); }, "topic"},
      {[](auto& r) { r.set_message_id(std::string(129, 'x')); }, "message_id"},
      {[](auto& r) { r.mutable_payload()->set_data(std::string(17, 'x')); },
       "payload.data", runtime::reason::kPayloadTooLarge},
      {[](auto& r) {
         r.mutable_payload()->set_content_type(std::string(256, 'x'));
       },
       "payload.content_type"},
  };
  for (const auto& c : cases) {
    v1::SendRequest request;
    request.set_pid(kPid);
    c.spoil(request);
    Address to;
    runtime::Message message;
    ExpectWrong(ReadSend(&request, kMaxPayload, to, message), c.field,
                c.reason);
  }
}

TEST(ReadPid, NamesItsField) {
  ASSERT_TRUE(ReadPid("parent_pid", kPid).ok());
  ExpectWrong(ReadPid("parent_pid", "nonsense").status(), "parent_pid",
              runtime::reason::kInvalidPid);
}

TEST(CheckReason, HasALimit) {
  EXPECT_TRUE(CheckReason("").ok());
  EXPECT_TRUE(CheckReason(std::string(1024, 'x')).ok());
  ExpectWrong(CheckReason(std::string(1025, 'x')), "reason");
}

v1::CompleteYieldRequest CompletionOf(const std::string& token) {
  v1::CompleteYieldRequest request;
  request.set_token(token);
  return request;
}

TEST(ReadCompleteYield, AcceptsResultsAndErrors) {
  const std::string token = runtime::FormatYieldToken({kParsedPid, 9});
  v1::CompleteYieldRequest result = CompletionOf(token);
  result.mutable_result()->set_data("ok");
  const auto good = ReadCompleteYield(&result, kMaxPayload);
  ASSERT_TRUE(good.ok()) << good.status();
  EXPECT_EQ(good->token.yield.pid, kParsedPid);
  EXPECT_EQ(good->token.yield.tag, 9u);
  EXPECT_EQ(good->result.code, absl::StatusCode::kOk);
  EXPECT_EQ(good->result.payload.bytes, "ok");

  v1::CompleteYieldRequest error = CompletionOf(token);
  error.mutable_error()->set_code(14);
  error.mutable_error()->set_message("bank is closed");
  const auto bad = ReadCompleteYield(&error, kMaxPayload);
  ASSERT_TRUE(bad.ok()) << bad.status();
  EXPECT_EQ(bad->result.code, absl::StatusCode::kUnavailable);
  EXPECT_EQ(bad->result.payload.bytes, "bank is closed");

  v1::CompleteYieldRequest empty = CompletionOf(token);
  empty.mutable_result();
  EXPECT_TRUE(ReadCompleteYield(&empty, kMaxPayload).ok());
}

TEST(ReadCompleteYield, RefusesInvalidRequests) {
  const std::string token = runtime::FormatYieldToken({kParsedPid, 9});
  v1::CompleteYieldRequest request = CompletionOf("nonsense");
  request.mutable_result();
  ExpectWrong(ReadCompleteYield(&request, kMaxPayload).status(), "token",
              runtime::reason::kInvalidYieldToken);
  request = CompletionOf(token);
  ExpectWrong(ReadCompleteYield(&request, kMaxPayload).status(), "outcome");
  request.mutable_result()->set_data(std::string(17, 'x'));
  ExpectWrong(ReadCompleteYield(&request, kMaxPayload).status(), "result.data",
              runtime::reason::kPayloadTooLarge);
  for (const int code : {-1, 0, 17}) {
    request = CompletionOf(token);
    request.mutable_error()->set_code(code);
    ExpectWrong(ReadCompleteYield(&request, kMaxPayload).status(),
                "error.code");
  }
  request.mutable_error()->set_code(1);
  request.mutable_error()->set_message(std::string(4097, 'x'));
  ExpectWrong(ReadCompleteYield(&request, kMaxPayload).status(),
              "error.message");
}

TEST(ReadListProcesses, ReadsFilterAndPage) {
  v1::ListProcessesRequest request;
  runtime::ProcessFilter filter;
  Paging paging;
  ASSERT_TRUE(ReadListProcesses(request, kIncarnation, filter, paging).ok());
  EXPECT_EQ(paging.page_size, 100u);
  EXPECT_EQ(paging.position, 0u);
  EXPECT_FALSE(filter.state.has_value());
  EXPECT_TRUE(filter.parent.empty());

  request.set_page_size(5000);
  request.set_process_type("order");
  request.set_state(v1::PROCESS_STATE_IDLE);
  request.set_parent_pid(kPid);
  ASSERT_TRUE(ReadListProcesses(request, kIncarnation, filter, paging).ok());
  EXPECT_EQ(paging.page_size, 1000u);
  EXPECT_EQ(filter.process_type, "order");
  EXPECT_EQ(filter.state, runtime::ProcessState::kIdle);
  EXPECT_EQ(filter.parent, kParsedPid);

  request.set_page_token(MakePageToken(77, paging.scope));
  ASSERT_TRUE(ReadListProcesses(request, kIncarnation, filter, paging).ok());
  EXPECT_EQ(paging.position, 77u);
}

TEST(ReadListProcesses, RefusesTheTokenOfAnotherListOrRun) {
  v1::ListProcessesRequest request;
  runtime::ProcessFilter filter;
  Paging paging;
  ASSERT_TRUE(ReadListProcesses(request, kIncarnation, filter, paging).ok());
  request.set_page_token(MakePageToken(77, paging.scope));
  ExpectWrong(ReadListProcesses(request, kIncarnation + 1, filter, paging),
              "page_token", runtime::reason::kInvalidPageToken);
  request.set_process_type("order");
  ExpectWrong(ReadListProcesses(request, kIncarnation, filter, paging),
              "page_token", runtime::reason::kInvalidPageToken);
}

TEST(ReadListProcesses, RefusesInvalidRequests) {
  runtime::ProcessFilter filter;
  Paging paging;
  v1::ListProcessesRequest request;
  request.set_page_size(-1);
  ExpectWrong(ReadListProcesses(request, kIncarnation, filter, paging),
              "page_size");
  request.Clear();
  request.set_state(static_cast<v1::ProcessState>(99));
  ExpectWrong(ReadListProcesses(request, kIncarnation, filter, paging),
              "state");
  request.Clear();
  request.set_parent_pid("x");
  ExpectWrong(ReadListProcesses(request, kIncarnation, filter, paging),
              "parent_pid", runtime::reason::kInvalidPid);
  request.Clear();
  request.set_process_type(std::string(129, 'x'));
  ExpectWrong(ReadListProcesses(request, kIncarnation, filter, paging),
              "process_type");
}

TEST(ReadListYields, ReadsTheFilterAndRefusesInvalidRequests) {
  runtime::YieldFilter filter;
  Paging paging;
  v1::ListYieldsRequest request;
  request.set_command("payment.*");
  request.set_pid(kPid);
  ASSERT_TRUE(ReadListYields(request, kIncarnation, filter, paging).ok());
  EXPECT_EQ(filter.command, "payment.*");
  EXPECT_EQ(filter.pid, kParsedPid);
  for (const std::string command : {"*.charge", "a*b", "**"}) {
    request.set_command(command);
    ExpectWrong(ReadListYields(request, kIncarnation, filter, paging),
                "command");
  }
  request.set_command("*");
  EXPECT_TRUE(ReadListYields(request, kIncarnation, filter, paging).ok());
  request.set_pid("x");
  ExpectWrong(ReadListYields(request, kIncarnation, filter, paging), "pid",
              runtime::reason::kInvalidPid);
}

TEST(ReadShutdown, ReadsModeAndDeadline) {
  v1::ShutdownRequest request;
  const auto standard = ReadShutdown(request, absl::Seconds(30));
  ASSERT_TRUE(standard.ok()) << standard.status();
  EXPECT_EQ(standard->mode, runtime::ShutdownMode::kDrain);
  EXPECT_EQ(standard->timeout, absl::Seconds(30));
  EXPECT_EQ(standard->durable, runtime::DurableAtEnd::kKeep);

  request.set_end_durable(true);
  EXPECT_EQ(ReadShutdown(request, absl::Seconds(30))->durable,
            runtime::DurableAtEnd::kEnd);
  request.set_mode(v1::ShutdownRequest::MODE_NOW);
  request.mutable_deadline()->set_seconds(2);
  request.mutable_deadline()->set_nanos(500'000'000);
  const auto now = ReadShutdown(request, absl::Seconds(30));
  ASSERT_TRUE(now.ok()) << now.status();
  EXPECT_EQ(now->mode, runtime::ShutdownMode::kNow);
  EXPECT_EQ(now->timeout, absl::Milliseconds(2500));
}

TEST(ReadShutdown, RefusesInvalidRequests) {
  v1::ShutdownRequest request;
  request.mutable_deadline()->set_seconds(-1);
  ExpectWrong(ReadShutdown(request, absl::Seconds(30)).status(), "deadline");
  request.mutable_deadline()->set_seconds(1);
  request.mutable_deadline()->set_nanos(-1);
  ExpectWrong(ReadShutdown(request, absl::Seconds(30)).status(), "deadline");
  request.mutable_deadline()->set_seconds(400'000'000'000);
  request.mutable_deadline()->set_nanos(0);
  ExpectWrong(ReadShutdown(request, absl::Seconds(30)).status(), "deadline");
  request.clear_deadline();
  request.set_mode(static_cast<v1::ShutdownRequest::Mode>(9));
  ExpectWrong(ReadShutdown(request, absl::Seconds(30)).status(), "mode");
}

TEST(ReadCancelDeadline, ReadsItAndRefusesInvalidOnes) {
  v1::CancelRequest request;
  EXPECT_EQ(*ReadCancelDeadline(request), absl::ZeroDuration());
  request.mutable_deadline();
  EXPECT_EQ(*ReadCancelDeadline(request), absl::ZeroDuration());
  request.mutable_deadline()->set_seconds(2);
  EXPECT_EQ(*ReadCancelDeadline(request), absl::Seconds(2));
  request.mutable_deadline()->set_seconds(-1);
  ExpectWrong(ReadCancelDeadline(request).status(), "deadline");
  request.mutable_deadline()->set_seconds(400'000'000'000);
  ExpectWrong(ReadCancelDeadline(request).status(), "deadline");
}

TEST(PageToken, ReadsBackAndRefusesOtherTexts) {
  for (const uint64_t position : {1ull, 1000ull, ~0ull}) {
    const auto read = ReadPageToken(MakePageToken(position, 3), 3);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, position);
  }
  EXPECT_EQ(*ReadPageToken("", 3), 0u);
  const std::string token = MakePageToken(12, 3);
  EXPECT_FALSE(ReadPageToken(token, 4).ok());
  EXPECT_FALSE(ReadPageToken(token + "0", 3).ok());
  EXPECT_FALSE(ReadPageToken(token.substr(1), 3).ok());
  EXPECT_FALSE(ReadPageToken("12", 3).ok());
  for (size_t i = 0; i < token.size(); ++i) {
    std::string forged = token;
    forged[i] = forged[i] == '7' ? '8' : '7';
    EXPECT_FALSE(ReadPageToken(forged, 3).ok()) << forged;
  }
}

}  // namespace
}  // namespace actord::daemon
