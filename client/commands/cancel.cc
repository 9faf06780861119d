// actorctl cancel

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/calls/older_daemon.h"
#include "client/cli/each_pid.h"
#include "client/commands/commands.h"
#include "client/output/message_json.h"
#include "client/output/text.h"

namespace actord::client {
namespace {

struct CancelOptions {
  std::vector<std::string> pids;
  std::string reason;
  std::string deadline;
};

ExitStatus RunCancel(Invocation& invocation, const CancelOptions& options) {
  v1::CancelRequest request;
  request.set_reason(options.reason);
  if (!options.deadline.empty()) {
    const auto deadline = ParseDuration(options.deadline);
    if (!deadline.ok()) {
      return invocation.Fail(deadline.status(), "--deadline");
    }
    *request.mutable_deadline() = FromDuration(*deadline);
  }
  return ForEachPid(invocation, options.pids, [&](const std::string& pid) {
    request.set_pid(pid);
    const auto response =
        invocation.client().Cancel(request, invocation.Quick());
    if (response.ok()) {
      absl::Status kept = CheckCancelled(request, *response);
      if (!kept.ok()) return absl::StatusOr<v1::Receipt>(std::move(kept));
    }
    return ReceiptIn(response);
  });
}

constexpr char kCancelFooter[] = R"(
A process whose type handles cancels decides itself how and when to end. Any other process
ends before its next step. With --deadline the daemon terminates each process that has not
ended by then, even after actorctl has exited. "actorctl await" shows how a process ended;
"actorctl terminate" forces it to end. Prints nothing; -o name prints the PIDs.

Examples:
  actorctl cancel "$pid" --reason "order withdrawn"
  actorctl cancel "$pid" --deadline 10s
)";

}  // namespace

void AddCancel(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<CancelOptions>();
  CLI::App* command = app.add_subcommand("cancel", "Ask processes to end");
  command->footer(kCancelFooter);
  command->add_option("PID", options->pids, "Processes")
      ->required()
      ->type_name("...");
  command
      ->add_option("--reason", options->reason,
                   "Reason, which the process receives")
      ->type_name("TEXT");
  command
      ->add_option("--deadline", options->deadline,
                   "Time until the daemon terminates the process, such as "
                   "500ms or 1m [0s, never]")
      ->type_name("DURATION");
  command->callback([&chosen, options] {
    chosen = [options](Invocation& invocation) {
      return RunCancel(invocation, *options);
    };
  });
}

}  // namespace actord::client
