// actorctl quarantine

#include <memory>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "client/cli/paging.h"
#include "client/commands/commands.h"
#include "client/output/message_json.h"
#include "client/output/text.h"
#include "nlohmann/json.hpp"

namespace actord::client {
namespace {

struct QuarantineListOptions {
  std::string type;
  uint64_t limit = 0;
};

struct QuarantineRetryOptions {
  std::vector<std::string> pids;
  std::string type;
  bool all = false;
};

// Unit: characters of the reason.
constexpr size_t kQuarantineReasonWidth = 100;

std::string PluginOfQuarantined(const v1::QuarantinedProcess& process) {
  if (process.plugin().empty()) return "-";
  return OneLine(process.plugin() + " " + process.plugin_version());
}

Item QuarantinedItem(const v1::QuarantinedProcess& process) {
  return {.json = [&process] { return ToJson(process); },
          .name = [&process] { return process.pid(); },
          .cells =
              [&process] {
                return std::vector<std::string>{
                    process.pid(),
                    process.process_type(),
                    process.name().empty() ? "-" : process.name(),
                    ShortDuration(absl::Now() - ToTime(process.since())),
                    EnumName(process.cause()),
                    process.signal().empty() ? "-" : process.signal(),
                    PluginOfQuarantined(process),
                    WithThousands(process.mailbox_messages()),
                    OneLine(process.reason(), kQuarantineReasonWidth),
                    process.owner()};
              }};
}

ExitStatus ListQuarantined(Invocation& invocation,
                           const QuarantineListOptions& options) {
  v1::ListQuarantineRequest request;
  request.set_process_type(options.type);
  ListWriter writer(invocation.out(), invocation.style(),
                    {{.heading = "PID"},
                     {.heading = "TYPE"},
                     {.heading = "NAME"},
                     {.heading = "AGE", .number = true},
                     {.heading = "CAUSE"},
                     {.heading = "SIGNAL"},
                     {.heading = "PLUGIN"},
                     {.heading = "WAITING", .number = true},
                     {.heading = "REASON", .wide_only = true},
                     {.heading = "OWNER", .wide_only = true}});
  const absl::Status status = ForEachElement(
      request, options.limit,
      [&](const v1::ListQuarantineRequest& page) {
        return invocation.client().ListQuarantine(page, invocation.Quick());
      },
      [](const v1::ListQuarantineResponse& response) -> const auto& {
        return response.processes();
      },
      [&](const v1::QuarantinedProcess& process) {
        writer.Add(QuarantinedItem(process));
      },
      [&] { writer.EndPage(); });
  if (!status.ok()) return invocation.Fail(status);
  writer.Finish();
  invocation.SayEmpty(writer, "no process is in quarantine");
  return ExitStatus::kDone;
}

// Writes the result of the retry of each process.
class TriedWriter {
 public:
  explicit TriedWriter(Invocation& invocation)
      : writer_(invocation.out(), invocation.style(),
                {{.heading = "PID"},
                 {.heading = "RESULT"},
                 {.heading = "REASON"}}) {}

  void Add(const v1::RetryQuarantineResponse& response) {
    for (const auto& tried : response.tried()) {
      any_stays_ |= !tried.has_left();
      writer_.Add({.json = [&] { return ToJson(tried); },
                   .name = [&] { return tried.pid(); },
                   .cells =
                       [&] {
                         return std::vector<std::string>{
                             tried.pid(), tried.has_left() ? "LEFT" : "STAYS",
                             tried.has_left() ? "-" : OneLine(tried.reason())};
                       }});
    }
    writer_.EndPage();
  }
  ExitStatus Finish() {
    writer_.Finish();
    return any_stays_ ? ExitStatus::kFailed : ExitStatus::kDone;
  }

