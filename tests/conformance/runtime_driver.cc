// The driver over the real runtime, whose workers run by hand.
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "handlers/commands/groups.h"
#include "handlers/commands/log_write.h"
#include "handlers/commands/names.h"
#include "handlers/commands/process_end.h"
#include "handlers/commands/process_send.h"
#include "handlers/commands/process_spawn.h"
#include "handlers/commands/timer_sleep.h"
#include "runtime/actors/process_failure.h"
#include "runtime/process/listed/failed_step.h"
#include "tests/conformance/driver.h"
#include "tests/conformance/puppet.h"
#include "tests/runtime/stepped_core.h"

namespace actord::conformance {
namespace {

using runtime::EndKind;
using runtime::FromAbi;
using runtime::Owner;

// The handlers that the harness has, too.
constexpr const actord_command_handler* kBuiltin[] = {
    &kCommandHandler<handlers::GroupJoin>,
    &kCommandHandler<handlers::GroupLeave>,
    &kCommandHandler<handlers::GroupMembers>,
    &kCommandHandler<handlers::GroupSend>,
    &kCommandHandler<handlers::LogWrite>,
    &kCommandHandler<handlers::NameLookup>,
    &kCommandHandler<handlers::NameRegister>,
    &kCommandHandler<handlers::NameRelease>,
    &kCommandHandler<handlers::ProcessCancel>,
    &kCommandHandler<handlers::ProcessSend>,
    &kCommandHandler<handlers::ProcessSpawn>,
    &kCommandHandler<handlers::ProcessTerminate>,
    &kCommandHandler<handlers::TimerSleep>};

std::string KindName(EndKind kind) {
  switch (kind) {
    case EndKind::kResult:
      return "done";
    case EndKind::kFailed:
      return "failed";
    case EndKind::kThrew:
      return "threw";
    case EndKind::kInitRefused:
      return "refused";
    case EndKind::kCancelled:
      return "cancelled";
    case EndKind::kTerminated:
      return "terminated";
    case EndKind::kLimit:
      return "limit";
  }
  return "?";
}

Driver::Answer AnswerOf(absl::StatusCode code, absl::string_view message) {
  return {static_cast<Code>(code), std::string(message)};
}

// `logged`: gets the lines of processes; borrowed.
runtime::RuntimeOptions Options(std::vector<Driver::Line>& logged) {
  runtime::RuntimeOptions options;
  // "process PID (TYPE @NAME): TEXT"
  options.log = [&logged](runtime::LogLevel level, std::string_view line) {
    constexpr std::string_view kBegin = "process ";
    if (!line.starts_with(kBegin)) return;
    line.remove_prefix(kBegin.size());
    const auto pid = runtime::ParsePid(line.substr(0, line.find(' ')));
    if (!pid.ok()) return;
    line.remove_prefix(line.find(": ") + 2);
    logged.push_back(
        {runtime::ToAbi(*pid), static_cast<int>(level), std::string(line)});
  };
  options.failed = [&logged](const runtime::ProcessFailure& failure,
                             const runtime::StepLines& lines) {
    for (const auto& [level, text] : lines.list) {
      logged.push_back({.from = runtime::ToAbi(failure.pid),
                        .level = level,
                        .text = text,
                        .step_failed = true});
    }
  };
  options.external_commands = {"ext.*"};
  options.max_payload_bytes = kMaxPayloadBytes;
  options.max_processes = kMaxProcesses;
  return options;
}

class NoListener final : public runtime::SubscriptionListener {
  void Wake() override {}
};

class RuntimeDriver final : public Driver {
 public:
  explicit RuntimeDriver(int workers) : core_(workers, Options(logged_)) {
    Add({.plugin = "builtin", .commands = Created(kBuiltin)});
    Add({.plugin = "puppets",
         .version = "1",
         .process_types = {kPuppets.process_types,
                           kPuppets.process_types +
                               kPuppets.process_type_count},
         .commands = Created({kPuppets.commands, kPuppets.command_count})});
    auto opened =
        core().topics.Open(Owner::kAny, {"*"}, std::make_shared<NoListener>());
    EXPECT_TRUE(opened.ok()) << opened.status();
    published_ = *std::move(opened);
  }

