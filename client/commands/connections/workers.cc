// actorctl workers
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "client/cli/paging.h"
#include "client/commands/commands.h"
#include "client/output/message_json.h"
#include "client/output/text.h"

namespace actord::client {
namespace {

struct WorkersOptions {
  std::string command;
  uint64_t limit = 0;
};

constexpr size_t kWorkerWidth = 40;
constexpr size_t kCommandsWidth = 60;

// Why the worker gets tasks, or gets none.
std::string State(const v1::RemoteWorker& worker) {
  if (worker.stopping()) return "STOPPING";
  if (worker.silent()) return "SILENT";
  return worker.credits() == 0 ? "BUSY" : "READY";
}

Item WorkerItem(const v1::RemoteWorker& worker) {
  return {
      .json = [&worker] { return ToJson(worker); },
      .name = [&worker] { return std::to_string(worker.worker()); },
      .cells =
          [&worker] {
            return std::vector<std::string>{
                std::to_string(worker.worker()),
                worker.name().empty() ? "-"
                                      : OneLine(worker.name(), kWorkerWidth),
                State(worker),
                ShortDuration(absl::Now() - ToTime(worker.connect_time())),
                std::to_string(worker.tasks()),
                std::to_string(worker.credits()),
                OneLine(absl::StrJoin(worker.commands(), " "), kCommandsWidth),
                worker.owner().empty() ? "-"
                                       : OneLine(worker.owner(), kWorkerWidth)};
          }};
}

ExitStatus ListWorkers(Invocation& invocation, const WorkersOptions& options) {
  ListWriter writer(invocation.out(), invocation.style(),
                    {{.heading = "WORKER", .number = true},
                     {.heading = "NAME"},
                     {.heading = "STATE"},
                     {.heading = "AGE", .number = true},
                     {.heading = "TASKS", .number = true},
                     {.heading = "CREDITS", .number = true},
                     {.heading = "COMMANDS"},
                     {.heading = "OWNER"}});
  v1::ListWorkersRequest request;
  request.set_command(options.command);
  const absl::Status status = ForEachElement(
      request, options.limit,
      [&](const v1::ListWorkersRequest& page) {
        return invocation.client().ListWorkers(page, invocation.Quick());
      },
      [](const v1::ListWorkersResponse& response) -> const auto& {
        return response.workers();
      },
      [&](const v1::RemoteWorker& worker) { writer.Add(WorkerItem(worker)); },
      [&] { writer.EndPage(); });
  if (!status.ok()) return invocation.Fail(status);
  writer.Finish();
  invocation.SayEmpty(writer, "no worker is connected");
  return ExitStatus::kDone;
}

constexpr char kWorkersFooter[] = R"(
TASKS counts the tasks that a worker holds, CREDITS the tasks that it would
accept in addition. A worker is READY, or it gets no task: it is BUSY without
credits, STOPPING after it was asked to end, or SILENT after one of its leases
has expired without a sign of life.

Examples:
  actorctl workers
  actorctl workers --command payment.charge
)";

}  // namespace

void AddWorkers(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<WorkersOptions>();
  CLI::App* command = app.add_subcommand(
      "workers", "List the remote workers that are connected");
  command->footer(kWorkersFooter);
  command
      ->add_option("--command", options->command,
                   "Only workers that may get tasks of this command [all]")
      ->type_name("COMMAND");
  command->add_option("--limit", options->limit, "Maximum number of rows [all]")
      ->type_name("N");
  command->callback([&chosen, options] {
    chosen = [options](Invocation& invocation) {
      return ListWorkers(invocation, *options);
    };
  });
}

}  // namespace actord::client
