// Tests that every method of the contract begins in the call gate. The tests
// walk the compiled descriptor, so they cover a new method too.
#include <google/protobuf/descriptor.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>

#include "tests/support/sanitizers.h"
#if ACTORD_ADDRESS_SANITIZER
#include <sanitizer/allocator_interface.h>
#endif

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "runtime/process/errors.h"
#include "tests/daemon/served_daemon.h"

namespace actord::daemon {
namespace {

using google::protobuf::MethodDescriptor;
using google::protobuf::ServiceDescriptor;

const ServiceDescriptor& Contract() {
  return *google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(
      v1::ActorService::service_full_name());
}

// A call as the check of the gate saw it.
struct SeenCall {
  std::string method;
  std::string address;
  absl::Time deadline;
  std::string traceparent;
  uint64_t connection = 0;
  std::string identity;
};

// A check that records every caller and returns the status of SetAnswer.
class RecordingCheck {
 public:
  CallCheck check() {
    return [this](const Caller& caller) -> absl::StatusOr<Access> {
      const absl::MutexLock lock(&mutex_);
      const auto trace = caller.trace();
      seen_.push_back({caller.method().name(), caller.address(),
                       caller.deadline(),
                       trace ? runtime::TraceparentOf(*trace) : "",
                       caller.connection(), std::string(caller.identity())});
      if (!answer_.ok()) return answer_;
      return Access();
    };
  }
  void SetAnswer(const absl::Status& answer) {
    const absl::MutexLock lock(&mutex_);
    answer_ = answer;
  }
  std::vector<SeenCall> TakeSeen() {
    const absl::MutexLock lock(&mutex_);
    return std::exchange(seen_, {});
  }

 private:
  absl::Mutex mutex_;
  absl::Status answer_ ABSL_GUARDED_BY(mutex_);
  std::vector<SeenCall> seen_ ABSL_GUARDED_BY(mutex_);
};

class CallGateTest : public ::testing::Test {
 protected:
  // Calls `method`, unary or stream, with one message of `bytes`. Returns the
  // status of the call.
  grpc::Status Call(const MethodDescriptor& method, const std::string& bytes,
                    grpc::ClientContext* context) {
    context->set_deadline(std::chrono::system_clock::now() + kPatience);
    const std::string path =
        absl::StrCat("/", method.service()->full_name(), "/", method.name());
    grpc::CompletionQueue queue;
    const auto stream =
        grpc::GenericStub(daemon_.channel()).PrepareCall(context, path, &queue);
    const auto wait = [&queue] {
      void* tag = nullptr;
      bool ok = false;
      return queue.Next(&tag, &ok) && ok;
    };
    const grpc::Slice slice(bytes);
    const grpc::ByteBuffer message(&slice, 1);
    grpc::ByteBuffer response;
    stream->StartCall(nullptr);
    wait();
    // The write fails if the daemon has already ended the call.
    stream->WriteLast(message, {}, nullptr);
    wait();
    for (bool more = true; more;) {
      stream->Read(&response, nullptr);
      more = wait();
    }
    grpc::Status status;
    stream->Finish(&status, nullptr);
    wait();
    return status;
  }

