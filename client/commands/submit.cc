// actorctl submit

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/bulk/bulk.h"
#include "client/calls/older_daemon.h"
#include "client/cli/bulk_items.h"
#include "client/cli/bulk_run.h"
#include "client/cli/input.h"
#include "client/cli/outcome.h"
#include "client/commands/commands.h"
#include "client/commands/labels/label_options.h"
#include "client/output/message_json.h"
#include "client/output/text.h"
#include "nlohmann/json.hpp"

namespace actord::client {
namespace {

struct SubmitOptions {
  std::string process_type;
  std::string input;
  bool has_input = false;
  std::string method;
  std::string content_type;
  std::string request_id;
  std::string name;
  std::string on_name_conflict;
  std::optional<std::string> message;
  std::string topic;
  std::vector<std::string> labels;
  std::optional<int> priority;
  std::string file;
  size_t in_flight = 256;
  bool wait = false;
  bool is_durable = false;
  bool is_volatile = false;
};

// The holder of the name got the message, and has a durability of its own.
void WarnOfDurability(Invocation& invocation, const v1::SubmitRequest& request,
                      const v1::SubmitResponse& response) {
  if (!response.delivered() ||
      request.durability() == v1::DURABILITY_UNSPECIFIED ||
      request.durability() == response.durability()) {
    return;
  }
  const bool wants_durable = request.durability() == v1::DURABILITY_DURABLE;
  invocation.Complain("process " + response.pid() + " held the name " +
                      request.name() + " already and is " +
                      EnumName(response.durability()) + "; " +
                      (wants_durable ? "--durable" : "--volatile") +
                      " applies only to a process that the command starts");
}

ExitStatus SubmitOne(Invocation& invocation, const v1::SubmitRequest& request,
                     bool wait) {
  const auto response = invocation.client().Submit(
      request, wait ? invocation.Waiting() : invocation.Quick());
  if (!response.ok()) return invocation.Fail(response.status());
  const absl::Status kept = CheckSubmitted(request, *response);
  if (!kept.ok()) return invocation.Fail(kept);
  WarnOfDurability(invocation, request, *response);
  const std::string& pid = response->pid();
  if (!wait) {
    WriteOne(invocation.out(), invocation.style(), ToJson(*response), pid,
             [&] { invocation.out() << OneLine(pid) << '\n'; });
    return ExitStatus::kDone;
  }
  v1::AwaitRequest await;
  await.set_pid(pid);
  const auto awaited = invocation.client().Await(await, invocation.Waiting());
  if (!awaited.ok()) return invocation.Fail(awaited.status(), "process " + pid);
  WriteOutcome(invocation, awaited->outcome());
  return ReportFailure(invocation, awaited->outcome());
}

// Reports the item's answer and, with `wait`, its outcome.
void BeginItem(Bulk& bulk, BulkReport& report, uint64_t line,
               v1::SubmitRequest request, bool wait) {
  const auto awaited = [&report, line](
                           const std::string& pid, Json details,
                           const absl::StatusOr<v1::AwaitResponse>& response) {
    if (!response.ok()) {
      report.Failed(line, pid, response.status());
      return;
    }
    const v1::Outcome& outcome = response->outcome();
    details["outcome"] = ToJson(outcome);
    if (outcome.has_failure()) {
      report.ProcessFailed(line, pid, DescribeFailure(outcome),
                           std::move(details));
    } else {
      report.Succeeded(line, pid, std::move(details));
    }
  };
  // The facts that CheckSubmitted reads.
  v1::SubmitRequest asked;
  asked.set_durability(request.durability());
  *asked.mutable_labels() = request.labels();
  bulk.Submit(std::move(request),
              [&bulk, &report, line, wait, awaited,
               asked](const absl::StatusOr<v1::SubmitResponse>& response) {
                if (!response.ok()) {
                  report.Failed(line, "", response.status());
                  return;
                }
                const std::string pid = response->pid();
                const absl::Status kept = CheckSubmitted(asked, *response);
                if (!kept.ok()) {
                  report.Failed(line, pid, kept);
                  return;
                }
                Json details;
                details["duplicate"] = response->duplicate();
                details["delivered"] = response->delivered();
                details["receipt"] = EnumName(response->receipt());
                if (!wait) {
                  report.Succeeded(line, pid, std::move(details));
                  return;
                }
                v1::AwaitRequest await;
                await.set_pid(pid);
                bulk.Await(std::move(await),
                           [awaited, pid, details](const auto& outcome) {
                             awaited(pid, details, outcome);
                           });
              });
}

ExitStatus SubmitMany(Invocation& invocation, const SubmitOptions& options,
                      const v1::SubmitRequest& defaults) {
  const Environment& environment = invocation.environment();
  auto file = InputFile::Open(options.file, environment.stdin_fd,
                              environment.cancellation);
  if (!file.ok()) return invocation.Fail(file.status());
  const absl::Time start = absl::Now();
  BulkReport report(invocation, file->name());
  absl::Status status;
  {
    Bulk bulk(invocation.client(),
              {.window = options.in_flight, .deadline = invocation.deadline()});
    status = RunBulk(invocation, *file, bulk, report,
                     [&](uint64_t line, const std::string& text) {
                       auto request = ParseSubmitItem(text, defaults);
                       if (!request.ok()) return request.status();
                       BeginItem(bulk, report, line, *std::move(request),
                                 options.wait);
                       return absl::OkStatus();
                     });
  }
  return report.Finish(options.wait ? "succeeded" : "submitted",
                       absl::Now() - start, status);
}

absl::Status CheckSubmit(const SubmitOptions& options) {
  if (!options.file.empty() && !options.request_id.empty()) {
    return UsageError(
        "--request-id is for one process; in a file, each item has its own");
  }
  if (!options.file.empty() && !options.name.empty()) {
    return UsageError(
        "--name is for one process; in a file, each item has its own");
  }
  const bool input_is_stdin = options.has_input && options.input == "-";
  const bool message_is_stdin = options.message && *options.message == "-";
  if (options.file == "-" && input_is_stdin) {
    return UsageError("standard input cannot be both INPUT and --from-file");
  }
  if (message_is_stdin && (input_is_stdin || options.file == "-")) {
    return UsageError(std::string("standard input cannot be both --message "
                                  "and ") +
                      (input_is_stdin ? "INPUT" : "--from-file"));
  }
  if (options.file.empty() && options.process_type.empty()) {
    return UsageError("TYPE is required");
  }
  return absl::OkStatus();
}

ExitStatus RunSubmit(Invocation& invocation, const SubmitOptions& options) {
  const absl::Status usable = CheckSubmit(options);
  if (!usable.ok()) return invocation.Fail(usable);
  v1::SubmitRequest request;
  request.set_process_type(options.process_type);
  request.set_method(options.method);
  request.set_request_id(options.request_id);
  request.set_name(options.name);
  if (options.on_name_conflict == "deliver") {
    request.set_on_name_conflict(v1::SubmitRequest::NAME_CONFLICT_DELIVER);
  } else if (options.on_name_conflict == "fail") {
    request.set_on_name_conflict(v1::SubmitRequest::NAME_CONFLICT_FAIL);
  }
  const absl::Status labels = ReadLabels(options.labels, request);
  if (!labels.ok()) return invocation.Fail(labels);
  if (options.priority) request.set_priority(*options.priority);
  if (options.is_durable) request.set_durability(v1::DURABILITY_DURABLE);
  if (options.is_volatile) request.set_durability(v1::DURABILITY_VOLATILE);
  if (options.has_input) {
    auto input = ReadPayload(invocation, options.input, options.content_type);
    if (!input.ok()) return invocation.Fail(input.status(), "INPUT");
    *request.mutable_input() = *std::move(input);
  }
  if (options.message) {
    auto payload = ReadPayload(invocation, *options.message, "");
    if (!payload.ok()) return invocation.Fail(payload.status(), "--message");
    v1::Message* const message = request.add_messages();
    message->set_topic(options.topic);
    *message->mutable_payload() = *std::move(payload);
  }
  return options.file.empty() ? SubmitOne(invocation, request, options.wait)
                              : SubmitMany(invocation, options, request);
}

constexpr char kSubmitFooter[] = R"(
Prints the PID. With --wait, prints the result instead, byte for byte; if the process
fails, the reason goes to standard error and the exit status is 1. An interrupted --wait
leaves the process running.

With --on-name-conflict deliver, a process that holds the name already gets the --message, and
no process is started; the command prints the PID of the holder. The input, labels, priority and
durability of the command are then ignored. To start a process or call it, use
"actorctl call @NAME --start TYPE".

With --from-file, each line of FILE is a JSON object; the command line gives the defaults:
  {"type": "echo", "method": "run", "input": any JSON, "request_id": "order-17",
   "name": "orders/17", "on_name_conflict": "fail", "priority": 20,
   "labels": {"tenant": "acme"}}
With "on_name_conflict": "deliver", a process that holds the name gets the --message. An unknown
key is an error. Processes start in no particular order. If the connection breaks, the items
without an answer are reported as failed, but their processes may have started; "request_id"
makes it safe to submit the file again.
-o jsonl writes a line for each item as it finishes, with "line", "pid" and "outcome" or
"error"; -o name writes the PIDs. A summary goes to standard error. The exit status is 1 if
any item failed.

Examples:
  actorctl submit echo '{"hello": "world"}' --wait
  actorctl submit wordcount @/usr/share/common-licenses/GPL-3 --wait
  actorctl submit order @order.json --request-id order-17 -l tenant=acme
  actorctl submit counter 0 --name visits --on-name-conflict deliver --message 1 --topic add
  actorctl submit echo --from-file items.jsonl --wait -o jsonl > results.jsonl
  seq 1000 | sed 's/.*/{"input": &}/' | actorctl submit echo --from-file -
)";

void AddNameOptions(CLI::App& command, SubmitOptions& options) {
  CLI::Option* const name =
      command
          .add_option("--name", options.name,
                      "Name of the process; see --on-name-conflict")
          ->type_name("NAME");
  command
      .add_option("--on-name-conflict", options.on_name_conflict,
                  "If another process holds the name: fail, or deliver the "
                  "--message to it [fail]")
      ->check(CLI::IsMember({"fail", "deliver"}).description(""))
      ->type_name("fail|deliver")
      ->needs(name);
  CLI::Option* const message =
      command
          .add_option("--message", options.message,
                      "A message that the process gets before its first step: "
                      "text, @FILE or -")
          ->type_name("PAYLOAD");
  command.add_option("--topic", options.topic, "Topic of the --message")
      ->type_name("TEXT")
      ->needs(message);
}

}  // namespace

