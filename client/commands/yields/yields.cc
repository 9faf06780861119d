// actorctl yields, actorctl yields link

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "client/cli/paging.h"
#include "client/commands/commands.h"
#include "client/commands/yields/find_token.h"
#include "client/output/message_json.h"
#include "client/output/text.h"
#include "nlohmann/json.hpp"

namespace actord::client {
namespace {

struct YieldsOptions {
  std::string command;
  std::string pid;
  uint64_t limit = 0;
};

// Unit: characters of the payload.
constexpr size_t kPreviewWidth = 60;

std::string TimeLeft(const v1::Yield& yield) {
  if (!yield.has_deadline()) return "-";
  return ShortDuration(
      std::max(absl::ZeroDuration(), ToTime(yield.deadline()) - absl::Now()));
}

Item YieldItem(const v1::Yield& yield) {
  return {
      .json = [&yield] { return ToJson(yield); },
      .name = [&yield] { return yield.token(); },
      .cells =
          [&yield] {
            return std::vector<std::string>{
                yield.token(),
                yield.command(),
                ShortDuration(absl::Now() - ToTime(yield.create_time())),
                TimeLeft(yield),
                yield.process_type(),
                yield.pid(),
                std::to_string(yield.attempts()),
                yield.worker().empty() ? "-" : OneLine(yield.worker()),
                yield.last_error().empty() ? "-" : OneLine(yield.last_error()),
                Preview(yield.payload(), kPreviewWidth)};
          }};
}

ExitStatus RunYields(Invocation& invocation, const YieldsOptions& options) {
  v1::ListYieldsRequest request;
  request.set_command(options.command);
  request.set_pid(options.pid);
  ListWriter writer(invocation.out(), invocation.style(),
                    {{.heading = "TOKEN"},
                     {.heading = "COMMAND"},
                     {.heading = "AGE", .number = true},
                     {.heading = "LEFT", .number = true},
                     {.heading = "TYPE"},
                     {.heading = "PID", .wide_only = true},
                     {.heading = "ATTEMPTS", .wide_only = true, .number = true},
                     {.heading = "WORKER", .wide_only = true},
                     {.heading = "LAST ERROR", .wide_only = true},
                     {.heading = "PAYLOAD", .wide_only = true}});
  const absl::Status status = ForEachElement(
      request, options.limit,
      [&](const v1::ListYieldsRequest& page) {
        return invocation.client().ListYields(page, invocation.Quick());
      },
      [](const v1::ListYieldsResponse& response) -> const auto& {
        return response.yields();
      },
      [&](const v1::Yield& yield) { writer.Add(YieldItem(yield)); },
      [&] { writer.EndPage(); });
  if (!status.ok()) return invocation.Fail(status);
  writer.Finish();
  invocation.SayEmpty(writer, "no command waits for an answer");
  return ExitStatus::kDone;
}

struct LinkOptions {
  std::string token;
  std::string expires;
  std::string text;
  std::vector<std::string> values;
};

ExitStatus RunLink(Invocation& invocation, const LinkOptions& options) {
  const auto token = FindToken(invocation, options.token);
  if (!token.ok()) return invocation.Fail(token.status());
  v1::CreateYieldLinkRequest request;
  request.set_token(*token);
  request.set_text(options.text);
  for (const std::string& value : options.values) request.add_values(value);
  if (!options.expires.empty()) {
    const auto expires = ParseDuration(options.expires);
    if (!expires.ok()) return invocation.Fail(expires.status(), "--expires");
    *request.mutable_expires_in() = FromDuration(*expires);
  }
  const auto response =
      invocation.client().CreateYieldLink(request, invocation.Quick());
  if (!response.ok()) return invocation.Fail(response.status());
  WriteOne(invocation.out(), invocation.style(), ToJson(*response),
           response->url(),
           [&] { invocation.out() << response->url() << '\n'; });
  return ExitStatus::kDone;
}

constexpr char kLinkFooter[] = R"(
Prints the URL of a page that completes the command, once. The page asks for no token, so send
the URL only to the person who is asked. The page offers the values as buttons; the chosen one
is the result, as a JSON text. Without --value it has one button, and the result is empty.
The daemon needs admin.link_key.

Examples:
  actorctl yields link "$token" --text 'Refund order 17?' --value approve --value decline
  actorctl yields link "$token" --expires 1h
)";

void AddLink(CLI::App& yields, Action& chosen) {
  auto options = std::make_shared<LinkOptions>();
  CLI::App* command = yields.add_subcommand(
      "link", "Make a link with which a person completes a command");
  command->footer(kLinkFooter);
  command->add_option("TOKEN", options->token, kTokenArgument)
      ->required()
      ->type_name("");
  command
      ->add_option("--expires", options->expires,
                   "How long the link works, 1s to 720h [24h]")
      ->type_name("DURATION");
  command->add_option("--text", options->text, "The question on the page")
      ->type_name("TEXT");
  command
      ->add_option("--value", options->values,
                   "An answer that the page offers; up to 8 times")
      ->type_name("TEXT")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->callback([&chosen, options] {
    chosen = [options](Invocation& invocation) {
      return RunLink(invocation, *options);
    };
  });
}

constexpr char kYieldsFooter[] = R"(
Oldest first. LEFT is the time until the yield times out. -o wide adds the attempts, the
worker that has the task, and the error of the last attempt.

Examples:
  actorctl yields --command 'payment.*' -o wide
  actorctl yields --pid "$pid" -o name
  actorctl yields -o jsonl | jq -r '.token + " " + .payload.json.order'
)";

}  // namespace

void AddYields(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<YieldsOptions>();
  CLI::App* command = app.add_subcommand(
      "yields", "List external commands that wait to be completed");
  command->footer(kYieldsFooter);
  command
      ->add_option("--command", options->command,
                   "Only this command; a * at the end makes it a prefix")
      ->type_name("NAME");
  command
      ->add_option("--pid", options->pid,
                   "Only yields of this process: a PID or @NAME")
      ->type_name("PID");
  command->add_option("--limit", options->limit, "Maximum number of rows [all]")
      ->type_name("N");
  AddLink(*command, chosen);
  // CLI11 runs this after the callback of a subcommand.
  command->callback([command, &chosen, options] {
    if (!command->get_subcommands().empty()) return;
    chosen = [options](Invocation& invocation) {
      return RunYields(invocation, *options);
    };
  });
}

}  // namespace actord::client