  ~RuntimeDriver() override {
    core().topics.Close(*published_);
    for (const auto& command : created_) {
      command.descriptor->destroy(command.self);
    }
  }
  RuntimeDriver(const RuntimeDriver&) = delete;
  RuntimeDriver& operator=(const RuntimeDriver&) = delete;

  Pid Nobody() override {
    return actord_pid{core().options.node, core().options.incarnation, 0xfffff,
                      1};
  }
  Submission Submit(const std::string& type, const std::string& method,
                    const std::string& input) override {
    std::optional<absl::StatusOr<runtime::Pid>> answer;
    core().admission.Submit(
        runtime::SubmitRequest{type, method, {input, ""}, {}}, runtime::Pid{},
        /*keep_result=*/true, [&answer](absl::StatusOr<runtime::Pid> pid) {
          answer = std::move(pid);
        });
    core_.Settle();
    if (!answer) return {{}, {Code::kUnknown, "no answer"}};
    if (answer->ok()) return {runtime::ToAbi(**answer), {}};
    return {{},
            {static_cast<Code>(answer->status().code()),
             std::string(answer->status().message())}};
  }
  bool Send(const Pid& to, const std::string& topic,
            const std::string& text) override {
    return core()
        .SendFromOutside(Owner::kAny, FromAbi(to),
                         {topic, {text, "text/plain"}}, nullptr)
        .status.ok();
  }
  bool Cancel(const Pid& pid, const std::string& reason) override {
    return Control(pid, ACTORD_EVENT_CANCEL, reason);
  }
  bool Terminate(const Pid& pid, const std::string& reason) override {
    return Control(pid, runtime::kEventTerminate, reason);
  }
  std::optional<Answer> Call(const Pid& to, const std::string& topic,
                             const std::string& text) override {
    auto answer = std::make_shared<std::optional<Answer>>();
    core().calls.Begin(Owner::kAny, FromAbi(to), {topic, {text, "text/plain"}},
                       [answer](absl::StatusOr<runtime::Payload> payload) {
                         *answer = payload.ok()
                                       ? Answer{Code::kOk, payload->bytes}
                                       : AnswerOf(payload.status().code(),
                                                  payload.status().message());
                       });
    core_.Settle();
    return *answer;
  }
  void Advance(uint64_t ms) override {
    // A timer fires up to two ticks of the wheel, 131 us, later than it says.
    constexpr uint64_t kTicksNs = 200'000;
    for (uint64_t i = 0; i < ms; ++i) Pass(1'000'000);
    Pass(kTicksNs);
  }

  std::vector<Held> AllHeld() override {
    std::vector<Held> all;
    for (const runtime::ExternalYield& yield : List("")) {
      all.push_back({runtime::ToAbi(yield.token.pid), yield.command,
                     yield.payload.bytes});
    }
    return all;
  }
  bool Complete(const std::string& command, const std::string& text) override {
    return AnswerOldest(command, {.payload = {text, "text/plain"}});
  }
  bool Fail(const std::string& command, Code code,
            const std::string& text) override {
    return AnswerOldest(command, {.code = static_cast<absl::StatusCode>(code),
                                  .payload = {text, ""}});
  }

  Upgraded Upgrade(int version) override {
    const runtime::RuntimeStats before = core().Stats();
    const auto types = core_.catalog.Add(
        {.plugin = "puppets",
         .version = std::to_string(version),
         .process_types = {version == 2 ? &kProcessType<Version<2>>
                                        : &kProcessType<Version<3>>},
         .replace = true,
         .upgrade_processes = true});
    EXPECT_TRUE(types.ok()) << types.status();
    for (uint32_t next = 0; types.ok();) {
      next = core().TellOfUpgrade({types->front()}, next).next_slot;
      if (next == 0) break;
    }
    core_.Settle();
    const runtime::RuntimeStats after = core().Stats();
    return {after.upgrades - before.upgrades,
            after.upgrades_declined - before.upgrades_declined};
  }