  RecordingCheck recorded_;
  ServedDaemon daemon_{ServedDaemon::Defaults(), recorded_.check()};
};

// Field 1 as a text of 127 bytes, which are missing. No message of the contract
// can be parsed from it.
constexpr char kGarbage[] = "\x0a\x7f";

TEST_F(CallGateTest, RefusesACallOfEveryMethodBeforeItsRequestIsRead) {
  recorded_.SetAnswer(absl::PermissionDeniedError("not today"));
  for (int i = 0; i < Contract().method_count(); ++i) {
    const MethodDescriptor& method = *Contract().method(i);
    SCOPED_TRACE(method.name());
    grpc::ClientContext context;
    // If the request had been read, the status would be INVALID_ARGUMENT.
    const grpc::Status status = Call(method, kGarbage, &context);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED);
    EXPECT_EQ(status.error_message(), "not today");
    const std::vector<SeenCall> seen = recorded_.TakeSeen();
    ASSERT_EQ(seen.size(), 1u);
    EXPECT_EQ(seen[0].method, method.name());
  }
}

TEST_F(CallGateTest, SeesEveryCallThatItLetsThrough) {
  for (int i = 0; i < Contract().method_count(); ++i) {
    const MethodDescriptor& method = *Contract().method(i);
    SCOPED_TRACE(method.name());
    grpc::ClientContext context;
    const grpc::Status status = Call(method, kGarbage, &context);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    const std::vector<SeenCall> seen = recorded_.TakeSeen();
    ASSERT_EQ(seen.size(), 1u);
    EXPECT_EQ(seen[0].method, method.name());
  }
}

TEST_F(CallGateTest, RefusalKeepsItsDetails) {
  recorded_.SetAnswer(runtime::Retryable(absl::StatusCode::kResourceExhausted,
                                         "CLIENT_QUOTA", "too many",
                                         absl::Seconds(1)));
  for (const char* name : {"Send", "Call", "SendStream", "WatchProcesses"}) {
    grpc::ClientContext context;
    const grpc::Status status =
        Call(*Contract().FindMethodByName(name), "", &context);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_EQ(ReasonIn(status), "CLIENT_QUOTA") << name;
  }
}

TEST_F(CallGateTest, RefusedCallHasNoEffect) {
  const std::string pid = daemon_.Submit("counter", "1");
  recorded_.SetAnswer(absl::PermissionDeniedError("no"));
  v1::SendRequest request;
  request.set_pid(pid);
  request.set_topic("stop");
  grpc::ClientContext refused;
  Call(*Contract().FindMethodByName("Send"), request.SerializeAsString(),
       &refused);
  recorded_.SetAnswer(absl::OkStatus());
  request.set_topic("add");
  request.mutable_payload()->set_data("41");
  for (const char* topic : {"add", "stop"}) {
    request.set_topic(topic);
    grpc::ClientContext context;
    v1::SendResponse response;
    EXPECT_TRUE(daemon_.stub().Send(&context, request, &response).ok());
  }
  EXPECT_EQ(daemon_.Await(pid).result().data(), "42");
}

TEST_F(CallGateTest, CallerHasAddressMethodDeadlineAndTrace) {
  const MethodDescriptor& method = *Contract().FindMethodByName("GetStatus");
  const std::string trace =
      "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  grpc::ClientContext traced;
  traced.AddMetadata("traceparent", trace);
  EXPECT_TRUE(Call(method, "", &traced).ok());
  const std::vector<SeenCall> seen = recorded_.TakeSeen();
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].address.substr(0, 10), "127.0.0.1:");
  EXPECT_EQ(seen[0].traceparent, trace);
  EXPECT_GT(seen[0].deadline, absl::Now());
  // gRPC sends a timeout with at least two digits, and rounds it up.
  EXPECT_LE(seen[0].deadline, absl::Now() + 1.1 * absl::FromChrono(kPatience));
  EXPECT_NE(seen[0].connection, 0u);
  EXPECT_EQ(seen[0].identity, "");
}

TEST_F(CallGateTest, CallerHasNeitherDeadlineNorTraceIfTheClientSendsNone) {
  grpc::ClientContext context;
  v1::GetStatusResponse response;
  EXPECT_TRUE(daemon_.stub().GetStatus(&context, {}, &response).ok());
  std::vector<SeenCall> seen = recorded_.TakeSeen();
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].deadline, absl::InfiniteFuture());
  EXPECT_EQ(seen[0].traceparent, "");

  // With two values, one may come from another party, so neither counts.
  grpc::ClientContext twice;
  for (int i = 0; i < 2; ++i) {
    twice.AddMetadata(
        "traceparent",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
  }
  EXPECT_TRUE(daemon_.stub().GetStatus(&twice, {}, &response).ok());
  seen = recorded_.TakeSeen();
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].traceparent, "");
}

#if ACTORD_ADDRESS_SANITIZER
thread_local size_t allocations = 0;

void CountAllocation(const volatile void* /*block*/, size_t /*bytes*/) {
  ++allocations;
}
void CountFree(const volatile void* /*block*/) {}

TEST(CallGate, AdmitsACallWithoutAnAllocation) {
  ASSERT_GT(
      __sanitizer_install_malloc_and_free_hooks(CountAllocation, CountFree), 0);
  const MethodDescriptor& method = *Contract().FindMethodByName("Send");
  ConnectionRegistry connections;
  const CallGate gate(nullptr, {.connections = &connections});
  grpc::CallbackServerContext context;
  allocations = 0;
  const auto counted = std::make_unique<int>();
  ASSERT_EQ(allocations, 1u) << "allocations are not counted";
  const absl::StatusOr<Caller> caller = gate.Enter(CallSource(context), method);
  EXPECT_EQ(allocations, 1u);
  EXPECT_EQ(&caller->method(), &method);
}
#endif

}  // namespace
}  // namespace actord::daemon
