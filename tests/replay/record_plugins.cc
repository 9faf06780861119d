// actord_record_plugins: runs the example plugins in the real runtime, on its
// threads, and writes the records of all their calls.
//
// Usage: actord_record_plugins FILE TEXT PLUGIN...
//
// TEXT is a file to count the words of.
#include <cstdio>
#include <cstdlib>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "handlers/builtin_handlers.h"
#include "handlers/loader/plugin_loader.h"
#include "runtime/runtime.h"
#include "tests/replay/records_file.h"

namespace actord::replay {
namespace {

using runtime::Pid;

[[noreturn]] void Fail(const std::string& what) {
  std::printf("%s\n", what.c_str());
  std::_Exit(1);
}
void Check(const absl::Status& status) {
  if (!status.ok()) Fail(status.ToString());
}

class Plugged {
 public:
  explicit Plugged(RecordsFile& records, const std::string& directory) {
    runtime::RuntimeOptions options;
    options.workers = 2;
    options.external_commands = {"payment.*"};
    options.step_sink = &records;
    auto created = runtime::Runtime::Create(options, catalog_);
    Check(created.status());
    runtime_ = *std::move(created);
    handlers::BuiltinOptions builtin;
    builtin.file_read_directories = {directory};
    auto made = handlers::CreateBuiltinHandlers(builtin, runtime_->host());
    Check(made.status());
    handlers_.push_back(*std::move(made));
    for (const auto& handler : handlers_.back().instances()) {
      Check(catalog_.AddCommand(handler.descriptor, handler.self,
                                handlers::kBuiltinPlugin));
    }
    for (const actord_process_type* type : handlers::BuiltinProcessTypes()) {
      Check(catalog_.AddProcessType(type, handlers::kBuiltinPlugin));
    }
  }
  ~Plugged() {
    runtime_->Shutdown(runtime::ShutdownMode::kNow, absl::InfiniteDuration());
    handlers_.clear();
  }
  void Load(const char* path) {
    auto loaded = handlers::Plugin::Load(path);
    Check(loaded.status());
    plugins_.push_back(*std::move(loaded));
    for (const actord_process_type* type : plugins_.back()->process_types()) {
      Check(catalog_.AddProcessType(type, plugins_.back()->info().name));
    }
  }
  void Start() {
    if (!runtime_->Start().ok()) std::abort();
  }
  // Empty: Init has refused.
  Pid Submit(const std::string& type, const std::string& method,
             const std::string& input) {
    std::promise<Pid> begun;
    runtime_->Submit({.process_type = type,
                      .method = method,
                      .input = {input, ""},
                      .messages = {}},
                     [&begun](absl::StatusOr<Pid> answer) {
                       begun.set_value(answer.value_or(Pid{}));
                     });
    return begun.get_future().get();
  }
  void Send(const Pid& to, const std::string& topic, const std::string& text) {
    Check(runtime_->Send(to, {topic, {text, "text/plain"}}));
  }
  std::string Call(const Pid& to, const std::string& topic,
                   const std::string& text,
                   const std::string& content_type = "text/plain") {
    std::promise<std::string> answered;
    runtime_->Call(to, {topic, {text, content_type}},
                   [&answered](absl::StatusOr<runtime::Payload> answer) {
                     answered.set_value(answer.ok()
                                            ? answer->bytes
                                            : answer.status().ToString());
                   });
    return answered.get_future().get();
  }
  void Await(const Pid& pid) {
    std::promise<void> ended;
    runtime_->Await(pid, [&ended](const absl::StatusOr<runtime::Outcome>&) {
      ended.set_value();
    });
    ended.get_future().get();
  }
  void Cancel(const Pid& pid) {
    runtime_->Cancel(pid, "by the test").IgnoreError();
  }
  // Completes the yields that wait for somebody outside, until `pid` has ended.
  void Pay(const Pid& pid, absl::StatusCode code) {
    while (runtime_->Describe(pid).ok()) {
      for (const runtime::ExternalYield& yield :
           runtime_->ListYields({}, 0, 10, 1 << 20).yields) {
        runtime_->CompleteYield(yield.token, {code, {"paid", "text/plain"}});
      }
    }
  }