  std::optional<std::pair<std::string, Answer>> OutcomeOf(
      const Pid& pid) override {
    std::optional<std::pair<std::string, Answer>> end;
    core().results.Await(
        Owner::kAny, FromAbi(pid),
        [&end](absl::StatusOr<runtime::Outcome> outcome) {
          if (!outcome.ok()) return;
          end.emplace(KindName(outcome->kind),
                      outcome->kind == EndKind::kResult
                          ? Answer{Code::kOk, outcome->result.bytes}
                          : AnswerOf(outcome->code, outcome->message));
        },
        [] { return false; }, [] { return absl::NotFoundError("none"); });
    return end;
  }
  Pid HolderOf(const std::string& name) override {
    const auto pid = core().names.Find(Owner::kNobody, name);
    return pid.ok() ? Pid(runtime::ToAbi(*pid)) : Pid();
  }
  std::vector<Publication> TakePublished() override {
    std::vector<Publication> all;
    for (const auto& item : published_->Take({}).items) {
      const runtime::Envelope& content = *item.publication->content;
      all.push_back({content.from, std::string(content.topic()),
                     std::string(runtime::View(content.payload().bytes))});
    }
    return all;
  }
  std::vector<Line> TakeLogged() override { return std::exchange(logged_, {}); }
  uint64_t DeadLetters() override { return core().Stats().dead_letters; }
  void Settle() override { core_.Settle(); }

 private:
  using Command = runtime::CatalogEntries::Command;

  runtime::Runtime::Core& core() { return *core_.core; }
  std::vector<Command> Created(
      std::span<const actord_command_handler* const> handlers) {
    std::vector<Command> commands;
    for (const actord_command_handler* handler : handlers) {
      Command& command = commands.emplace_back(Command{handler, nullptr});
      EXPECT_EQ(handler->create(core().host.abi(), &command.self), ACTORD_OK)
          << handler->command;
    }
    created_.insert(created_.end(), commands.begin(), commands.end());
    return commands;
  }
  void Add(const runtime::CatalogEntries& entries) {
    const auto types = core_.catalog.Add(entries);
    EXPECT_TRUE(types.ok()) << types.status();
  }
  bool Control(const Pid& pid, uint16_t event, const std::string& reason) {
    return core()
        .delivery.Control(Owner::kAny, FromAbi(pid), event, reason, core().lane)
        .ok();
  }
  void Pass(uint64_t ns) {
    core_.clock.manual.AdvanceNs(ns);
    core_.WakeAll();
    core_.Settle();
  }
  std::vector<runtime::ExternalYield> List(const std::string& command) {
    constexpr size_t kAll = 1000;
    return core()
        .tasks.List({.command = command, .pid = {}}, 0, kAll, SIZE_MAX)
        .yields;
  }
  bool AnswerOldest(const std::string& command,
                    const runtime::YieldResult& result) {
    const auto waiting = List(command);
    if (waiting.empty()) return false;
    return core().tasks.Complete({waiting.front().token, 0}, result) ==
           runtime::CompleteAnswer::kAccepted;
  }

  std::vector<Line> logged_;
  runtime::SteppedCore core_;
  // Of all topics; it lives as long as the core.
  std::shared_ptr<runtime::Subscription> published_;
  std::vector<Command> created_;  // destroyed by the destructor
};

}  // namespace

std::unique_ptr<Driver> MakeRuntimeDriver(int workers) {
  return std::make_unique<RuntimeDriver>(workers);
}

}  // namespace actord::conformance
