// actorctl describe

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/calls/error.h"
#include "client/commands/commands.h"
#include "client/commands/failures/pending_calls.h"
#include "client/output/message_json.h"
#include "client/output/process_fields.h"
#include "client/output/step_text.h"
#include "client/output/text.h"
#include "nlohmann/json.hpp"

namespace actord::client {
namespace {

using Fields = std::vector<std::pair<std::string, std::string>>;

// Maximum number of yields that are shown.
constexpr int kShownYields = 100;

// Adds the external commands that the process waits for, the oldest first, to
// the text and to "yields" of the JSON. Sets `waiting` to their number.
absl::Status AddYieldFields(Invocation& invocation, const std::string& pid,
                            Fields& fields, Json& json, size_t& waiting) {
  v1::ListYieldsRequest request;
  request.set_pid(pid);
  request.set_page_size(kShownYields);
  const auto response =
      invocation.client().ListYields(request, invocation.Quick());
  if (!response.ok()) return response.status();
  for (const v1::Yield& yield : response->yields()) {
    json["yields"].push_back(ToJson(yield));
    std::string text = OneLine(yield.command()) + " for " +
                       ShortDuration(absl::Now() - ToTime(yield.create_time()));
    if (!yield.worker().empty()) text += ", worker " + OneLine(yield.worker());
    if (!yield.has_worker()) text += ", no worker subscribes to it";
    fields.emplace_back("Waits for", std::move(text));
  }
  if (!response->next_page_token().empty()) {
    fields.emplace_back("Waits for", "...");
  }
  waiting = response->yields_size();
  return absl::OkStatus();
}

ExitStatus WriteFailure(Invocation& invocation,
                        const v1::ProcessFailure& failure) {
  const absl::Time ended = ToTime(failure.end_time());
  const auto or_dash = [](const std::string& text) {
    return text.empty() ? "-" : OneLine(text);
  };
  WriteOne(invocation.out(), invocation.style(), ToJson(failure), failure.pid(),
           [&] {
             Fields fields = {
                 {"PID", failure.pid()},
                 {"Type", or_dash(failure.process_type())},
                 {"Names", or_dash(failure.name())},
                 {"State", "FAILED"},
                 {"Parent", or_dash(failure.parent_pid())},
                 {"Created", Rfc3339(ToTime(failure.create_time()))},
                 {"Ended", Rfc3339(ended) + " (" +
                               ShortDuration(absl::Now() - ended) + " ago)"},
                 {"Steps", WithThousands(failure.steps())},
                 {"Reason", EnumName(failure.failure().reason())},
                 {"Code",
                  absl::StatusCodeToString(
                      static_cast<absl::StatusCode>(failure.failure().code()))},
                 {"Text", or_dash(failure.failure().message())}};
             if (!failure.linked_pid().empty()) {
               fields.emplace_back("Linked to", failure.linked_pid());
               fields.emplace_back("First cause", failure.first_cause_pid());
             }
             if (!failure.owner().empty()) {
               fields.emplace_back("Owner", failure.owner());
             }
             for (auto& step : StepTexts(failure.last_steps(), absl::Now())) {
               fields.push_back(std::move(step));
             }
             WriteFields(invocation.out(), fields);
           });
  return ExitStatus::kDone;
}

// Shows the failure of a process that has ended. Without one, the error, and
// where the result is, if the daemon keeps it.
ExitStatus DescribeEnded(Invocation& invocation, const std::string& pid,
                         const absl::Status& ended) {
  // The holder of the name is alive, or the name is unknown.
  if (DetailsOf(ended).reason != "PROCESS_ENDED" || pid.starts_with('@')) {
    return invocation.Fail(ended);
  }
  v1::ListFailuresRequest request;
  request.set_pid(pid);
  const auto response =
      invocation.client().ListFailures(request, invocation.Quick());
  // An older daemon does not know the call.
  if (!response.ok() || response->failures().empty()) {
    const ExitStatus status = invocation.Fail(ended);
    v1::AwaitRequest await;
    await.set_pid(pid);
    // The process has ended, so the answer comes at once.
    if (invocation.client().Await(await, invocation.Quick()).ok()) {
      invocation.Complain("\"actorctl await " + pid + "\" prints its result");
    }
    return status;
  }
  return WriteFailure(invocation, response->failures(0));
}

ExitStatus RunDescribe(Invocation& invocation, const std::string& pid) {
  v1::GetProcessRequest request;
  request.set_pid(pid);
  const auto response =
      invocation.client().GetProcess(request, invocation.Quick());
  if (!response.ok()) {
    // A PID has neither a slash nor an @.
    if (DetailsOf(response.status()).reason == "INVALID_PID" &&
        pid.find('/') != std::string::npos) {
      return invocation.Fail(
          UsageError(OneLine(pid) + " is not a PID; a name begins with @: @" +
                     OneLine(pid)));
    }
    return DescribeEnded(invocation, pid, response.status());
  }
  const v1::Process& process = response->process();
  Fields fields = ProcessFields(process, absl::Now());
  Json json = ToJson(process);
  size_t external = 0;
  size_t calls = 0;
  absl::Status status;
  json["yields"] = Json::array();
  if (process.yields_outstanding() > 0) {
    status = AddYieldFields(invocation, process.pid(), fields, json, external);
  }
  if (process.state() == v1::PROCESS_STATE_IDLE) {
    fields.emplace_back("Waits for", "a message");
  }
  if (status.ok()) {
    status = AddCallFields(invocation, process.pid(), fields, json, calls);
  }
  if (!status.ok()) return invocation.Fail(status);
  if (process.yields_outstanding() > external + calls &&
      external < kShownYields && calls < kShownYields) {
    fields.emplace_back(
        "Waits for",
        std::to_string(process.yields_outstanding() - external - calls) +
            " of its yields inside the daemon, which are not listed: calls "
            "with an id, or those of an older daemon");
  }
  if (response->has_recording()) {
    const v1::Recording& recording = response->recording();
    json["recording"] = ToJson(recording);
    fields.emplace_back(
        "Recorded",
        absl::StrCat("for ",
                     ShortDuration(absl::Now() - ToTime(recording.since())),
                     recording.entries().empty() ? "; no step since" : ""));
    for (auto& step : StepTexts(recording.entries(), absl::Now())) {
      fields.push_back(std::move(step));
    }
  }
  WriteOne(invocation.out(), invocation.style(), json, process.pid(),
           [&] { WriteFields(invocation.out(), fields); });
  return ExitStatus::kDone;
}

constexpr char kDescribeFooter[] = R"(
Shows a live process: its names, its plugin, the commands and the processes that it waits for,
the callers that wait for its answer, its links and monitors, and its last steps if it is
recorded (actorctl record). Of a process that has failed, shows the failure while the daemon
keeps it (actorctl failures), with the events that its last step was given.

Examples:
  actorctl describe "$pid"
  actorctl describe @orders/17
  actorctl describe "$pid" -o json | jq .state
)";

}  // namespace

void AddDescribe(CLI::App& app, Action& chosen) {
  auto pid = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("describe", "Show one process");
  command->footer(kDescribeFooter);
  command->add_option("PID", *pid, "Process")->required()->type_name("");
  command->callback([&chosen, pid] {
    chosen = [pid](Invocation& invocation) {
      return RunDescribe(invocation, *pid);
    };
  });
}

}  // namespace actord::client