void AddSubmit(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<SubmitOptions>();
  CLI::App* command =
      app.add_subcommand("submit", "Start a process, or many from a file");
  command->footer(kSubmitFooter);
  command->add_option("TYPE", options->process_type, "Process type")
      ->type_name("");
  auto* input =
      command->add_option("INPUT", options->input, "Input: text, @FILE or -")
          ->type_name("");
  command
      ->add_option("--method", options->method,
                   "Method to start [the type's first]")
      ->type_name("NAME");
  command
      ->add_option("--content-type", options->content_type,
                   "Content type of INPUT [guessed from the data]")
      ->type_name("TYPE");
  command
      ->add_option("--request-id", options->request_id,
                   "Start the process once, even if the command is repeated")
      ->type_name("ID");
  AddNameOptions(*command, *options);
  command
      ->add_option("-l,--label", options->labels,
                   "A label for the process, by which ps and watch select; at "
                   "most 8")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command
      ->add_option("--priority", options->priority,
                   "From 0 (lowest) to 31 (highest, runs first) [16]")
      ->check(CLI::Range(0, kHighestPriority).description(""))
      ->type_name("N");
  auto* const durable = command->add_flag(
      "--durable", options->is_durable,
      "The process survives the daemon. The submission fails if the type or "
      "the daemon does not support this");
  command
      ->add_flag("--volatile", options->is_volatile,
                 "The process ends with the daemon. By default it survives the "
                 "daemon if the daemon has a store and the type supports it")
      ->excludes(durable);
  command->add_flag("--wait", options->wait, "Wait for the process to end");
  command
      ->add_option("--from-file", options->file,
                   "Submit each line of FILE, or of - (standard input)")
      ->type_name("FILE");
  command
      ->add_option("--in-flight", options->in_flight,
                   "With --from-file: maximum number of unanswered requests")
      ->check(CLI::Range(1, 10000).description(""))
      ->type_name("N")
      ->capture_default_str();
  command->callback([&chosen, options, input] {
    options->has_input = input->count() > 0;
    chosen = [options](Invocation& invocation) {
      return RunSubmit(invocation, *options);
    };
  });
}

}  // namespace actord::client
