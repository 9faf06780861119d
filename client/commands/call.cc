// actorctl call

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/calls/older_daemon.h"
#include "client/cli/bulk_items.h"
#include "client/cli/input.h"
#include "client/commands/commands.h"
#include "client/commands/labels/label_options.h"
#include "client/output/message_json.h"
#include "client/output/output.h"
#include "nlohmann/json.hpp"

namespace actord::client {
namespace {

struct CallFlags {
  std::string pid;
  std::string payload;
  bool has_payload = false;
  std::string topic;
  std::string content_type;
  std::string message_id;
  // The process to start if no process holds the name; "": none.
  std::string start;
  std::optional<std::string> input;
  std::string method;
  std::vector<std::string> labels;
  std::optional<int> priority;
  bool is_durable = false;
  bool is_volatile = false;
};

absl::Status ReadStart(Invocation& invocation, const CallFlags& options,
                       v1::CallRequest& request) {
  if (options.start.empty()) return absl::OkStatus();
  if (!options.pid.starts_with('@')) {
    return UsageError("--start is for a call to a name: call @NAME --start " +
                      options.start);
  }
  if (options.input == "-" && options.payload == "-") {
    return UsageError("standard input cannot be both --input and PAYLOAD");
  }
  v1::SubmitRequest& start = *request.mutable_start_if_absent();
  start.set_process_type(options.start);
  start.set_method(options.method);
  if (options.priority) start.set_priority(*options.priority);
  if (options.is_durable) start.set_durability(v1::DURABILITY_DURABLE);
  if (options.is_volatile) start.set_durability(v1::DURABILITY_VOLATILE);
  if (options.input) {
    auto input = ReadPayload(invocation, *options.input, "");
    if (!input.ok()) return input.status();
    *start.mutable_input() = *std::move(input);
  }
  return ReadLabels(options.labels, start);
}

ExitStatus RunCall(Invocation& invocation, const CallFlags& options) {
  v1::CallRequest request;
  request.set_pid(options.pid);
  request.set_topic(options.topic);
  request.set_message_id(options.message_id);
  if (options.has_payload) {
    auto payload =
        ReadPayload(invocation, options.payload, options.content_type);
    if (!payload.ok()) return invocation.Fail(payload.status(), "PAYLOAD");
    *request.mutable_payload() = *std::move(payload);
  }
  const absl::Status start = ReadStart(invocation, options, request);
  if (!start.ok()) return invocation.Fail(start);
  const auto response = invocation.client().Call(request, invocation.Quick());
  if (!response.ok()) {
    return invocation.Fail(ExplainUnstarted(request, response.status()));
  }
  if (!options.message_id.empty() &&
      response->receipt() == v1::RECEIPT_UNSPECIFIED) {
    invocation.Complain(
        "the daemon is too old for --message-id and has ignored it: a repeat "
        "of this command is another call");
  }
  WriteOne(invocation.out(), invocation.style(), ToJson(*response),
           response->pid(), [&] {
             WriteRaw(invocation.out(), invocation.style(), response->result(),
                      /*separate=*/false);
           });
  return ExitStatus::kDone;
}

constexpr char kCallFooter[] = R"(
Prints the answer byte for byte. The deadline is 30 seconds, or --timeout; a later answer
is dropped. If the process answers with an error, or ends without an answer, the error
goes to standard error.

With --message-id a durable process gets the call once, however often it is repeated,
and every repeat prints the answer to the first call.

With --start the command starts a process of TYPE under the name, if no process holds it,
and calls it. Of many commands at the same time only one starts a process. Whatever process
holds the name gets the call; the input, method, labels, priority and durability are of a
process that the command starts.

Examples:
  pid=$(actorctl submit counter 40) && actorctl call "$pid" 2 --topic add
  actorctl call @orders/17 '{"article": "book"}' --topic add --timeout 2s
  actorctl call @visits 1 --topic add --start counter --input 0
)";

void AddStartOptions(CLI::App& command, CallFlags& options) {
  CLI::Option* const start =
      command
          .add_option("--start", options.start,
                      "Start a process of this type if no process holds the "
                      "name")
          ->type_name("TYPE");
  command
      .add_option("--input", options.input,
                  "Input of the process that --start starts: text, @FILE or -")
      ->type_name("PAYLOAD")
      ->needs(start);
  command
      .add_option("--method", options.method,
                  "Method that --start starts [the type's first]")
      ->type_name("NAME")
      ->needs(start);
  command
      .add_option("-l,--label", options.labels,
                  "A label for the process that --start starts; at most 8")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false)
      ->needs(start);
  command
      .add_option(
          "--priority", options.priority,
          "Priority of the process that --start starts, from 0 (lowest) "
          "to 31 (highest) [16]")
      ->check(CLI::Range(0, kHighestPriority).description(""))
      ->type_name("N")
      ->needs(start);
  auto* const durable =
      command
          .add_flag("--durable", options.is_durable,
                    "The process that --start starts survives the daemon")
          ->needs(start);
  command
      .add_flag("--volatile", options.is_volatile,
                "The process that --start starts ends with the daemon")
      ->needs(start)
      ->excludes(durable);
}

}  // namespace

void AddCall(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<CallFlags>();
  CLI::App* command = app.add_subcommand(
      "call", "Send a message to a process and print its answer");
  command->footer(kCallFooter);
  command->add_option("PID", options->pid, "Receiver: a PID or @NAME")
      ->required()
      ->type_name("");
  auto* payload =
      command
          ->add_option("PAYLOAD", options->payload, "Message: text, @FILE or -")
          ->type_name("");
  command->add_option("--topic", options->topic, "Topic of the message")
      ->type_name("TEXT");
  command
      ->add_option("--message-id", options->message_id,
                   "Call a durable process once, even if the command is "
                   "repeated")
      ->type_name("TEXT");
  command
      ->add_option("--content-type", options->content_type,
                   "Content type of PAYLOAD [guessed from the data]")
      ->type_name("TYPE");
  AddStartOptions(*command, *options);
  command->callback([&chosen, options, payload] {
    options->has_payload = payload->count() > 0;
    chosen = [options](Invocation& invocation) {
      return RunCall(invocation, *options);
    };
  });
}

}  // namespace actord::client
