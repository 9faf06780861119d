// actorctl stuck

#include <poll.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/calls/error.h"
#include "client/cli/paging.h"
#include "client/commands/commands.h"
#include "client/commands/failures/pending_calls.h"
#include "client/commands/failures/stuck_calls.h"
#include "client/commands/failures/stuck_yields.h"
#include "client/output/message_json.h"
#include "client/output/text.h"
#include "nlohmann/json.hpp"

namespace actord::client {
namespace {

struct StuckOptions {
  std::string older_than = "1m";
  std::string type;
};

// Pause between the two samples of a process whose waiting time the daemon does
// not know.
constexpr absl::Duration kBetweenLooks = absl::Seconds(1);
// Maximum number of processes that are sampled twice.
constexpr size_t kMaxSuspects = 1000;

std::string WaitedFor(const StuckProcess& stuck) {
  return stuck.since == absl::InfinitePast()
             ? ">" + ShortDuration(kBetweenLooks)
             : ShortDuration(absl::Now() - stuck.since);
}

Item StuckItem(const StuckProcess& stuck) {
  return {.json =
              [&stuck] {
                Json json{{"pid", stuck.pid},
                          {"process_type", stuck.process_type},
                          {"what", stuck.what},
                          {"why", stuck.why}};
                if (stuck.since != absl::InfinitePast()) {
                  json["since"] = Rfc3339(stuck.since);
                }
                if (!stuck.chain.empty()) json["chain"] = stuck.chain;
                return json;
              },
          .name = [&stuck] { return stuck.pid; },
          .cells =
              [&stuck] {
                return std::vector<std::string>{stuck.pid, stuck.process_type,
                                                WaitedFor(stuck),
                                                OneLine(stuck.why)};
              }};
}

// Finds the processes that wait, kind by kind. Each Add function returns the
// error of a call.
class StuckSearch {
 public:
  StuckSearch(Invocation& invocation, const StuckOptions& options,
              absl::Duration older_than)
      : invocation_(invocation),
        options_(options),
        now_(absl::Now()),
        latest_(now_ - older_than),
        writer_(invocation.out(), invocation.style(),
                {{.heading = "PID"},
                 {.heading = "TYPE"},
                 {.heading = "WAITS", .number = true},
                 {.heading = "WHY"}}),
        yields_(invocation.style().format == Format::kTable) {}

  absl::Status Run() {
    absl::Status status = FindYields();
    if (status.ok()) status = AddCalls();
    if (status.ok()) status = AddQuarantined();
    // Behind what is rarer.
    yields_.ForEach(now_, [this](const StuckProcess& stuck) { Write(stuck); });
    writer_.EndPage();
    for (const v1::ProcessState state :
         {v1::PROCESS_STATE_BLOCKED, v1::PROCESS_STATE_RUNNING,
          v1::PROCESS_STATE_READY}) {
      if (status.ok()) status = Suspect(state);
    }
    if (status.ok()) status = AddSuspects();
    if (!status.ok()) return status;
    writer_.Finish();
    invocation_.SayEmpty(writer_,
                         "no command and no process has waited for "
                         "more than " +
                             ShortDuration(now_ - latest_));
    return absl::OkStatus();
  }

 private:
  [[nodiscard]] bool IsOfType(const std::string& type) const {
    return options_.type.empty() || options_.type == type;
  }

  // A list of yields is sorted, so the first that is too young ends it.
  absl::Status FindYields() {
    v1::ListYieldsRequest request;
    request.set_page_size(kMaxPageSize);
    do {
      const auto response =
          invocation_.client().ListYields(request, invocation_.Quick());
      if (!response.ok()) return response.status();
      for (const v1::Yield& yield : response->yields()) {
        if (ToTime(yield.create_time()) > latest_) return absl::OkStatus();
        if (!IsOfType(yield.process_type())) continue;
        explained_.insert(yield.pid());
        graph_.AddCommand(yield.pid(), OneLine(yield.command(), kForeignWidth));
        yields_.Add(yield);
      }
      request.set_page_token(response->next_page_token());
    } while (!request.page_token().empty());
    return absl::OkStatus();
  }

  absl::Status AddCalls() {
    std::vector<StuckProcess> found;
    const absl::Status status = FindStuckCalls(
        invocation_, {now_, now_ - latest_, options_.type}, graph_, found);
    for (const StuckProcess& stuck : found) {
      // A process that only owes an answer may be stuck in its step, or have a
      // full mailbox.
      if (stuck.what != "OWES") explained_.insert(stuck.pid);
      Write(stuck);
    }
    return status;
  }

  absl::Status AddQuarantined() {
    v1::ListQuarantineRequest request;
    request.set_process_type(options_.type);
    return ForEachElement(
        request, 0,
        [&](const v1::ListQuarantineRequest& page) {
          return invocation_.client().ListQuarantine(page, invocation_.Quick());
        },
        [](const v1::ListQuarantineResponse& response) -> const auto& {
          return response.processes();
        },
        [&](const v1::QuarantinedProcess& process) {
          const absl::Time since = ToTime(process.since());
          if (since > latest_) return;
          Write({.pid = process.pid(),
                 .process_type = process.process_type(),
                 .what = "QUARANTINE",
                 .since = since,
                 .why = absl::StrCat(
                     "is in quarantine, and ",
                     CountedNoun(process.mailbox_messages(), "message"),
                     process.mailbox_messages() == 1 ? " waits: " : " wait: ",
                     OneLine(process.reason(), kForeignWidth))});
        },
        [] {});
  }

