// Any bytes as the requests of any method of the service. Every call is
// answered: with a response that parses, or with an error that has a reason and
// blames the client.
//
// An input is: method (2 bytes, method_choice.h), flags (1 byte), and the bytes
// of the request. Flags: 1 leaves the call open, 2 cancels it; the next two
// bits choose the token. A stream of requests has its messages one after the
// other, each after its length in 2 bytes.
#include <google/protobuf/descriptor.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/stubs/logging.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/byte_buffer.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "actord/text.h"
#include "actord/v1/actor_service.pb.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/service/method_choice.h"
#include "tests/fuzz/service/service_in_process.h"

namespace actord::fuzz {
namespace {

using google::protobuf::MethodDescriptor;

// After so many inputs a new service replaces the old one, which has kept
// something of many of them.
constexpr int kInputsOfOneService = 2000;
// Of a method that waits for something.
constexpr std::chrono::milliseconds kPatience{20};
// Of a method that never waits; only a failing target reaches this limit.
constexpr std::chrono::seconds kNeverReached{60};
constexpr int kMaxResponses = 8;

grpc::ByteBuffer ToBuffer(std::string_view bytes) {
  const grpc::Slice slice(bytes.data(), bytes.size());
  return {&slice, 1};
}

std::string ToText(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string text;
  if (!buffer.Dump(&slices).ok()) return text;
  for (const grpc::Slice& slice : slices) {
    text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return text;
}

bool Waits(const MethodDescriptor& method) {
  for (const char* name : {"Await", "Call", "Run", "Shutdown"}) {
    if (method.name() == name) return true;
  }
  return method.server_streaming();
}

class Client {
 public:
  explicit Client(const std::shared_ptr<grpc::Channel>& channel)
      : stub_(channel) {}

  void Call(const MethodDescriptor& method, uint8_t flags, Input input) {
    grpc::ClientContext context;
    context.AddMetadata("authorization",
                        ServiceInProcess::Authorization(flags >> 2 & 3));
    const auto now = std::chrono::system_clock::now();
    context.set_deadline(Waits(method) ? now + kPatience : now + kNeverReached);
    stream_ = stub_.PrepareCall(
        &context,
        absl::StrCat("/", method.service()->full_name(), "/", method.name()),
        &queue_);
    stream_->StartCall(this);
    bool goes_on = Wait();
    while (goes_on) {
      const bool is_last = !method.client_streaming();
      goes_on = Write(is_last ? std::string(input.rest()) : NextMessage(input));
      if (is_last || input.empty()) break;
    }
    if (goes_on && (flags & 1) == 0) {
      stream_->WritesDone(this);
      Wait();
    }
    for (int i = 0; i < kMaxResponses && Read(method); ++i) {
    }
    if ((flags & 2) != 0) context.TryCancel();
    Finish(method, context);
    stream_ = nullptr;  // before its context
  }

 private:
  static std::string NextMessage(Input& input) {
    const size_t length = input.Byte() + 256 * (input.Byte() % 16);
    std::string message;
    for (size_t i = 0; i < length && !input.empty(); ++i) {
      message.push_back(static_cast<char>(input.Byte()));
    }
    return message;
  }

  // Whether the operation that was begun last has succeeded.
  bool Wait() {
    void* tag = nullptr;
    bool ok = false;
    Require(queue_.Next(&tag, &ok), "the queue is open");
    return ok;
  }

  bool Write(const std::string& message) {
    stream_->Write(ToBuffer(message), this);
    return Wait();
  }

  bool Read(const MethodDescriptor& method) {
    grpc::ByteBuffer buffer;
    stream_->Read(&buffer, this);
    if (!Wait()) return false;
    const std::unique_ptr<google::protobuf::Message> response(
        google::protobuf::MessageFactory::generated_factory()
            ->GetPrototype(method.output_type())
            ->New());
    Require(response->ParseFromString(ToText(buffer)), "a response is whole");
    return true;
  }

  void Finish(const MethodDescriptor& method, grpc::ClientContext& context) {
    grpc::Status status;
    // A stream that nobody reads any more would wait.
    if (method.server_streaming()) context.TryCancel();
    stream_->Finish(&status, this);
    Require(Wait(), "a call ends");
    if (!status.ok()) CheckError(method, status);
  }

  static void CheckError(const MethodDescriptor& method,
                         const grpc::Status& status) {
    const std::string text =
        absl::StrCat(method.name(), ": ", static_cast<int>(status.error_code()),
                     " ", status.error_message());
    switch (status.error_code()) {
      case grpc::StatusCode::CANCELLED:
        return;  // by the client
      case grpc::StatusCode::DEADLINE_EXCEEDED:
        Require(Waits(method), "a call hangs: " + text);
        return;
      case grpc::StatusCode::UNKNOWN:
      case grpc::StatusCode::INTERNAL:
      case grpc::StatusCode::DATA_LOSS:
        Require(false, "an error blames the daemon: " + text);
        return;
      default:
        break;
    }
    Require(IsUtf8(status.error_message()), "a message is text");
    google::rpc::Status details;
    Require(details.ParseFromString(status.error_details()), "details parse");
    google::rpc::ErrorInfo info;
    Require(details.details_size() > 0 && details.details(0).UnpackTo(&info) &&
                !info.reason().empty(),
            "an error has a reason: " + text);
  }

  grpc::GenericStub stub_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream_;
};

void CallAnyMethod(Input input) {
  // Made at once, so that it ends before the objects that RocksDB makes with
  // it.
  static std::unique_ptr<ServiceInProcess> service =
      std::make_unique<ServiceInProcess>();
  static int inputs = 0;
  if (service->ends() || ++inputs % kInputsOfOneService == 0) {
    service.reset();
    service = std::make_unique<ServiceInProcess>();
  }
  const google::protobuf::LogSilencer no_word_about_each_bad_text;
  const auto& methods =
      *v1::SubmitRequest::descriptor()->file()->pool()->FindServiceByName(
          "actord.v1.ActorService");
  const uint8_t low = input.Byte();
  const auto& method =
      ChooseMethod(methods, static_cast<uint16_t>(low | input.Byte() << 8));
  const uint8_t flags = input.Byte();
  Client(service->channel()).Call(method, flags, input);
}

}  // namespace
}  // namespace actord::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  actord::fuzz::CallAnyMethod({data, size});
  return 0;
}
