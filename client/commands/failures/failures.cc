// actorctl failures

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/cli/paging.h"
#include "client/commands/commands.h"
#include "client/commands/known_type.h"
#include "client/output/message_json.h"
#include "client/output/step_text.h"
#include "client/output/text.h"
#include "nlohmann/json.hpp"

namespace actord::client {
namespace {

struct FailuresOptions {
  std::string type;
  std::string since;
  uint64_t limit = 0;
  bool newest = false;
  bool follow = false;
};

// Unit: characters of the text.
constexpr size_t kFailureTextWidth = 100;
constexpr size_t kLastStepWidth = 200;
// Pause between two requests of --follow.
constexpr absl::Duration kFollowEvery = absl::Seconds(1);

std::string OrDashOfFailure(const std::string& text) {
  return text.empty() ? "-" : OneLine(text);
}

// "Step 3: fail: MESSAGE add (3 B)".
std::string LastStepText(const v1::ProcessFailure& failure) {
  const auto steps = StepTexts(failure.last_steps(), absl::Now());
  if (steps.empty()) return "-";
  return OneLine(absl::StrCat(steps.front().first, ": ", steps.front().second),
                 kLastStepWidth);
}

Item FailureItem(const v1::ProcessFailure& failure) {
  return {.json = [&failure] { return ToJson(failure); },
          .name = [&failure] { return failure.pid(); },
          .cells =
              [&failure] {
                return std::vector<std::string>{
                    Rfc3339(absl::FromUnixMillis(
                        absl::ToUnixMillis(ToTime(failure.end_time())))),
                    failure.pid(),
                    OrDashOfFailure(failure.name()),
                    OrDashOfFailure(failure.process_type()),
                    EnumName(failure.failure().reason()),
                    absl::StatusCodeToString(static_cast<absl::StatusCode>(
                        failure.failure().code())),
                    WithThousands(failure.steps()),
                    OrDashOfFailure(failure.parent_pid()),
                    OrDashOfFailure(failure.linked_pid()),
                    OrDashOfFailure(failure.first_cause_pid()),
                    failure.owner(),
                    LastStepText(failure),
                    OneLine(failure.failure().message(), kFailureTextWidth)};
              }};
}

ExitStatus RunFailures(Invocation& invocation, const FailuresOptions& options) {
  v1::ListFailuresRequest request;
  request.set_process_type(options.type);
  request.set_newest_first(options.newest);
  if (!options.since.empty()) {
    const auto ago = ParseDuration(options.since);
    if (!ago.ok()) {
      return invocation.Fail(UsageError(
          absl::StrCat("--since: ", std::string(ago.status().message()))));
    }
    const int64_t since =
        std::max<int64_t>(absl::ToUnixNanos(absl::Now() - *ago), 0);
    request.mutable_since()->set_seconds(since / 1'000'000'000);
    request.mutable_since()->set_nanos(
        static_cast<int32_t>(since % 1'000'000'000));
  }
  ListWriter writer(invocation.out(), invocation.style(),
                    {{.heading = "TIME"},
                     {.heading = "PID"},
                     {.heading = "NAME"},
                     {.heading = "TYPE"},
                     {.heading = "REASON"},
                     {.heading = "CODE", .wide_only = true},
                     {.heading = "STEPS", .wide_only = true, .number = true},
                     {.heading = "PARENT", .wide_only = true},
                     {.heading = "LINKED", .wide_only = true},
                     {.heading = "FIRST CAUSE", .wide_only = true},
                     {.heading = "OWNER", .wide_only = true},
                     {.heading = "LAST STEP", .wide_only = true},
                     {.heading = "TEXT"}});
  for (;;) {
    const absl::Status status = ForEachElement(
        request, options.limit,
        [&](const v1::ListFailuresRequest& page) {
          return invocation.client().ListFailures(page, invocation.Quick());
        },
        [](const v1::ListFailuresResponse& response) -> const auto& {
          return response.failures();
        },
        [&](const v1::ProcessFailure& failure) {
          writer.Add(FailureItem(failure));
          request.set_after_id(failure.id());
        },
        [&] {
          writer.EndPage();
          invocation.out().flush();
        });
    if (!status.ok()) return invocation.Fail(status);
    if (!options.follow) break;
    if (!invocation.Pause(kFollowEvery)) {
      return invocation.Fail(absl::CancelledError());
    }
  }
  writer.Finish();
  if (writer.empty() && !options.type.empty()) {
    WarnOfUnknownType(invocation, options.type, "");
  }
  invocation.SayEmpty(writer, "no process has failed, or none matches");
  return ExitStatus::kDone;
}

constexpr char kFailuresFooter[] = R"(
A process has failed if it ended without a result and nobody asked it to end: its step failed
or threw, its Init refused (only for a spawned process), it exceeded a limit, or a linked
process failed. The daemon logs failures, and keeps the newest (failures.max_count) until it
ends. LINKED is the linked process whose failure ended this one; FIRST CAUSE is the process
that failed first. LAST STEP is the step that failed, and the events that it was given.
--follow asks for new failures once a second.

Examples:
  actorctl failures --type order --since 10m
  actorctl failures --newest --limit 5 -o wide
  actorctl failures --follow
  actorctl failures -o jsonl | jq -r '.failure.message' | sort | uniq -c
)";

}  // namespace

void AddFailures(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<FailuresOptions>();
  CLI::App* command = app.add_subcommand(
      "failures", "List the processes that have failed, and why");
  command->footer(kFailuresFooter);
  command->add_option("--type", options->type, "Only processes of this type")
      ->type_name("NAME");
  command
      ->add_option("--since", options->since,
                   "Only processes that ended at most this long ago")
      ->type_name("DURATION");
  auto* limit = command
                    ->add_option("--limit", options->limit,
                                 "Maximum number of rows [all]")
                    ->type_name("N");
  auto* newest = command->add_flag("--newest", options->newest, "Newest first");
  command
      ->add_flag("--follow", options->follow,
                 "Then print new failures as they happen")
      ->excludes(limit)
      ->excludes(newest);
  command->callback([&chosen, options] {
    chosen = [options](Invocation& invocation) {
      return RunFailures(invocation, *options);
    };
  });
}

}  // namespace actord::client