 private:
  ListWriter writer_;
  bool any_stays_ = false;
};

ExitStatus RetryEachQuarantined(Invocation& invocation,
                                const QuarantineRetryOptions& options) {
  TriedWriter writer(invocation);
  ExitStatus failed = ExitStatus::kDone;
  for (const std::string& pid : options.pids) {
    v1::RetryQuarantineRequest request;
    request.set_pid(pid);
    const auto response =
        invocation.client().RetryQuarantine(request, invocation.Quick());
    if (response.ok()) {
      writer.Add(*response);
      continue;
    }
    const ExitStatus status = invocation.Fail(
        response.status(),
        options.pids.size() > 1 ? "process " + pid : std::string());
    if (failed == ExitStatus::kDone) failed = status;
    if (status == ExitStatus::kInterrupted ||
        status == ExitStatus::kUnavailable) {
      break;
    }
  }
  const ExitStatus finished = writer.Finish();
  return failed == ExitStatus::kDone ? finished : failed;
}

ExitStatus RetryQuarantined(Invocation& invocation,
                            const QuarantineRetryOptions& options) {
  if (!options.pids.empty()) return RetryEachQuarantined(invocation, options);
  if (!options.all && options.type.empty()) {
    return invocation.Fail(
        UsageError("quarantine retry: PID, --type TYPE or --all"));
  }
  TriedWriter writer(invocation);
  v1::RetryQuarantineRequest request;
  request.set_process_type(options.type);
  request.set_page_size(kMaxPageSize);
  do {
    const auto response =
        invocation.client().RetryQuarantine(request, invocation.Quick());
    if (!response.ok()) return invocation.Fail(response.status());
    writer.Add(*response);
    request.set_page_token(response->next_page_token());
  } while (!request.page_token().empty());
  return writer.Finish();
}

constexpr char kQuarantineFooter[] = R"(
A durable process is in quarantine if no plugin has its type, if the loaded code cannot
restore its state, or if its steps have crashed the daemon store.max_crashes times. It keeps
its state and accepts messages, but takes no step and answers no call. "actorctl terminate"
ends it.

Examples:
  actorctl quarantine list -o wide
  actorctl plugin load counter.so
  actorctl quarantine retry --type counter
)";

constexpr char kQuarantineListFooter[] = R"(
Oldest first. WAITING is the number of events in the mailbox. The daemon restores a state
at the first event of the process after a start, and notices only then if it cannot.

Examples:
  actorctl quarantine list --type order -o wide
  actorctl quarantine list -o json | jq -r '.[].reason'
)";

constexpr char kQuarantineRetryFooter[] = R"(
Tries to restart processes in quarantine with the code that is loaded now, and resets their
count of crashes. A try that fails changes nothing. Loading a plugin also tries the processes
of its types. The exit status is 1 if a process stays in quarantine.

Examples:
  actorctl quarantine retry "$pid"
  actorctl quarantine retry --type order
  actorctl quarantine retry --all
)";

void AddListQuarantined(CLI::App& parent, Action& chosen) {
  auto options = std::make_shared<QuarantineListOptions>();
  CLI::App* command =
      parent.add_subcommand("list", "List the processes in quarantine");
  command->footer(kQuarantineListFooter);
  command->add_option("--type", options->type, "Only processes of this type")
      ->type_name("NAME");
  command->add_option("--limit", options->limit, "Maximum number of rows [all]")
      ->type_name("N");
  command->callback([&chosen, options] {
    chosen = [options](Invocation& invocation) {
      return ListQuarantined(invocation, *options);
    };
  });
}

void AddRetryQuarantined(CLI::App& parent, Action& chosen) {
  auto options = std::make_shared<QuarantineRetryOptions>();
  CLI::App* command =
      parent.add_subcommand("retry", "Try to restart processes in quarantine");
  command->footer(kQuarantineRetryFooter);
  auto* pids =
      command->add_option("PID", options->pids, "Processes")->type_name("...");
  command->add_option("--type", options->type, "All processes of this type")
      ->type_name("NAME")
      ->excludes(pids);
  command->add_flag("--all", options->all, "All processes")->excludes(pids);
  command->callback([&chosen, options] {
    chosen = [options](Invocation& invocation) {
      return RetryQuarantined(invocation, *options);
    };
  });
}

}  // namespace

void AddQuarantine(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand(
      "quarantine", "List durable processes that cannot run, and restart them");
  command->footer(kQuarantineFooter);
  command->require_subcommand(1);
  command->fallthrough();
  AddListQuarantined(*command, chosen);
  AddRetryQuarantined(*command, chosen);
}

}  // namespace actord::client
