#include "tests/fuzz/service_in_process.h"

#include <grpcpp/server_builder.h>
#include <grpcpp/support/channel_arguments.h>

#include <string>
#include <utility>

#include "absl/synchronization/notification.h"
#include "runtime/system/clock.h"
#include "tests/fuzz/input.h"

namespace actord::fuzz {
namespace {

daemon::Config ConfigOfService() {
  daemon::Config config;
  for (const char* plugin : {"echo", "counter", "order"}) {
    config.plugins.push_back(std::string(ACTORD_TEST_PLUGIN_DIR) + "/" +
                             plugin + ".so");
  }
  config.log_level = runtime::LogLevel::kError;
  config.force_timeout = absl::Seconds(5);
  config.runtime.workers = 1;
  config.runtime.external_commands = {"payment.*"};
  config.runtime.incarnation = 5;
  config.runtime.seed = 1;
  config.runtime.max_processes = 1000;
  config.runtime.max_payload_bytes = 4096;
  return config;
}

}  // namespace

ServiceInProcess::ServiceInProcess()
    : config_(ConfigOfService()),
      logger_(config_.log_format, config_.log_level),
      shutdown_(config_.force_timeout, deadline_) {
  const absl::Status status = Start();
  Require(status.ok(), status.ToString());
  Submit("counter", "", "counters/one");
  Submit("order", R"({"order": "o", "amount_cents": 1, "hold_ms": 0})", "");
  Submit("counter", "", "");
}

absl::Status ServiceInProcess::Start() {
  absl::Status status = shutdown_.Start();
  if (!status.ok()) return status;
  runtime::RuntimeOptions options = config_.runtime;
  options.log = [](runtime::LogLevel, std::string_view) {};
  auto runtime = runtime::Runtime::Create(options, catalog_);
  if (!runtime.ok()) return runtime.status();
  runtime_ = *std::move(runtime);
  status = plugins_.Load(config_, runtime_->host(), catalog_, nullptr);
  if (status.ok()) status = runtime_->Start();
  if (!status.ok()) return status;
  plugin_load_threads_ =
      std::make_unique<daemon::PluginLoadThreads>(plugins_, *runtime_, logger_);
  connections_ = std::make_unique<daemon::Connections>(
      config_, config_.runtime.max_payload_bytes, logger_,
      runtime::Clock::System());
  service_ = std::make_unique<daemon::ActorService>(daemon::ServiceContext{
      config_, runtime::Clock::System(), catalog_, plugins_,
      *plugin_load_threads_, *runtime_, runtime_->request_ids(),
      runtime_->message_ids(), shutdown_, logger_, *connections_, nullptr,
      nullptr, nullptr});
  grpc::ServerBuilder builder;
  builder.RegisterService(service_.get());
  server_ = builder.BuildAndStart();
  if (server_ == nullptr) return absl::InternalError("no server");
  channel_ = server_->InProcessChannel(grpc::ChannelArguments());
  return absl::OkStatus();
}

void ServiceInProcess::Submit(const char* type, const char* input,
                              const char* name) {
  absl::Notification begun;
  runtime_->Submit({.process_type = type, .input = {input, ""}, .name = name},
                   [&begun](const absl::StatusOr<runtime::Pid>& pid) {
                     Require(pid.ok(), pid.status().ToString());
                     begun.Notify();
                   });
  begun.WaitForNotification();
}

ServiceInProcess::~ServiceInProcess() {
  shutdown_.Request(runtime::ShutdownMode::kNow, absl::ZeroDuration());
  const auto result = shutdown_.Carry(
      {.shutdown =
           [this](runtime::ShutdownMode mode, absl::Duration timeout) {
             return runtime_->Shutdown(mode, timeout);
           },
       .hurry = [this] { runtime_->HurryShutdown(); },
       .so_far = [] { return runtime::ShutdownReport{}; }});
  Require(!result.stuck, "the processes end");
  service_->CloseStreams();
  Require(plugin_load_threads_->Stop(absl::Seconds(60)), "the loading ends");
  channel_.reset();
  server_->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(5));
  server_->Wait();
  server_.reset();
  service_.reset();
  connections_.reset();
  plugin_load_threads_.reset();
  plugins_.DestroyHandlers();
  runtime_.reset();
}

}  // namespace actord::fuzz
