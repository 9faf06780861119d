#include "bench/bench_runtime.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/durable/bench_store.h"
#include "bench/program_files.h"
#include "bench/temporary_directory.h"
#include "handlers/builtin_handlers.h"
#include "runtime/system/absl_text.h"

namespace actord::bench {
namespace {

void MustBeOk(std::string_view what, const absl::Status& status) {
  if (!status.ok()) {
    Fail(absl::StrCat(runtime::ToAbsl(what), ": ", status.message()));
  }
}

}  // namespace

void Fail(const std::string& message) {
  std::fflush(stdout);
  std::fprintf(stderr, "actord_bench: %s\n", message.c_str());
  // Threads are running, so an orderly shutdown is not possible.
  std::_Exit(1);
}

void Expect(std::string_view what, uint64_t expected, uint64_t actual) {
  if (expected == actual) return;
  Fail(absl::StrCat("wrong result: ", runtime::ToAbsl(what), " should be ",
                    expected, " and is ", actual));
}

class BenchRuntime::OwnStore {
 public:
  [[nodiscard]] const BenchStore& store() const { return store_; }

 private:
  const TemporaryDirectory directory_;
  const BenchStore store_{directory_.path() + "/store"};
};

BenchRuntime::BenchRuntime(const BenchRuntimeOptions& options) {
  if (options.with_store) own_store_ = std::make_unique<OwnStore>();
  const runtime::RuntimeOptions& given = options;
  auto created = runtime::Runtime::Create(
      own_store_ == nullptr ? given : own_store_->store().With(given),
      catalog_);
  MustBeOk("cannot create the runtime", created.status());
  runtime_ = *std::move(created);
  LoadHandlers();
  LoadPlugin();
  MustBeOk("cannot start the runtime", runtime_->Start());
}

BenchRuntime::~BenchRuntime() {
  const runtime::ShutdownReport report =
      runtime_->Shutdown(runtime::ShutdownMode::kNow, absl::InfiniteDuration());
  Expect("the number of processes that do not end", 0, report.stuck);
  handlers_.clear();
}

void BenchRuntime::LoadHandlers() {
  auto builtin = handlers::CreateBuiltinHandlers({}, runtime_->host());
  MustBeOk("cannot create the built-in handlers", builtin.status());
  handlers_.push_back(*std::move(builtin));
  for (const auto& handler : handlers_.back().instances()) {
    MustBeOk("cannot add a built-in handler",
             catalog_.AddCommand(handler.descriptor, handler.self,
                                 handlers::kBuiltinPlugin));
  }
}

void BenchRuntime::LoadPlugin() {
  auto loaded = handlers::Plugin::Load(BenchPluginPath());
  MustBeOk("cannot load the benchmark's plugin", loaded.status());
  plugin_ = *std::move(loaded);
  const std::string name = plugin_->info().name;
  for (const actord_process_type* type : plugin_->process_types()) {
    MustBeOk("cannot add a process type", catalog_.AddProcessType(type, name));
  }
  auto made = plugin_->CreateHandlers(runtime_->host());
  MustBeOk("cannot create the benchmark's handlers", made.status());
  handlers_.push_back(*std::move(made));
  for (const auto& handler : handlers_.back().instances()) {
    MustBeOk("cannot add a handler",
             catalog_.AddCommand(handler.descriptor, handler.self, name));
  }
}

runtime::Pid BenchRuntime::Submit(std::string_view process_type,
                                  std::string_view input, bool durable) {
  std::promise<absl::StatusOr<runtime::Pid>> promise;
  auto future = promise.get_future();
  runtime::SubmitRequest request{.process_type = std::string(process_type),
                                 .method = {},
                                 .input = {std::string(input), {}},
                                 .messages = {}};
  request.durable = durable;
  runtime_->Submit(request, [&promise](absl::StatusOr<runtime::Pid> pid) {
    promise.set_value(std::move(pid));
  });
  const auto pid = future.get();
  MustBeOk("cannot submit", pid.status());
  return *pid;
}

std::string BenchRuntime::Await(const runtime::Pid& pid) {
  std::promise<absl::StatusOr<runtime::Outcome>> promise;
  auto future = promise.get_future();
  runtime_->Await(pid, [&promise](absl::StatusOr<runtime::Outcome> outcome) {
    promise.set_value(std::move(outcome));
  });
  // If a message was lost or a process failed, a process that depends on it
  // waits forever.
  while (future.wait_for(std::chrono::seconds(1)) ==
         std::future_status::timeout) {
    ExpectNothingLost();
  }
  auto outcome = future.get();
  MustBeOk("cannot await", outcome.status());
  if (outcome->kind != runtime::EndKind::kResult) {
    Fail(absl::StrCat("a process failed: ", outcome->message));
  }
  return std::move(outcome->result.bytes);
}

void BenchRuntime::Send(const runtime::Pid& to, std::string_view topic,
                        std::string_view payload) {
  MustBeOk("cannot send",
           runtime_->Send(to, {.topic = std::string(topic),
                               .payload = {std::string(payload), {}}}));
}

void BenchRuntime::ExpectNothingLost() const {
  const runtime::RuntimeStats stats = runtime_->Stats();
  Expect("the number of dead letters", 0, stats.dead_letters);
  Expect("the number of failed processes", 0, stats.processes_failed);
}

void BenchRuntime::ExpectMessages(uint64_t count) const {
  ExpectNothingLost();
  Expect("the number of messages", count, runtime_->Stats().messages_sent);
}

}  // namespace actord::bench
