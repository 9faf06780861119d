// actorctl shutdown

#include <memory>
#include <string>

#include "client/commands/commands.h"
#include "client/output/message_json.h"
#include "client/output/text.h"
#include "nlohmann/json.hpp"

namespace actord::client {
namespace {

struct ShutdownOptions {
  std::string mode = "drain";
  std::string deadline;
};

ExitStatus RunShutdown(Invocation& invocation, const ShutdownOptions& options) {
  v1::ShutdownRequest request;
  request.set_mode(options.mode == "now" ? v1::ShutdownRequest::MODE_NOW
                                         : v1::ShutdownRequest::MODE_DRAIN);
  if (!options.deadline.empty()) {
    const auto deadline = ParseDuration(options.deadline);
    if (!deadline.ok()) {
      return invocation.Fail(deadline.status(), "--deadline");
    }
    *request.mutable_deadline() = FromDuration(*deadline);
  }
  const auto response =
      invocation.client().Shutdown(request, invocation.Waiting());
  if (!response.ok()) return invocation.Fail(response.status());
  const std::string ended = WithThousands(response->ended_count());
  const std::string forced = WithThousands(response->forced_count());
  WriteOne(invocation.out(), invocation.style(), ToJson(*response), "", [&] {
    invocation.out() << "ended " << ended << ", forced " << forced << '\n';
  });
  return ExitStatus::kDone;
}

constexpr char kShutdownFooter[] = R"(
Prints how many processes ended by themselves and how many were forced. The daemon exits a
moment later: a command that opens its store must wait until the program has gone. To cut a drain
short, run the command again with --mode now.

Examples:
  actorctl shutdown --deadline 1m
  actorctl shutdown --mode now
)";

}  // namespace

void AddShutdown(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<ShutdownOptions>();
  CLI::App* command = app.add_subcommand(
      "shutdown", "End the daemon and wait for its processes");
  command->footer(kShutdownFooter);
  command
      ->add_option("--mode", options->mode,
                   "drain: ask processes to end and wait; now: force them")
      ->check(CLI::IsMember({"drain", "now"}).description(""))
      ->type_name("drain|now")
      ->capture_default_str();
  command
      ->add_option("--deadline", options->deadline,
                   "Force processes that live longer [as configured]")
      ->type_name("DURATION");
  command->callback([&chosen, options] {
    chosen = [options](Invocation& invocation) {
      return RunShutdown(invocation, *options);
    };
  });
}

}  // namespace actord::client