 private:
  runtime::Catalog catalog_;
  std::vector<std::unique_ptr<handlers::Plugin>> plugins_;
  std::unique_ptr<runtime::Runtime> runtime_;
  std::vector<handlers::HandlerSet> handlers_;
};

void Counter(Plugged& plugged) {
  const Pid counter = plugged.Submit("counter", "run", "10");
  plugged.Send(counter, "add", "5");
  plugged.Send(counter, "nonsense", "");
  plugged.Call(counter, "add", "no number");
  plugged.Call(counter, "get", "");
  plugged.Call(counter, "stop", "");
  plugged.Await(counter);
  const Pid cancelled = plugged.Submit("counter", "run", "");
  plugged.Cancel(cancelled);
  plugged.Await(cancelled);
  plugged.Submit("counter", "run", "no number");
}

void Order(Plugged& plugged) {
  const std::string order = R"({"order":"o","amount_cents":100,"hold_ms":1})";
  plugged.Pay(plugged.Submit("order", "run", order), absl::StatusCode::kOk);
  plugged.Pay(plugged.Submit("order", "run", order),
              absl::StatusCode::kPermissionDenied);
  plugged.Await(plugged.Submit(
      "order", "run",
      R"({"order":"o","amount_cents":1,"hold_ms":1,"payment_timeout_ms":1})"));
  const Pid held = plugged.Submit(
      "order", "run", R"({"order":"o","amount_cents":1,"hold_ms":100000})");
  plugged.Cancel(held);
  plugged.Await(held);
  plugged.Submit("order", "run", "{}");
}

void Account(Plugged& plugged) {
  const Pid from = plugged.Submit("account", "run", R"({"balance":10})");
  const Pid to = plugged.Submit("account", "run", "");
  const std::string order =
      R"({"id":"1","amount":4,"to":")" + runtime::FormatPid(to) + R"("})";
  for (int i = 0; i < 2; ++i) {
    const std::string answer = plugged.Call(from, "transfer", order, "");
    if (answer != R"({"balance":6})") Fail("account: " + answer);
  }
  const std::string balance = plugged.Call(to, "balance", "", "");
  if (balance != R"({"balance":4})") Fail("account: " + balance);
  plugged.Call(from, "transfer", "no order");
  plugged.Send(from, "nonsense", "");
  for (const Pid& pid : {from, to}) {
    plugged.Cancel(pid);
    plugged.Await(pid);
  }
}

void All(Plugged& plugged, const std::string& text) {
  plugged.Await(plugged.Submit("echo", "run", "again"));
  plugged.Await(plugged.Submit("echo", "fail", "why"));
  plugged.Submit("echo", "refuse", "no");
  Counter(plugged);
  Order(plugged);
  Account(plugged);
  const auto of_file = [](const std::string& path) {
    return R"({"path":")" + path + R"(","chunk_bytes":1024})";
  };
  plugged.Await(plugged.Submit("wordcount", "run", of_file(text)));
  plugged.Await(plugged.Submit("wordcount", "run", of_file("/no/such/file")));
}

}  // namespace
}  // namespace actord::replay

int main(int argc, char** argv) {
  using actord::replay::Fail;
  if (argc < 4) Fail("usage: actord_record_plugins FILE TEXT PLUGIN...");
  actord::replay::RecordsFile records(argv[1]);
  const std::string text = argv[2];
  {
    actord::replay::Plugged plugged(records, text.substr(0, text.rfind('/')));
    for (int i = 3; i < argc; ++i) plugged.Load(argv[i]);
    plugged.Start();
    actord::replay::All(plugged, text);
  }
  if (!records.Close()) Fail(std::string("cannot write ") + argv[1]);
  std::printf("%lu calls are recorded\n", records.records());
  return 0;
}
