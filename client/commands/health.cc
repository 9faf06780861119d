// actorctl health

#include <algorithm>
#include <memory>
#include <string>

#include "client/commands/commands.h"
#include "client/output/message_json.h"
#include "nlohmann/json.hpp"

namespace actord::client {
namespace {

using grpc::health::v1::HealthCheckResponse;

constexpr absl::Duration kHealthTimeout = absl::Seconds(5);

ExitStatus RunHealth(Invocation& invocation, const std::string& service) {
  grpc::health::v1::HealthCheckRequest request;
  request.set_service(service);
  CallOptions options = invocation.Quick();
  if (!invocation.options().timeout) {
    options.deadline = absl::Now() + kHealthTimeout;
  }
  const auto response = invocation.client().CheckHealth(request, options);
  if (!response.ok()) return invocation.Fail(response.status());
  const std::string status = EnumName(response->status());
  WriteOne(invocation.out(), invocation.style(), ToJson(*response), status,
           [&] { invocation.out() << status << '\n'; });
  return response->status() == HealthCheckResponse::SERVING
             ? ExitStatus::kDone
             : ExitStatus::kUnavailable;
}

constexpr char kHealthFooter[] = R"(
Prints SERVING (exit status 0) or NOT_SERVING (5). Asks the standard gRPC health service;
the deadline is 5s, or --timeout.

Examples:
  actorctl health
  actorctl health --service actord.v1.ActorService --timeout 1s
)";

}  // namespace

void AddHealth(CLI::App& app, Action& chosen) {
  auto service = std::make_shared<std::string>();
  CLI::App* command =
      app.add_subcommand("health", "Check whether the daemon serves");
  command->footer(kHealthFooter);
  command
      ->add_option("--service", *service,
                   "Full name of one service [the whole daemon]")
      ->type_name("NAME");
  command->callback([&chosen, service] {
    chosen = [service](Invocation& invocation) {
      return RunHealth(invocation, *service);
    };
  });
}

}  // namespace actord::client
