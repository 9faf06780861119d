// actorctl call

#include <memory>
#include <string>
#include <utility>

#include "client/cli/input.h"
#include "client/commands/commands.h"
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
};

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
  const auto response = invocation.client().Call(request, invocation.Quick());
  if (!response.ok()) return invocation.Fail(response.status());
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

Examples:
  pid=$(actorctl submit counter 40) && actorctl call "$pid" 2 --topic add
  actorctl call @orders/17 '{"article": "book"}' --topic add --timeout 2s
)";

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
  command->callback([&chosen, options, payload] {
    options->has_payload = payload->count() > 0;
    chosen = [options](Invocation& invocation) {
      return RunCall(invocation, *options);
    };
  });
}

}  // namespace actord::client
