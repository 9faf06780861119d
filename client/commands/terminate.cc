// actorctl terminate

#include <memory>
#include <string>
#include <vector>

#include "client/cli/each_pid.h"
#include "client/commands/commands.h"

namespace actord::client {
namespace {

struct TerminateOptions {
  std::vector<std::string> pids;
  std::string reason;
};

constexpr char kTerminateFooter[] = R"(
The process takes no further step, and its end is a failure. To let a process end by itself,
use "actorctl cancel". Prints nothing; -o name prints the PIDs.

Example:
  actorctl terminate "$pid" --reason "runs wild"
)";

}  // namespace

void AddTerminate(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<TerminateOptions>();
  CLI::App* command = app.add_subcommand("terminate", "Force processes to end");
  command->footer(kTerminateFooter);
  command->add_option("PID", options->pids, "Processes")
      ->required()
      ->type_name("...");
  command->add_option("--reason", options->reason, "Message of the failure")
      ->type_name("TEXT");
  command->callback([&chosen, options] {
    chosen = [options](Invocation& invocation) {
      return ForEachPid(invocation, options->pids, [&](const std::string& pid) {
        v1::TerminateRequest request;
        request.set_pid(pid);
        request.set_reason(options->reason);
        return ReceiptIn(
            invocation.client().Terminate(request, invocation.Quick()));
      });
    };
  });
}

}  // namespace actord::client
