#include "tests/daemon/streams/stream_world.h"

#include <cstdint>
#include <optional>

#include "runtime/process/payload.h"
#include "runtime/process/pid.h"
#include "runtime/system/clock.h"

namespace actord::daemon {

StreamWorld::StreamWorld(uint64_t max_unsynced_bytes)
    : ids_({.bounds = {.ttl_ns = UINT64_MAX, .max = 1000},
            .durable = {.ttl_ns = UINT64_MAX, .max = 1000},
            .ids = {},
            .contents = {}},
           runtime::Clock::System()) {
  EXPECT_TRUE(disk.MakeDirectory("/srv").ok());
  runtime::OpenedStore::Options options;
  options.journal.directory = "/srv/store";
  options.journal.segment_bytes = 16 << 20;
  options.journal.max_record_bytes = 2 << 20;
  options.journal.max_unsynced_bytes = max_unsynced_bytes;
  options.journal.ring_bytes = 16 << 20;
  // So nothing is durable that nobody has asked for.
  options.journal.linger_ns = uint64_t{3600} * 1'000'000'000;
  options.journal.files = &disk;
  options.journal.seed = 1;
  options.failed = [](const absl::Status& status) { ADD_FAILURE() << status; };
  options.open_state =
      []() -> absl::StatusOr<std::unique_ptr<runtime::StateStore>> {
    return std::make_unique<runtime::MemoryStateStore>();
  };
  auto opened = runtime::OpenedStore::Open(std::move(options));
  EXPECT_TRUE(opened.ok()) << opened.status();
  store = *std::move(opened);
  EXPECT_TRUE(
      catalog.AddProcessType(&actord::kProcessType<Journaler>, "test").ok());
  runtime::RuntimeOptions runtime_options;
  runtime_options.workers = 2;
  runtime_options.store = store.get();
  auto created = runtime::Runtime::Create(runtime_options, catalog);
  EXPECT_TRUE(created.ok()) << created.status();
  runtime = *std::move(created);
  EXPECT_TRUE(runtime->Start().ok());
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                           &port);
  builder.RegisterCallbackGenericService(&service_);
  server_ = builder.BuildAndStart();
  stub = v1::ActorService::NewStub(grpc::CreateChannel(
      "127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials()));
}

StreamWorld::~StreamWorld() {
  disk.OpenGate();
  streams.CloseAll(absl::UnavailableError("the test is over"));
  server_->Shutdown();
  runtime->Shutdown(runtime::ShutdownMode::kNow, absl::InfiniteDuration());
  runtime.reset();
}

grpc::ServerGenericBidiReactor* StreamWorld::Service::CreateReactor(
    grpc::GenericCallbackServerContext* context) {
  EXPECT_EQ(context->method(), "/actord.v1.ActorService/SendStream");
  return Stream::Begin(
      std::make_shared<SendStream>(*world_.runtime, world_.ids_, world_.streams,
                                   Access(), std::nullopt),
      *context, world_.unread_);
}

std::string StreamWorld::NewProcess(bool durable) {
  std::promise<absl::StatusOr<runtime::Pid>> told;
  auto pid = told.get_future();
  runtime::SubmitRequest request{Journaler::kName, "", {}, {}};
  request.durable = durable;
  runtime->Submit(request, [&told](const absl::StatusOr<runtime::Pid>& done) {
    told.set_value(done);
  });
  const absl::StatusOr<runtime::Pid> made = pid.get();
  EXPECT_TRUE(made.ok()) << made.status();
  return made.ok() ? runtime::FormatPid(*made) : "";
}

std::string StreamWorld::TextOf(const std::string& pid) {
  std::promise<absl::StatusOr<runtime::Payload>> told;
  auto text = told.get_future();
  runtime->Call(*runtime::ParsePid(pid), {"get", {}},
                [&told](absl::StatusOr<runtime::Payload> answer) {
                  told.set_value(std::move(answer));
                });
  const absl::StatusOr<runtime::Payload> answer = text.get();
  return answer.ok() ? answer->bytes : answer.status().ToString();
}

StreamClient::StreamClient(StreamWorld& world) {
  context_.set_deadline(std::chrono::system_clock::now() + kStreamPatience);
  stream_ = world.stub->SendStream(&context_);
  reading_ = std::async(std::launch::async, [this] {
    v1::SendStreamResponse response;
    while (stream_->Read(&response)) {
      const absl::MutexLock lock(&mutex_);
      responses_.push_back(response);
    }
    return stream_->Finish();
  });
}

StreamClient::~StreamClient() {
  if (!reading_.valid()) return;
  context_.TryCancel();
  (void)reading_.get();
}

void StreamClient::Write(const std::string& pid,
                         const std::vector<std::string>& payloads) {
  v1::SendStreamRequest request;
  for (const std::string& payload : payloads) {
    v1::SendRequest& item = *request.add_sends();
    item.set_pid(pid);
    item.mutable_payload()->set_data(payload);
  }
  Write(request);
}

void StreamClient::Write(const v1::SendStreamRequest& request) {
  // False if the stream has ended; its status says why.
  (void)stream_->Write(request);
}

grpc::Status StreamClient::End() { return reading_.get(); }

uint64_t StreamClient::acked() const {
  const absl::MutexLock lock(&mutex_);
  return responses_.empty() ? 0 : responses_.back().acked_count();
}

std::vector<v1::SendStreamResponse> StreamClient::responses() const {
  const absl::MutexLock lock(&mutex_);
  return responses_;
}

std::vector<v1::SendRefusal> StreamClient::refusals() const {
  std::vector<v1::SendRefusal> all;
  for (const v1::SendStreamResponse& response : responses()) {
    all.insert(all.end(), response.refusals().begin(),
               response.refusals().end());
  }
  return all;
}

}  // namespace actord::daemon
