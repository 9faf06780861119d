// actorctl send

#include <memory>
#include <string>
#include <utility>

#include "client/bulk/bulk.h"
#include "client/cli/bulk_items.h"
#include "client/cli/bulk_run.h"
#include "client/cli/input.h"
#include "client/commands/commands.h"
#include "client/output/message_json.h"
#include "nlohmann/json.hpp"

namespace actord::client {
namespace {

struct SendOptions {
  std::string pid;
  std::string payload;
  bool has_payload = false;
  std::string topic;
  std::string message_id;
  std::string content_type;
  std::string file;
  size_t in_flight = 256;
};

ExitStatus SendOne(Invocation& invocation, const v1::SendRequest& request) {
  const auto response = invocation.client().Send(request, invocation.Quick());
  if (!response.ok()) return invocation.Fail(response.status());
  Json json;
  json["pid"] = request.pid();
  json["duplicate"] = response->duplicate();
  json["receipt"] = EnumName(response->receipt());
  const bool is_group = request.pid().starts_with('#');
  if (is_group) {
    json["delivered"] = response->delivered();
    json["refused"] = response->refused();
  }
  WriteOne(invocation.out(), invocation.style(), json, request.pid(), [&] {
    if (!is_group) return;
    invocation.out() << "sent to " << response->delivered() << " of "
                     << response->delivered() + response->refused()
                     << " members\n";
  });
  return ExitStatus::kDone;
}

ExitStatus SendMany(Invocation& invocation, const SendOptions& options,
                    const v1::SendRequest& defaults) {
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
    const auto begin = [&](uint64_t line, const std::string& text) {
      auto request = ParseSendItem(text, defaults);
      if (!request.ok()) return request.status();
      const std::string pid = request->pid();
      bulk.Send(
          *std::move(request), [&report, line, pid](const auto& response) {
            if (response.ok()) {
              report.Succeeded(line, pid,
                               {{"receipt", EnumName(response->receipt())}});
            } else {
              report.Failed(line, pid, response.status());
            }
          });
      return absl::OkStatus();
    };
    status = RunBulk(invocation, *file, bulk, report, begin);
  }
  return report.Finish("sent", absl::Now() - start, status);
}

ExitStatus RunSend(Invocation& invocation, const SendOptions& options) {
  if (options.file == "-" && options.payload == "-") {
    return invocation.Fail(
        UsageError("standard input cannot be both PAYLOAD and --from-file"));
  }
  if (!options.file.empty() && !options.message_id.empty()) {
    return invocation.Fail(UsageError(
        "--message-id is for one message; in a file, each item has its own"));
  }
  if (options.file.empty() && options.pid.empty()) {
    return invocation.Fail(UsageError("PID is required"));
  }
  v1::SendRequest request;
  request.set_pid(options.pid);
  request.set_topic(options.topic);
  request.set_message_id(options.message_id);
  if (options.has_payload) {
    auto payload =
        ReadPayload(invocation, options.payload, options.content_type);
    if (!payload.ok()) return invocation.Fail(payload.status(), "PAYLOAD");
    *request.mutable_payload() = *std::move(payload);
  }
  return options.file.empty() ? SendOne(invocation, request)
                              : SendMany(invocation, options, request);
}

constexpr char kSendFooter[] = R"(
Returns when the message is in the process's mailbox. Prints nothing; -o name prints the PID.
To a group: prints how many members have the message. A member with a full mailbox does not get it.

With --from-file, each line of FILE is a JSON object; the command line gives the defaults:
  {"pid": "...", "topic": "add", "payload": any JSON, "message_id": "add-17"}
Messages to one process arrive in the order of the file. Up to --in-flight messages are unanswered
at a time. If a mailbox is full, its messages wait and are sent again, in their order; other
processes get theirs meanwhile. When 2 x --in-flight messages wait or are unanswered, the file is
read no further until some are answered. A message that is refused for good is reported with its
line, and the later ones are sent nevertheless. If the connection breaks, the unanswered messages
are reported as failed. They may have arrived: with a "message_id" they can be sent again.

Examples:
  actorctl send "$pid" 5 --topic add
  actorctl send "$pid" @picture.png --content-type image/png
  actorctl send @orders/17 5 --topic add
  actorctl send '#workers' now --topic reload
  actorctl send "$pid" --topic add --from-file numbers.jsonl
)";

}  // namespace

void AddSend(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<SendOptions>();
  CLI::App* command = app.add_subcommand(
      "send", "Send a message to a process, or many from a file");
  command->footer(kSendFooter);
  command->add_option("PID", options->pid, "Receiver: a PID, @NAME or '#GROUP'")
      ->type_name("");
  auto* payload =
      command
          ->add_option("PAYLOAD", options->payload, "Message: text, @FILE or -")
          ->type_name("");
  command->add_option("--topic", options->topic, "Topic of the message")
      ->type_name("TEXT");
  command
      ->add_option("--message-id", options->message_id,
                   "Deliver the message once, even if the command is repeated")
      ->type_name("TEXT");
  command
      ->add_option("--content-type", options->content_type,
                   "Content type of PAYLOAD [guessed from the data]")
      ->type_name("TYPE");
  command
      ->add_option("--from-file", options->file,
                   "Send each line of FILE, or of - (standard input)")
      ->type_name("FILE");
  command
      ->add_option("--in-flight", options->in_flight,
                   "With --from-file: maximum number of unanswered messages")
      ->check(CLI::Range(1, 10000).description(""))
      ->type_name("N")
      ->capture_default_str();
  command->callback([&chosen, options, payload] {
    options->has_payload = payload->count() > 0;
    chosen = [options](Invocation& invocation) {
      return RunSend(invocation, *options);
    };
  });
}

}  // namespace actord::client
