// actorctl await

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/bulk/bulk.h"
#include "client/cli/outcome.h"
#include "client/commands/commands.h"
#include "client/output/message_json.h"
#include "nlohmann/json.hpp"

namespace actord::client {
namespace {

using Result = absl::StatusOr<v1::AwaitResponse>;

std::vector<Result> AwaitAll(Invocation& invocation,
                             const std::vector<std::string>& pids) {
  std::vector<Result> results(pids.size());
  Bulk bulk(invocation.client(), {.deadline = invocation.deadline()});
  const Cancellation::Registration registration(
      &invocation.environment().cancellation, [&bulk] { bulk.CancelAll(); });
  for (size_t i = 0; i < pids.size(); ++i) {
    v1::AwaitRequest request;
    request.set_pid(pids[i]);
    bulk.Await(std::move(request), [&results, i](Result result) {
      results[i] = std::move(result);
    });
  }
  bulk.WaitUntilIdle(absl::InfiniteDuration());
  return results;
}

// A name belongs to a process only until its end.
void ExplainName(Invocation& invocation, const absl::Status& status,
                 const std::string& pid) {
  if (!absl::IsNotFound(status) || !pid.starts_with('@')) return;
  invocation.Complain(
      "a process loses its name at its end; \"actorctl ps --ended\" lists "
      "ended processes with their names and PIDs");
}

ExitStatus Worse(ExitStatus a, ExitStatus b) {
  // The error of a call outweighs the failure of a process.
  if (a == ExitStatus::kDone) return b;
  if (b == ExitStatus::kDone || b == ExitStatus::kFailed) return a;
  return a == ExitStatus::kFailed ? b : a;
}

ExitStatus AwaitMany(Invocation& invocation,
                     const std::vector<std::string>& pids) {
  const std::vector<Result> results = AwaitAll(invocation, pids);
  if (invocation.environment().cancellation.cancelled()) {
    return invocation.Fail(absl::CancelledError());
  }
  ListWriter writer(invocation.out(), invocation.style(), {});
  ExitStatus status = ExitStatus::kDone;
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i].ok()) {
      invocation.out().flush();
      status = Worse(
          status, invocation.Fail(results[i].status(), "process " + pids[i]));
      ExplainName(invocation, results[i].status(), pids[i]);
      continue;
    }
    const v1::Outcome& outcome = results[i]->outcome();
    if (invocation.ForPeople()) {
      WriteOutcome(invocation, outcome, /*separate=*/true);
    } else {
      writer.Add({.json = [&] { return ToJson(outcome); },
                  .name = [&] { return outcome.pid(); },
                  .cells = nullptr});
    }
    status = Worse(status, ReportFailure(invocation, outcome));
  }
  if (!invocation.ForPeople()) writer.Finish();
  return status;
}

ExitStatus RunAwait(Invocation& invocation,
                    const std::vector<std::string>& pids) {
  if (pids.size() > 1) return AwaitMany(invocation, pids);
  v1::AwaitRequest request;
  request.set_pid(pids.front());
  const auto response =
      invocation.client().Await(request, invocation.Waiting());
  if (!response.ok()) {
    const ExitStatus failed = invocation.Fail(response.status());
    ExplainName(invocation, response.status(), pids.front());
    return failed;
  }
  WriteOutcome(invocation, response->outcome());
  return ReportFailure(invocation, response->outcome());
}

constexpr char kAwaitFooter[] = R"(
Prints the result byte for byte. The results of several processes are printed in the order
of the PIDs, each with a line end. If a process fails, its reason goes to standard error
and the exit status is 1. -o json also prints times, steps and failure.

Examples:
  actorctl await "$pid"
  actorctl await "$pid" --timeout 10s || echo "failed, or not yet: $?"
  actorctl await "$pid1" "$pid2" -o jsonl
)";

}  // namespace

void AddAwait(CLI::App& app, Action& chosen) {
  auto pids = std::make_shared<std::vector<std::string>>();
  CLI::App* command =
      app.add_subcommand("await", "Wait for processes to end, print results");
  command->footer(kAwaitFooter);
  command->add_option("PID", *pids, "Processes")->required()->type_name("...");
  command->callback([&chosen, pids] {
    chosen = [pids](Invocation& invocation) {
      return RunAwait(invocation, *pids);
    };
  });
}

}  // namespace actord::client
