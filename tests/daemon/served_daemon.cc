#include "tests/daemon/served_daemon.h"

#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <utility>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace actord::daemon {
namespace {

template <typename Detail>
Detail DetailIn(const grpc::Status& status) {
  google::rpc::Status details;
  details.ParseFromString(status.error_details());
  Detail detail;
  for (const auto& any : details.details()) {
    if (any.UnpackTo(&detail)) return detail;
  }
  return detail;
}

}  // namespace

Config ServedDaemon::Defaults() {
  Config config;
  config.listen = {"127.0.0.1:0"};
  for (const char* plugin : {"echo", "counter", "order"}) {
    config.plugins.push_back(std::string(ACTORD_TEST_PLUGIN_DIR) + "/" +
                             plugin + ".so");
  }
  config.log_level = runtime::LogLevel::kError;
  config.runtime.workers = 2;
  config.runtime.external_commands = {"payment.*"};
  return config;
}

ServedDaemon::ServedDaemon(const Config& config, CallCheck check)
    : logger_(config.log_format, config.log_level) {
  auto daemon = Daemon::Start(config, logger_, std::move(check));
  if (!daemon.ok()) {
    ADD_FAILURE() << daemon.status();
    std::abort();  // no test can run without the daemon
  }
  daemon_ = *std::move(daemon);
  exit_ = std::async(std::launch::async, [this] { return daemon_->Run(); });
  // gRPC shares connections between channels with equal arguments. This daemon
  // needs a connection of its own.
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  channel_ =
      grpc::CreateCustomChannel(daemon_->addresses().front(),
                                grpc::InsecureChannelCredentials(), arguments);
  stub_ = v1::ActorService::NewStub(channel_);
}

ServedDaemon::~ServedDaemon() {
  if (!exit_.valid()) return;
  daemon_->RequestShutdown(runtime::ShutdownMode::kNow);
  exit_.wait();
}

ExitStatus ServedDaemon::WaitForExit() { return exit_.get(); }

std::string ServedDaemon::Submit(const std::string& type,
                                 const std::string& input,
                                 const std::string& method) {
  grpc::ClientContext context;
  v1::SubmitRequest request;
  request.set_process_type(type);
  request.set_method(method);
  request.mutable_input()->set_data(input);
  v1::SubmitResponse response;
  const grpc::Status status = stub_->Submit(&context, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response.pid();
}

v1::Outcome ServedDaemon::Await(const std::string& pid) {
  return BeginAwait(pid).get();
}

std::future<v1::Outcome> ServedDaemon::BeginAwait(const std::string& pid) {
  struct Call {
    std::optional<grpc::ClientContext> context{std::in_place};
    v1::AwaitRequest request;
    v1::AwaitResponse response;
    std::promise<v1::Outcome> outcome;
  };
  auto call = std::make_shared<Call>();
  call->context->set_deadline(std::chrono::system_clock::now() + kPatience);
  call->request.set_pid(pid);
  auto outcome = call->outcome.get_future();
  stub_->async()->Await(&*call->context, &call->request, &call->response,
                        [call](const grpc::Status& status) {
                          EXPECT_TRUE(status.ok()) << status.error_message();
                          // The context must not hold the last reference to
                          // the channel: gRPC's own thread must not destroy it.
                          call->context.reset();
                          call->outcome.set_value(call->response.outcome());
                        });
  return outcome;
}

std::string ServedDaemon::SubmitStubbornOrder() {
  const std::string pid =
      Submit("order", R"({"order": "o", "amount_cents": 1, "hold_ms": 0})");
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  v1::ListYieldsRequest request;
  request.set_pid(pid);
  v1::ListYieldsResponse response;
  while (response.yields_size() == 0) {
    if (std::chrono::steady_clock::now() > deadline) {
      ADD_FAILURE() << "the order does not ask for its payment";
      break;
    }
    grpc::ClientContext context;
    stub_->ListYields(&context, request, &response);
  }
  return pid;
}

std::string ReasonIn(const grpc::Status& status) {
  return DetailIn<google::rpc::ErrorInfo>(status).reason();
}

std::string PidIn(const grpc::Status& status) {
  const auto info = DetailIn<google::rpc::ErrorInfo>(status);
  const auto pid = info.metadata().find("pid");
  return pid == info.metadata().end() ? "" : pid->second;
}

std::string FieldIn(const grpc::Status& status) {
  const auto bad = DetailIn<google::rpc::BadRequest>(status);
  return bad.field_violations_size() == 0 ? ""
                                          : bad.field_violations(0).field();
}

}  // namespace actord::daemon
