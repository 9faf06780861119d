// actorctl cancel

#include <memory>
#include <string>
#include <vector>

#include "client/commands/commands.h"
#include "client/commands/each_pid.h"

namespace actord::client {
namespace {

struct CancelOptions {
  std::vector<std::string> pids;
  std::string reason;
};

constexpr char kCancelFooter[] = R"(
Asks: a process whose type handles cancels decides what comes of it; any other ends before
its next step. "actorctl await" tells how it ended; "actorctl terminate" forces. Prints
nothing; -o name prints the PIDs.

Example:
  actorctl cancel "$pid" --reason "order withdrawn"
)";

}  // namespace

void AddCancel(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<CancelOptions>();
  CLI::App* command = app.add_subcommand("cancel", "Ask processes to end");
  command->footer(kCancelFooter);
  command->add_option("PID", options->pids, "Processes")
      ->required()
      ->type_name("...");
  command->add_option("--reason", options->reason, "What to tell the process")
      ->type_name("TEXT");
  command->callback([&chosen, options] {
    chosen = [options](Invocation& invocation) {
      return ForEachPid(invocation, options->pids, [&](const std::string& pid) {
        v1::CancelRequest request;
        request.set_pid(pid);
        request.set_reason(options->reason);
        return invocation.client().Cancel(request, invocation.Quick()).status();
      });
    };
  });
}

}  // namespace actord::client
