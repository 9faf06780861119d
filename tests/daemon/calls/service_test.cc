// Tests the service as clients see it, with the real runtime.
#include <google/protobuf/util/message_differencer.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "daemon/settings/version.h"
#include "tests/daemon/served_daemon.h"

namespace actord::daemon {
namespace {

using grpc::StatusCode;

class ServiceTest : public ::testing::Test {
 protected:
  v1::ActorService::Stub& stub() { return daemon_.stub(); }

  grpc::Status Submit(const v1::SubmitRequest& request,
                      v1::SubmitResponse& response) {
    grpc::ClientContext context;
    return stub().Submit(&context, request, &response);
  }
  grpc::Status Send(const std::string& pid, const std::string& topic,
                    const std::string& data = "") {
    grpc::ClientContext context;
    v1::SendRequest request;
    request.set_pid(pid);
    request.set_topic(topic);
    request.mutable_payload()->set_data(data);
    v1::SendResponse response;
    return stub().Send(&context, request, &response);
  }
  v1::ListYieldsResponse ListYields(const v1::ListYieldsRequest& request) {
    grpc::ClientContext context;
    v1::ListYieldsResponse response;
    const grpc::Status status = stub().ListYields(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }

  ServedDaemon daemon_;
};

TEST_F(ServiceTest, RunsAProcessToItsResult) {
  const v1::Outcome outcome = daemon_.Await(daemon_.Submit("echo", "hello"));
  EXPECT_EQ(outcome.result().data(), "hello");
  EXPECT_GT(outcome.create_time().seconds(), 0);
  EXPECT_EQ(outcome.steps(), 1u);
}

TEST_F(ServiceTest, FailedProcessIsNotAnErrorOfTheCall) {
  const v1::Outcome outcome =
      daemon_.Await(daemon_.Submit("echo", "broken", "fail"));
  EXPECT_EQ(outcome.failure().reason(), v1::FAILURE_REASON_FAILED);
  EXPECT_EQ(outcome.failure().code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(outcome.failure().message(), "broken");
}

TEST_F(ServiceTest, SubmitNamesTheError) {
  const struct {
    const char* type;
    const char* method;
    StatusCode code;
    const char* reason;
    const char* field;
  } cases[] = {
      {"", "", StatusCode::INVALID_ARGUMENT, "INVALID_FIELD", "process_type"},
      {"nosuch", "", StatusCode::NOT_FOUND, "UNKNOWN_PROCESS_TYPE", ""},
      {"echo", "nosuch", StatusCode::NOT_FOUND, "UNKNOWN_METHOD", ""},
      {"echo", "refuse", StatusCode::INVALID_ARGUMENT, "INIT_REFUSED", "input"},
  };
  for (const auto& c : cases) {
    v1::SubmitRequest request;
    request.set_process_type(c.type);
    request.set_method(c.method);
    v1::SubmitResponse response;
    const grpc::Status status = Submit(request, response);
    EXPECT_EQ(status.error_code(), c.code) << c.reason;
    EXPECT_EQ(ReasonIn(status), c.reason);
    EXPECT_EQ(FieldIn(status), c.field);
  }
}

TEST_F(ServiceTest, SubmitNamesTheTypeThatWasMeant) {
  for (const auto& [type, text] : std::map<std::string, std::string>{
           {"ecoh",
            "no plugin has the process type \"ecoh\"; did you mean \"echo\"?"},
           {"nosuch",
            "no plugin has the process type \"nosuch\"; the types are "
            "counter, echo, order, schedule, supervisor"}}) {
    v1::SubmitRequest request;
    request.set_process_type(type);
    v1::SubmitResponse response;
    const grpc::Status status = Submit(request, response);
    EXPECT_EQ(status.error_message(), text);
    EXPECT_EQ(ReasonIn(status), "UNKNOWN_PROCESS_TYPE");
  }
}

TEST_F(ServiceTest, SubmitNamesTheMethodThatWasMeant) {
  for (const auto& [method, text] : std::map<std::string, std::string>{
           {"rnu",
            "process type counter has no method \"rnu\"; did you mean "
            "\"run\"?"},
           {"nosuch",
            "process type counter has no method \"nosuch\"; its methods are "
            "run"}}) {
    v1::SubmitRequest request;
    request.set_process_type("counter");
    request.set_method(method);
    v1::SubmitResponse response;
    const grpc::Status status = Submit(request, response);
    EXPECT_EQ(status.error_message(), text);
    EXPECT_EQ(ReasonIn(status), "UNKNOWN_METHOD");
  }
}

TEST_F(ServiceTest, RefusesAPayloadAboveTheLimit) {
  v1::SubmitRequest request;
  request.set_process_type("echo");
  request.mutable_input()->set_data(std::string((1 << 20) + 1, 'x'));
  v1::SubmitResponse response;
  const grpc::Status status = Submit(request, response);
  EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(ReasonIn(status), "PAYLOAD_TOO_LARGE");
  EXPECT_EQ(FieldIn(status), "input.data");
  const std::string most(1 << 20, 'x');
  EXPECT_EQ(daemon_.Await(daemon_.Submit("echo", most)).result().data(), most);
}

TEST_F(ServiceTest, FirstMessagesArriveBeforeTheFirstStep) {
  v1::SubmitRequest request;
  request.set_process_type("counter");
  for (const char* topic : {"add", "add", "stop"}) {
    request.add_messages()->set_topic(topic);
  }
  v1::SubmitResponse response;
  ASSERT_TRUE(Submit(request, response).ok());
  EXPECT_EQ(daemon_.Await(response.pid()).result().data(), "2");
}

TEST_F(ServiceTest, SendsInOrderAndNamesTheError) {
  const std::string pid = daemon_.Submit("counter", "1");
  EXPECT_TRUE(Send(pid, "add", "41").ok());
  EXPECT_TRUE(Send(pid, "stop").ok());
  EXPECT_EQ(daemon_.Await(pid).result().data(), "42");

  const grpc::Status ended = Send(pid, "add");
  EXPECT_EQ(ended.error_code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(ReasonIn(ended), "PROCESS_ENDED");
  const grpc::Status unknown = Send("1.1.1.1", "add");
  EXPECT_EQ(unknown.error_code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(ReasonIn(unknown), "PROCESS_NOT_FOUND");
  const grpc::Status invalid = Send("nonsense", "add");
  EXPECT_EQ(invalid.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(ReasonIn(invalid), "INVALID_PID");
  EXPECT_EQ(FieldIn(invalid), "pid");
}

TEST_F(ServiceTest, CancelAndTerminateEndAProcess) {
  const std::string cancelled = daemon_.Submit("counter", "3");
  const std::string terminated = daemon_.Submit("counter", "3");
  grpc::ClientContext cancel_context;
  v1::CancelRequest cancel;
  cancel.set_pid(cancelled);
  v1::CancelResponse cancel_response;
  EXPECT_TRUE(stub().Cancel(&cancel_context, cancel, &cancel_response).ok());
  EXPECT_EQ(daemon_.Await(cancelled).result().data(), "3")
      << "a counter that is cancelled still says how far it came";

  grpc::ClientContext terminate_context;
  v1::TerminateRequest terminate;
  terminate.set_pid(terminated);
  terminate.set_reason("in the way");
  v1::TerminateResponse terminate_response;
  EXPECT_TRUE(stub()
                  .Terminate(&terminate_context, terminate, &terminate_response)
                  .ok());
  const v1::Outcome outcome = daemon_.Await(terminated);
  EXPECT_EQ(outcome.failure().reason(), v1::FAILURE_REASON_TERMINATED);
  EXPECT_NE(outcome.failure().message().find("in the way"), std::string::npos);
}

TEST_F(ServiceTest, RefusesANegativeDeadlineOfACancel) {
  grpc::ClientContext context;
  v1::CancelRequest request;
  request.set_pid(daemon_.Submit("counter", "3"));
  request.mutable_deadline()->set_seconds(-1);
  v1::CancelResponse response;
  const grpc::Status status = stub().Cancel(&context, request, &response);
  EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(ReasonIn(status), "INVALID_FIELD");
  EXPECT_EQ(FieldIn(status), "deadline");
}

TEST_F(ServiceTest, AbandonedAwaitLeavesNothingBehind) {
  const std::string pid = daemon_.Submit("counter", "3");
  for (int i = 0; i < 20; ++i) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::milliseconds(i));
    v1::AwaitRequest request;
    request.set_pid(pid);
    v1::AwaitResponse response;
    EXPECT_EQ(stub().Await(&context, request, &response).error_code(),
              StatusCode::DEADLINE_EXCEEDED);
  }
  EXPECT_TRUE(Send(pid, "stop").ok());
  EXPECT_EQ(daemon_.Await(pid).result().data(), "3");
}

TEST_F(ServiceTest, EveryAwaitGetsTheOutcome) {
  const std::string pid = daemon_.Submit("counter", "3");
  std::vector<std::future<std::string>> waiting;
  for (int i = 0; i < 4; ++i) {
    waiting.push_back(std::async(std::launch::async, [this, pid] {
      return daemon_.Await(pid).result().data();
    }));
  }
  EXPECT_TRUE(Send(pid, "stop").ok());
  for (auto& answer : waiting) EXPECT_EQ(answer.get(), "3");
}

TEST_F(ServiceTest, CompletesAnExternalCommandOnce) {
  const std::string pid = daemon_.SubmitStubbornOrder();
  v1::ListYieldsRequest list;
  list.set_command("payment.*");
  const v1::ListYieldsResponse yields = ListYields(list);
  ASSERT_EQ(yields.yields_size(), 1);
  EXPECT_EQ(yields.yields(0).pid(), pid);
  EXPECT_EQ(yields.yields(0).command(), "payment.charge");

  v1::CompleteYieldRequest request;
  request.set_token(yields.yields(0).token());
  request.mutable_result()->set_data("receipt");
  using Response = v1::CompleteYieldResponse;
  const auto complete = [&] {
    grpc::ClientContext context;
    Response response;
    EXPECT_TRUE(stub().CompleteYield(&context, request, &response).ok());
    return response.answer();
  };
  EXPECT_EQ(complete(), Response::ANSWER_ACCEPTED);
  EXPECT_EQ(complete(), Response::ANSWER_DUPLICATE);
  request.mutable_result()->set_data("another receipt");
  EXPECT_EQ(complete(), Response::ANSWER_CONFLICT);
  const std::string& token = yields.yields(0).token();
  request.set_token(token.substr(0, token.rfind('.')) + ".ffff");
  EXPECT_NE(complete(), Response::ANSWER_ACCEPTED);
  EXPECT_NE(daemon_.Await(pid).result().data().find("receipt"),
            std::string::npos);
  EXPECT_EQ(ListYields(list).yields_size(), 0);
}

TEST_F(ServiceTest, ListsEveryProcessOnOnePage) {
  std::set<std::string> expected;
  for (int i = 0; i < 25; ++i) expected.insert(daemon_.Submit("counter"));
  daemon_.SubmitStubbornOrder();
  v1::ListProcessesRequest request;
  request.set_page_size(10);
  request.set_process_type("counter");
  std::multiset<std::string> listed;
  int pages = 0;
  do {
    grpc::ClientContext context;
    v1::ListProcessesResponse response;
    ASSERT_TRUE(stub().ListProcesses(&context, request, &response).ok());
    EXPECT_LE(response.processes_size(), 10);
    for (const v1::Process& process : response.processes()) {
      EXPECT_EQ(process.process_type(), "counter");
      listed.insert(process.pid());
    }
    request.set_page_token(response.next_page_token());
    ASSERT_LT(++pages, 100);
  } while (!request.page_token().empty());
  EXPECT_EQ(listed,
            std::multiset<std::string>(expected.begin(), expected.end()));

  grpc::ClientContext context;
  v1::ListProcessesResponse response;
  request.set_page_token("nonsense");
  const grpc::Status status =
      stub().ListProcesses(&context, request, &response);
  EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(ReasonIn(status), "INVALID_PAGE_TOKEN");
}

TEST_F(ServiceTest, DescribesAProcess) {
  const std::string pid = daemon_.SubmitStubbornOrder();
  EXPECT_TRUE(Send(pid, "ignored").ok());
  const auto get = [&](v1::GetProcessResponse& response) {
    grpc::ClientContext context;
    v1::GetProcessRequest request;
    request.set_pid(pid);
    return stub().GetProcess(&context, request, &response);
  };
  v1::GetProcessResponse response;
  // The command can be seen a moment before the end of the step that yielded
  // it.
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  do {
    ASSERT_TRUE(get(response).ok());
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
  } while (response.process().state() != v1::PROCESS_STATE_BLOCKED);
  EXPECT_EQ(response.process().pid(), pid);
  EXPECT_EQ(response.process().mailbox_messages(), 1u);
  EXPECT_EQ(response.process().yields_outstanding(), 1u);
}

TEST_F(ServiceTest, GetStatusDescribesTheDaemon) {
  daemon_.Await(daemon_.Submit("echo", "x"));
  grpc::ClientContext context;
  v1::GetStatusResponse status;
  ASSERT_TRUE(stub().GetStatus(&context, {}, &status).ok());
  EXPECT_EQ(status.version(), kActordVersion);
  EXPECT_EQ(status.state(), v1::DAEMON_STATE_SERVING);
  EXPECT_EQ(status.workers(), 2u);
  ASSERT_EQ(status.worker_status_size(), 2);
  EXPECT_EQ(status.worker_status(1).index(), 1u);
  ASSERT_EQ(status.process_types_size(), 5);
  EXPECT_EQ(status.process_types(1).name(), "echo");
  EXPECT_EQ(status.process_types(1).methods(0), "run");
  EXPECT_EQ(status.plugins_size(), 4) << "with the built-in one";
  std::set<std::string> commands;
  for (const v1::Command& command : status.commands()) {
    commands.insert(command.name());
    EXPECT_EQ(command.kind() == v1::COMMAND_KIND_EXTERNAL,
              command.name() == "payment.*");
  }
  EXPECT_EQ(commands,
            (std::set<std::string>{
                "file.read", "group.join", "group.leave", "group.members",
                "group.send", "log.write", "name.lookup", "name.register",
                "name.release", "payment.*", "process.cancel", "process.send",
                "process.spawn", "process.terminate", "timer.sleep"}));
  EXPECT_EQ(status.counters().processes_started_total(), 1u);
  EXPECT_EQ(status.counters().processes_ended_total(), 1u);
  EXPECT_EQ(status.limits().max_payload_bytes(), 1u << 20);
}

TEST_F(ServiceTest, RefusesAMalformedRequest) {
  grpc::GenericStub generic(daemon_.channel());
  const struct {
    std::string bytes;
    const char* field;
  } cases[] = {{"\xff\xff\xff", ""}, {"\x12\x01\xff", "topic"}};
  for (const auto& c : cases) {
    grpc::ClientContext context;
    const grpc::Slice slice(c.bytes);
    grpc::ByteBuffer request(&slice, 1);
    grpc::ByteBuffer response;
    std::promise<grpc::Status> done;
    generic.UnaryCall(
        &context, "/actord.v1.ActorService/Send", {}, &request, &response,
        [&](grpc::Status status) { done.set_value(std::move(status)); });
    const grpc::Status status = done.get_future().get();
    EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(ReasonIn(status), "INVALID_FIELD");
    EXPECT_EQ(FieldIn(status), c.field);
  }
}

}  // namespace
}  // namespace actord::daemon