  // Remembers the processes in this state that may wait.
  absl::Status Suspect(v1::ProcessState state) {
    v1::ListProcessesRequest request;
    request.set_process_type(options_.type);
    request.set_state(state);
    return ForEachElement(
        request, 0,
        [&](const v1::ListProcessesRequest& page) {
          return invocation_.client().ListProcesses(page, invocation_.Quick());
        },
        [](const v1::ListProcessesResponse& response) -> const auto& {
          return response.processes();
        },
        [&](const v1::Process& process) {
          // Nobody waits for a blocked process without messages.
          const bool waits = state != v1::PROCESS_STATE_BLOCKED ||
                             process.mailbox_messages() > 0;
          if (!waits || ToTime(process.create_time()) > latest_ ||
              explained_.contains(process.pid())) {
            return;
          }
          if (suspects_.size() < kMaxSuspects) {
            suspects_.push_back(process);
          } else {
            ++unseen_;
          }
        },
        [] {});
  }

  // Samples the suspects again. A suspect that has taken no step since the
  // first sample is stuck.
  absl::Status AddSuspects() {
    if (suspects_.empty()) return absl::OkStatus();
    pollfd interrupt{.fd = invocation_.environment().cancellation.fd(),
                     .events = POLLIN,
                     .revents = 0};
    poll(&interrupt, 1,
         static_cast<int>(absl::ToInt64Milliseconds(kBetweenLooks)));
    for (const v1::Process& before : suspects_) {
      v1::GetProcessRequest request;
      request.set_pid(before.pid());
      const auto response =
          invocation_.client().GetProcess(request, invocation_.Quick());
      if (!response.ok()) {
        if (DetailsOf(response.status()).reason == "PROCESS_ENDED") continue;
        return response.status();
      }
      const v1::Process& process = response->process();
      if (process.steps() == before.steps() &&
          process.state() == before.state()) {
        Write(Describe(process));
      }
    }
    writer_.EndPage();
    if (unseen_ > 0) {
      invocation_.Complain(absl::StrCat(
          "only the first ", kMaxSuspects, " suspects were checked again, and ",
          unseen_, " were not; --type checks fewer"));
    }
    return absl::OkStatus();
  }

  static StuckProcess Describe(const v1::Process& process) {
    const std::string messages =
        process.mailbox_messages() == 0
            ? ""
            : "; " + CountedNoun(process.mailbox_messages(), "message") +
                  (process.mailbox_messages() == 1 ? " waits" : " wait");
    StuckProcess stuck{.pid = process.pid(),
                       .process_type = process.process_type(),
                       .what = {},
                       .since = absl::InfinitePast(),
                       .why = {}};
    switch (process.state()) {
      case v1::PROCESS_STATE_RUNNING:
        stuck.what = "STEP";
        stuck.why = "has been in one step for over 1s" + messages;
        break;
      case v1::PROCESS_STATE_READY:
        stuck.what = "READY";
        stuck.why = "is ready, and no worker has run it" + messages;
        break;
      default:
        stuck.what = "MAILBOX";
        stuck.why = "waits for " +
                    CountedNoun(process.yields_outstanding(), "command") +
                    " and takes no messages" + messages;
        break;
    }
    return stuck;
  }

  void Write(const StuckProcess& stuck) { writer_.Add(StuckItem(stuck)); }

  Invocation& invocation_;
  const StuckOptions& options_;
  const absl::Time now_;
  const absl::Time latest_;  // a younger wait is not stuck
  ListWriter writer_;
  // Processes whose wait for a command or an answer has a line.
  absl::flat_hash_set<std::string> explained_;
  CallGraph graph_;
  StuckYields yields_;
  std::vector<v1::Process> suspects_;
  uint64_t unseen_ = 0;
};

ExitStatus RunStuck(Invocation& invocation, const StuckOptions& options) {
  const auto older_than = ParseDuration(options.older_than);
  if (!older_than.ok()) {
    return invocation.Fail(UsageError(absl::StrCat(
        "--older-than: ", std::string(older_than.status().message()))));
  }
  const absl::Status status =
      StuckSearch(invocation, options, *older_than).Run();
  return status.ok() ? ExitStatus::kDone : invocation.Fail(status);
}

constexpr char kStuckFooter[] = R"(
Lists everything that has waited for longer than --older-than:
- external commands, with the reason why they wait. Processes of one type that wait for the
  same command without a worker share a line, which has the PID of the oldest; -o wide and
  the formats for programs list each process
- processes that have called another process and wait for its answer, with the process for
  which that one waits, and so on. DEADLOCK: they wait for each other in a circle, and no
  message wakes them
- processes that owe an answer to a program outside (OWES)
- processes in quarantine
- processes of that age that are blocked with messages in the mailbox, that run one step, or
  that are ready and do not run
The daemon does not record since when processes of the last kind wait. So stuck samples them
twice, one second apart, and prints ">1s". It asks for all blocked, running and ready
processes.

Examples:
  actorctl stuck
  actorctl stuck --type order --older-than 10m
  actorctl stuck -o jsonl | jq -r 'select(.what == "YIELD") | .pid'
)";

}  // namespace

void AddStuck(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<StuckOptions>();
  CLI::App* command = app.add_subcommand(
      "stuck",
      "List commands and processes that have waited too long, and why");
  command->footer(kStuckFooter);
  command
      ->add_option("--older-than", options->older_than,
                   "Only commands and processes that have waited for longer")
      ->type_name("DURATION")
      ->capture_default_str();
  command->add_option("--type", options->type, "Only processes of this type")
      ->type_name("NAME");
  command->callback([&chosen, options] {
    chosen = [options](Invocation& invocation) {
      return RunStuck(invocation, *options);
    };
  });
}

}  // namespace actord::client
