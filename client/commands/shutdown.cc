// actorctl shutdown

#include <algorithm>
#include <memory>
#include <string>

#include "client/calls/listening.h"
#include "client/cli/errors/unreached.h"
#include "client/commands/commands.h"
#include "client/output/message_json.h"
#include "client/output/text.h"
#include "nlohmann/json.hpp"

namespace actord::client {
namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

// The pause between two questions whether the daemon has gone.
constexpr absl::Duration kPause = absl::Milliseconds(20);
// The time for each such question.
constexpr absl::Duration kPatience = absl::Seconds(1);

struct ShutdownOptions {
  std::string mode = "drain";
  std::string deadline;
  bool end_durable = false;
  bool no_wait = false;
};

// Whether a daemon serves at the address. A daemon that ends does not serve
// from the first moment of its shutdown.
bool IsServing(Invocation& invocation) {
  CallOptions options = invocation.Quick();
  options.deadline = std::min(options.deadline, absl::Now() + kPatience);
  const auto health =
      invocation.client().CheckHealth(HealthCheckRequest(), options);
  return health.ok() && health->status() == HealthCheckResponse::SERVING;
}

// Waits until the daemon whose Shutdown was answered has exited: nobody listens
// at its address any more, or another daemon serves there. Until --timeout, or
// for kDefaultCallTimeout.
ExitStatus AwaitExit(Invocation& invocation) {
  const std::string& address = invocation.options().address;
  const absl::Time began = absl::Now();
  const absl::Time deadline =
      std::min(invocation.deadline(), invocation.options().timeout
                                          ? absl::InfiniteFuture()
                                          : began + kDefaultCallTimeout);
  for (;;) {
    const absl::StatusOr<bool> listening = IsListening(address, kPatience);
    if (listening.ok() && !*listening) return ExitStatus::kDone;
    if (IsServing(invocation)) return ExitStatus::kDone;
    const absl::Time now = absl::Now();
    if (now >= deadline) {
      invocation.Complain(
          "the processes have ended, but the daemon has not exited within " +
          ShortDuration(now - began) + ": " +
          (listening.ok() ? address + " still takes connections"
                          : std::string(listening.status().message())) +
          "; --timeout sets a longer time");
      return ExitStatus::kDeadline;
    }
    if (!invocation.Pause(kPause)) {
      invocation.Complain(
          "interrupted; the processes have ended, and the daemon is about to "
          "exit");
      return ExitStatus::kInterrupted;
    }
  }
}

ExitStatus RunShutdown(Invocation& invocation, const ShutdownOptions& options) {
  v1::ShutdownRequest request;
  request.set_mode(options.mode == "now" ? v1::ShutdownRequest::MODE_NOW
                                         : v1::ShutdownRequest::MODE_DRAIN);
  request.set_end_durable(options.end_durable);
  if (!options.deadline.empty()) {
    const auto deadline = ParseDuration(options.deadline);
    if (!deadline.ok()) {
      return invocation.Fail(deadline.status(), "--deadline");
    }
    *request.mutable_deadline() = FromDuration(*deadline);
  }
  const auto response =
      invocation.client().Shutdown(request, invocation.Waiting());
  if (IsDeadlineOfCall(response.status())) {
    invocation.Complain(
        "no answer within --timeout, and the daemon may still drain: "
        "\"actorctl status\" shows its state, and \"actorctl shutdown --mode "
        "now\" ends it at once");
    return ExitStatus::kDeadline;
  }
  if (!response.ok()) return invocation.Fail(response.status());
  const std::string ended = WithThousands(response->ended_count());
  const std::string forced = WithThousands(response->forced_count());
  WriteOne(invocation.out(), invocation.style(), ToJson(*response), "", [&] {
    invocation.out() << "ended " << ended << ", forced " << forced;
    if (response->kept_count() != 0) {
      invocation.out() << ", kept " << WithThousands(response->kept_count())
                       << " durable";
    }
    invocation.out() << '\n';
  });
  invocation.out().flush();
  const bool has_kept = options.end_durable && response->kept_count() != 0;
  if (has_kept) {
    invocation.Complain(WithThousands(response->kept_count()) +
                        " durable processes have not ended, and stay in the "
                        "store; start the daemon and end them with more time");
  }
  const ExitStatus status = has_kept ? ExitStatus::kFailed : ExitStatus::kDone;
  if (options.no_wait) return status;
  if (response->has_inherited_sockets()) {
    invocation.Complain(
        "not waiting for the daemon's exit: a service manager holds its "
        "sockets, and a connection would start the daemon again");
    return status;
  }
  const ExitStatus exited = AwaitExit(invocation);
  return exited == ExitStatus::kDone ? status : exited;
}

constexpr char kShutdownFooter[] = R"(
Prints how many processes ended in time and how many were forced, and then waits until
the daemon has exited: its store is closed, and its addresses are free. If that takes longer than
30s, or than --timeout, the exit status is 6. To cut a drain short, run the command again with
--mode now. If a service manager holds the sockets of the daemon, the command does not wait.

Durable processes are kept: they continue after the next start. With --end-durable they end, too.

Examples:
  actorctl shutdown --deadline 1m
  actorctl shutdown --end-durable --deadline 10m
  actorctl shutdown --mode now --timeout 10s
)";

}  // namespace

void AddShutdown(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<ShutdownOptions>();
  CLI::App* command = app.add_subcommand(
      "shutdown",
      "End all processes and the daemon, and wait until it has exited");
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
  command->add_flag("--end-durable", options->end_durable,
                    "End durable processes, too, instead of keeping them for "
                    "the next start");
  command->add_flag("--no-wait", options->no_wait,
                    "Return when all processes have ended; the daemon exits "
                    "a moment later");
  command->callback([&chosen, options] {
    chosen = [options](Invocation& invocation) {
      return RunShutdown(invocation, *options);
    };
  });
}

}  // namespace actord::client
