#include "tests/fuzz/service/service_in_process.h"

#include <grpcpp/server_builder.h>
#include <grpcpp/support/channel_arguments.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "identity/token_layout.h"
#include "runtime/system/clock.h"
#include "tests/fuzz/input.h"
#include "tests/identity/tokens.h"

namespace actord::fuzz {
namespace {

std::string MakeDirectory() {
  std::string name = "/tmp/actord-fuzz-XXXXXX";
  Require(mkdtemp(name.data()) != nullptr, "a directory is made");
  return name;
}

std::string MakeTokens(const std::string& directory) {
  std::string text;
  for (uint8_t number = 0; number < 3; ++number) {
    identity::StoredToken token = identity::ClientToken(
        number, number == 0 ? "all" : absl::StrCat("owner", number));
    if (number < 2) {
      token.identity.role = identity::Role::kAdmin;
      token.identity.work = {"*"};
    }
    token.identity.sees =
        number == 0 ? identity::Sees::kAll : identity::Sees::kOwn;
    text += identity::FormatTokenTable(token);
  }
  const std::string path = directory + "/tokens.toml";
  std::ofstream(path) << text;
  Require(chmod(path.c_str(), 0600) == 0, "the file of tokens is private");
  return path;
}

daemon::Config ConfigOfService(const std::string& directory) {
  daemon::Config config;
  config.auth_tokens = MakeTokens(directory);
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

std::string ServiceInProcess::Authorization(size_t which) {
  return "Bearer " + identity::TokenText(static_cast<uint8_t>(which));
}

ServiceInProcess::ServiceInProcess()
    : directory_(MakeDirectory()),
      config_(ConfigOfService(directory_)),
      logger_(config_.log_format, config_.log_level),
      shutdown_(config_.force_timeout, deadline_) {
  const absl::Status status = Start();
  Require(status.ok(), status.ToString());
  Submit("counter", "", "counters/one");
  Submit("order", R"({"order": "o", "amount_cents": 1, "hold_ms": 0})", "");
  Submit("counter", "", "");
}

absl::Status ServiceInProcess::OpenStore() {
  runtime::OpenedStore::Options options;
  options.journal.directory = directory_ + "/store";
  options.journal.segment_bytes = 4 << 20;
  options.journal.max_record_bytes = 256 << 10;
  options.journal.max_unsynced_bytes = 2 << 20;
  options.journal.ring_bytes = 8 << 20;
  options.failed = [](const absl::Status& status) {
    Require(false, status.ToString());
  };
  auto store = runtime::OpenedStore::Open(std::move(options));
  if (!store.ok()) return store.status();
  store_ = *std::move(store);
  backups_ = std::make_unique<daemon::BackupThread>(*store_);
  histories_ = std::make_unique<daemon::HistoryThread>(*store_, UINT64_MAX);
  return histories_->Start();
}

absl::Status ServiceInProcess::Start() {
  absl::Status status = shutdown_.Start();
  if (status.ok()) status = OpenStore();
  if (!status.ok()) return status;
  auto access =
      daemon::AccessControl::Open(config_, logger_, runtime::Clock::System());
  if (!access.ok()) return access.status();
  access_ = *std::move(access);
  runtime::RuntimeOptions options = config_.runtime;
  options.store = store_.get();
  options.counts_owners = true;
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
  links_ = std::make_unique<daemon::YieldLinks>(
      daemon::LinkKey{1},
      [this](const runtime::YieldToken& yield) {
        return runtime_->remote_tasks().FateOf(yield);
      },
      runtime::Clock::System());
  links_->SetUrl("https://links.example.com");
  service_ = std::make_unique<daemon::ActorService>(daemon::ServiceContext{
      config_, runtime::Clock::System(), catalog_, plugins_,
      *plugin_load_threads_, *runtime_, runtime_->request_ids(),
      runtime_->message_ids(), shutdown_, logger_, *connections_, access_.get(),
      [this](const daemon::Caller& caller) {
        return access_->Admit(caller.source(), caller.method(),
                              caller.request_bytes());
      },
      nullptr, nullptr, backups_.get(), histories_.get(), links_.get()});
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
           [this](runtime::ShutdownMode mode, absl::Duration timeout,
                  runtime::DurableAtEnd) {
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
  backups_.reset();
  histories_.reset();
  service_.reset();
  connections_.reset();
  plugin_load_threads_.reset();
  plugins_.DestroyHandlers();
  runtime_.reset();
  store_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

}  // namespace actord::fuzz
