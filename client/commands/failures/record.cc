// actorctl record

#include <memory>
#include <string>

#include "client/commands/commands.h"
#include "client/output/message_json.h"
#include "client/output/text.h"
#include "nlohmann/json.hpp"

namespace actord::client {
namespace {

struct RecordOptions {
  std::string pid;
  bool stop = false;
};

ExitStatus RunRecord(Invocation& invocation, const RecordOptions& options) {
  v1::RecordProcessRequest request;
  request.set_pid(options.pid);
  request.set_stop(options.stop);
  const auto response =
      invocation.client().RecordProcess(request, invocation.Quick());
  if (!response.ok()) return invocation.Fail(response.status());
  if (!invocation.ForPeople()) {
    WriteOne(invocation.out(), invocation.style(), ToJson(*response),
             response->pid(), [] {});
  }
  if (options.stop && !response->was_recorded()) {
    invocation.Complain("the process was not recorded");
  }
  return ExitStatus::kDone;
}

constexpr char kRecordFooter[] = R"(
Records the last 32 steps of a volatile process: when each began, how long it took, which
events it was given, what it asked for, and how it returned. Topics, sizes and PIDs are
recorded, contents are not. "actorctl describe" shows the steps; if the process fails,
"actorctl failures" and "describe" show them, too.

The recording ends with the process, with --stop, or when 16 others have begun after it.
A durable process is not recorded, because its history has its steps ("actorctl history").
Prints nothing; -o name prints the PID.

Examples:
  actorctl record "$pid" && sleep 10 && actorctl describe "$pid"
  actorctl record @orders/17 --stop
)";

}  // namespace

void AddRecord(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<RecordOptions>();
  CLI::App* command =
      app.add_subcommand("record", "Record the last steps of a process");
  command->footer(kRecordFooter);
  command->add_option("PID", options->pid, "Process")
      ->required()
      ->type_name("");
  command->add_flag("--stop", options->stop,
                    "End the recording, and drop its steps");
  command->callback([&chosen, options] {
    chosen = [options](Invocation& invocation) {
      return RunRecord(invocation, *options);
    };
  });
}

}  // namespace actord::client
