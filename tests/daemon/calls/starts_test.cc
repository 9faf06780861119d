// Tests Run, and Call with start_if_absent.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "daemon/calls/starts/run_wait.h"
#include "tests/daemon/served_daemon.h"

namespace actord::daemon {
namespace {

using grpc::StatusCode;
using std::chrono::milliseconds;

constexpr char kUnpaid[] = R"({"order": "o", "amount_cents": 1, "hold_ms": 0})";

class StartsTest : public ::testing::Test {
 protected:
  struct Ran {
    grpc::Status status;
    v1::RunResponse response;
    std::string early_pid;  // of the initial metadata
  };
  Ran Run(const v1::SubmitRequest& submit, milliseconds deadline) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + deadline);
    v1::RunRequest request;
    *request.mutable_submit() = submit;
    Ran ran;
    ran.status = daemon_.stub().Run(&context, request, &ran.response);
    for (const auto& [key, value] : context.GetServerInitialMetadata()) {
      if (key == "actord-pid") ran.early_pid.assign(value.begin(), value.end());
    }
    return ran;
  }
  // Runs a process that does not end. On a busy machine the error of the daemon
  // may come after the client's deadline, so this tries again.
  Ran RunUntilLate(const v1::SubmitRequest& submit) {
    Ran ran;
    for (int i = 0; i < 10; ++i) {
      ran = Run(submit, milliseconds(1500));
      EXPECT_EQ(ran.status.error_code(), StatusCode::DEADLINE_EXCEEDED);
      if (ReasonIn(ran.status) == "DEADLINE_EXCEEDED") break;
    }
    return ran;
  }
  static v1::SubmitRequest SubmitOf(const std::string& type,
                                    const std::string& input,
                                    const std::string& request_id = "") {
    v1::SubmitRequest submit;
    submit.set_process_type(type);
    submit.mutable_input()->set_data(input);
    submit.set_request_id(request_id);
    return submit;
  }

  static v1::CallRequest CallOf(const std::string& pid,
                                const std::string& topic,
                                const std::string& data = "") {
    v1::CallRequest request;
    request.set_pid(pid);
    request.set_topic(topic);
    request.mutable_payload()->set_data(data);
    return request;
  }
  static v1::CallRequest StartOf(const std::string& name,
                                 const std::string& topic,
                                 const std::string& data = "") {
    v1::CallRequest request = CallOf("@" + name, topic, data);
    *request.mutable_start_if_absent() = SubmitOf("counter", "40");
    return request;
  }
  grpc::Status Call(const v1::CallRequest& request,
                    v1::CallResponse& response) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kPatience);
    return daemon_.stub().Call(&context, request, &response);
  }
  void Cancel(const std::string& pid) {
    grpc::ClientContext context;
    v1::CancelRequest request;
    request.set_pid(pid);
    v1::CancelResponse response;
    const grpc::Status status =
        daemon_.stub().Cancel(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
  }
  int LiveProcesses() {
    grpc::ClientContext context;
    v1::ListProcessesResponse response;
    const grpc::Status status =
        daemon_.stub().ListProcesses(&context, {}, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.processes_size();
  }

  ServedDaemon daemon_;
};

TEST(AnswerMargin, IsATenthAndAtMostAHundredMilliseconds) {
  EXPECT_EQ(AnswerMargin(absl::Milliseconds(200)), absl::Milliseconds(20));
  EXPECT_EQ(AnswerMargin(absl::Hours(1)), absl::Milliseconds(100));
}

TEST_F(StartsTest, RunAnswersWithTheSubmissionAndTheOutcome) {
  const Ran ran = Run(SubmitOf("echo", "hello"), kPatience);
  ASSERT_TRUE(ran.status.ok()) << ran.status.error_message();
  const v1::RunResponse& response = ran.response;
  EXPECT_EQ(response.outcome().result().data(), "hello");
  EXPECT_EQ(response.outcome().pid(), response.submitted().pid());
  EXPECT_EQ(response.submitted().durability(), v1::DURABILITY_VOLATILE);
  EXPECT_EQ(response.receipt(), v1::RECEIPT_MEMORY);
  EXPECT_FALSE(response.submitted().duplicate());
  EXPECT_EQ(ran.early_pid, response.submitted().pid());
}

TEST_F(StartsTest, FailureOfTheProcessIsNoErrorOfRun) {
  v1::SubmitRequest submit = SubmitOf("echo", "broken");
  submit.set_method("fail");
  const Ran ran = Run(submit, kPatience);
  ASSERT_TRUE(ran.status.ok()) << ran.status.error_message();
  EXPECT_EQ(ran.response.outcome().failure().message(), "broken");
}

TEST_F(StartsTest, RunNamesTheErrorOfTheStart) {
  const struct {
    const char* type;
    const char* method;
    StatusCode code;
    const char* reason;
    const char* field;
  } cases[] = {
      {"", "", StatusCode::INVALID_ARGUMENT, "INVALID_FIELD",
       "submit.process_type"},
      {"nosuch", "", StatusCode::NOT_FOUND, "UNKNOWN_PROCESS_TYPE", ""},
      {"echo", "refuse", StatusCode::INVALID_ARGUMENT, "INIT_REFUSED",
       "submit.input"}};
  for (const auto& c : cases) {
    v1::SubmitRequest submit = SubmitOf(c.type, "");
    submit.set_method(c.method);
    const Ran ran = Run(submit, kPatience);
    EXPECT_EQ(ran.status.error_code(), c.code) << c.reason;
    EXPECT_EQ(ReasonIn(ran.status), c.reason);
    EXPECT_EQ(FieldIn(ran.status), c.field);
    EXPECT_EQ(ran.early_pid, "");
  }
  grpc::ClientContext context;
  v1::RunResponse response;
  const grpc::Status empty =
      daemon_.stub().Run(&context, v1::RunRequest(), &response);
  EXPECT_EQ(FieldIn(empty), "submit");
}

TEST_F(StartsTest, DeadlineEndsTheWaitAndNamesTheProcessThatGoesOn) {
  const Ran ran = RunUntilLate(SubmitOf("order", kUnpaid));
  EXPECT_EQ(ReasonIn(ran.status), "DEADLINE_EXCEEDED");
  EXPECT_EQ(PidIn(ran.status), ran.early_pid);
  // The PID can be used, and nobody waits for the process any more.
  Cancel(ran.early_pid);
}

TEST_F(StartsTest, RepeatedRunWaitsForTheSameProcess) {
  const v1::SubmitRequest submit = SubmitOf("order", kUnpaid, "once");
  const Ran first = RunUntilLate(submit);
  ASSERT_NE(PidIn(first.status), "");
  const Ran second = RunUntilLate(submit);
  EXPECT_EQ(PidIn(second.status), PidIn(first.status));
  EXPECT_EQ(LiveProcesses(), 1);
  const Ran other = Run(SubmitOf("echo", "x", "once"), kPatience);
  EXPECT_EQ(ReasonIn(other.status), "REQUEST_ID_REUSED");
}

TEST_F(StartsTest, RunOfATakenNameWaitsForTheHolder) {
  v1::SubmitRequest submit = SubmitOf("counter", "40");
  submit.set_name("visits");
  submit.set_on_name_conflict(v1::SubmitRequest::NAME_CONFLICT_DELIVER);
  RunUntilLate(submit);
  v1::Message* const add = submit.add_messages();
  add->set_topic("add");
  add->mutable_payload()->set_data("2");
  add->mutable_payload()->set_content_type("application/json");
  std::thread ends([this] {
    v1::CallResponse response;
    std::string value;
    while (value != "42") {
      ASSERT_TRUE(Call(CallOf("@visits", "get"), response).ok());
      value = response.result().data();
    }
    Cancel("@visits");
  });
  const Ran ran = Run(submit, kPatience);
  ends.join();
  ASSERT_TRUE(ran.status.ok()) << ran.status.error_message();
  EXPECT_TRUE(ran.response.submitted().delivered());
  EXPECT_EQ(ran.response.outcome().result().data(), "42");
}

TEST_F(StartsTest, ClientThatIsKilledLeavesTheProcessAndNoWait) {
  std::vector<std::string> known;
  for (int i = 0; i < 20 || (known.empty() && i < 200); ++i) {
    grpc::ClientContext context;
    v1::RunRequest request;
    *request.mutable_submit() = SubmitOf("order", kUnpaid);
    v1::RunResponse response;
    std::thread killer([&context, i] {
      std::this_thread::sleep_for(milliseconds(i));
      context.TryCancel();
    });
    EXPECT_EQ(daemon_.stub().Run(&context, request, &response).error_code(),
              StatusCode::CANCELLED);
    killer.join();
    for (const auto& [key, value] : context.GetServerInitialMetadata()) {
      if (key == "actord-pid") known.emplace_back(value.begin(), value.end());
    }
  }
  ASSERT_FALSE(known.empty());
  // An ended process would refuse the cancel.
  for (const std::string& pid : known) Cancel(pid);
  // The daemon ends, which it could not with an unfinished call.
}

TEST_F(StartsTest, CallStartsTheHolderOfTheNameOnce) {
  v1::CallResponse response;
  grpc::Status status = Call(StartOf("visits", "add", "2"), response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.result().data(), "42");
  EXPECT_TRUE(response.started());
  const std::string pid = response.pid();
  response.Clear();
  status = Call(StartOf("visits", "add", "1"), response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.result().data(), "43");
  EXPECT_FALSE(response.started());
  EXPECT_EQ(response.pid(), pid);
}

TEST_F(StartsTest, CallWithoutAStartStillStartsNothing) {
  v1::CallResponse response;
  EXPECT_EQ(ReasonIn(Call(CallOf("@visits", "get"), response)),
            "NAME_NOT_FOUND");
  EXPECT_EQ(LiveProcesses(), 0);
}

TEST_F(StartsTest, ManyCallersAtOnceStartOneProcess) {
  constexpr int kRounds = 200;
  constexpr int kCallers = 4;
  for (int round = 0; round < kRounds; ++round) {
    const std::string name = "n" + std::to_string(round);
    std::atomic<int> waiting{kCallers};
    std::atomic<int> started{0};
    std::vector<std::string> pids(kCallers);
    std::vector<std::thread> callers;
    for (int i = 0; i < kCallers; ++i) {
      callers.emplace_back([&, i] {
        --waiting;
        while (waiting.load() != 0) std::this_thread::yield();
        v1::CallResponse response;
        const grpc::Status status = Call(StartOf(name, "add", "1"), response);
        EXPECT_TRUE(status.ok()) << status.error_message();
        pids[static_cast<size_t>(i)] = response.pid();
        if (response.started()) ++started;
      });
    }
    for (std::thread& caller : callers) caller.join();
    EXPECT_EQ(started.load(), 1) << round;
    EXPECT_EQ(std::set<std::string>(pids.begin(), pids.end()).size(), 1u);
    v1::CallResponse response;
    ASSERT_TRUE(Call(CallOf("@" + name, "get"), response).ok());
    EXPECT_EQ(response.result().data(), std::to_string(40 + kCallers));
    Cancel(response.pid());
  }
}

// The holder ends while others call it: each call is answered by a process, or
// learns that the process had the call and has ended.
TEST_F(StartsTest, HolderThatEndsIsReplacedOrToldHonestly) {
  constexpr int kCalls = 200;
  std::atomic<bool> stop{false};
  std::thread ender([&] {
    while (!stop.load()) {
      grpc::ClientContext context;
      v1::CancelRequest request;
      request.set_pid("@visits");
      v1::CancelResponse response;
      daemon_.stub().Cancel(&context, request, &response);
    }
  });
  std::atomic<int> started{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 2; ++i) {
    callers.emplace_back([&] {
      for (int call = 0; call < kCalls; ++call) {
        v1::CallResponse response;
        const grpc::Status status = Call(StartOf("visits", "get"), response);
        if (status.ok()) {
          EXPECT_EQ(response.result().data(), "40");
          if (response.started()) ++started;
        } else {
          EXPECT_EQ(ReasonIn(status), "CALLEE_ENDED") << status.error_message();
          EXPECT_NE(PidIn(status), "");
        }
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  stop = true;
  ender.join();
  EXPECT_GT(started.load(), 1) << "the holder has ended at least once";
}

TEST_F(StartsTest, CallRefusesAStartThatItCannotMake) {
  const struct {
    void (*spoil)(v1::CallRequest&);
    const char* field;
    const char* reason = "INVALID_FIELD";
  } cases[] = {
      {[](auto& r) { r.set_pid("@visits@bob"); }, "pid"},
      {[](auto& r) { r.set_pid("1.2.3.4"); }, "pid"},
      {[](auto& r) { r.mutable_start_if_absent()->set_name("x"); },
       "start_if_absent.name"},
      {[](auto& r) { r.mutable_start_if_absent()->set_request_id("x"); },
       "start_if_absent.request_id"},
      {[](auto& r) { r.mutable_start_if_absent()->clear_process_type(); },
       "start_if_absent.process_type"},
      {[](auto& r) { r.mutable_start_if_absent()->set_priority(99); },
       "start_if_absent.priority"},
      {[](auto& r) {
         r.mutable_start_if_absent()->mutable_input()->set_data("no number");
       },
       "start_if_absent.input", "INIT_REFUSED"},
  };
  for (const auto& c : cases) {
    v1::CallRequest request = StartOf("visits", "get");
    c.spoil(request);
    v1::CallResponse response;
    const grpc::Status status = Call(request, response);
    EXPECT_EQ(FieldIn(status), c.field) << status.error_message();
    EXPECT_EQ(ReasonIn(status), c.reason) << status.error_message();
    EXPECT_EQ(LiveProcesses(), 0) << c.field;
  }
  // Without a store no process is durable, and nothing is started.
  v1::CallRequest once = StartOf("visits", "get");
  once.set_message_id("once");
  v1::CallResponse response;
  EXPECT_EQ(ReasonIn(Call(once, response)), "DURABILITY_OFF");
  EXPECT_EQ(LiveProcesses(), 0);
}

TEST_F(StartsTest, FiltersTakeTheNameOfAProcess) {
  v1::SubmitRequest submit = SubmitOf("order", kUnpaid);
  submit.set_name("orders/17");
  submit.set_on_name_conflict(v1::SubmitRequest::NAME_CONFLICT_DELIVER);
  RunUntilLate(submit);
  const std::string other = daemon_.SubmitStubbornOrder();
  v1::ListYieldsRequest yields;
  yields.set_pid("@orders/17");
  v1::ListYieldsResponse waiting;
  grpc::ClientContext context;
  ASSERT_TRUE(daemon_.stub().ListYields(&context, yields, &waiting).ok());
  ASSERT_EQ(waiting.yields_size(), 1);
  EXPECT_NE(waiting.yields(0).pid(), other);

  const auto refusal = [this](auto method, auto request, auto response) {
    grpc::ClientContext asked;
    return ReasonIn((daemon_.stub().*method)(&asked, request, &response));
  };
  using Stub = v1::ActorService::Stub;
  v1::ListProcessesRequest children;
  children.set_parent_pid("@nobody");
  EXPECT_EQ(
      refusal(&Stub::ListProcesses, children, v1::ListProcessesResponse()),
      "NAME_NOT_FOUND");
  v1::ListCallsRequest calls;
  calls.set_callee_pid("@orders/17");
  EXPECT_EQ(refusal(&Stub::ListCalls, calls, v1::ListCallsResponse()), "");
  calls.set_pid("@nobody");
  EXPECT_EQ(refusal(&Stub::ListCalls, calls, v1::ListCallsResponse()),
            "NAME_NOT_FOUND");
  v1::ListDeadLettersRequest letters;
  letters.set_to_pid("@nobody");
  EXPECT_EQ(
      refusal(&Stub::ListDeadLetters, letters, v1::ListDeadLettersResponse()),
      "NAME_NOT_FOUND");
  v1::WatchProcessesRequest watch;
  watch.set_parent_pid("@nobody");
  grpc::ClientContext watching;
  const auto reader = daemon_.stub().WatchProcesses(&watching, watch);
  v1::WatchProcessesResponse event;
  EXPECT_FALSE(reader->Read(&event));
  EXPECT_EQ(ReasonIn(reader->Finish()), "NAME_NOT_FOUND");
}

}  // namespace
}  // namespace actord::daemon
