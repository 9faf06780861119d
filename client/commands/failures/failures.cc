// actorctl failures

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <tuple>
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
  bool summary = false;
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
                    Rfc3339Ms(ToTime(failure.end_time())),
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

// The failures of one type with the same reason and text.
struct AlikeFailures {
  v1::ProcessFailure newest;
  uint64_t count = 0;
};

absl::Status ReadRequest(const FailuresOptions& options,
                         v1::ListFailuresRequest& request) {
  request.set_process_type(options.type);
  request.set_newest_first(options.newest || options.summary);
  if (options.since.empty()) return absl::OkStatus();
  const auto ago = ParseDuration(options.since);
  if (!ago.ok()) {
    return UsageError(
        absl::StrCat("--since: ", std::string(ago.status().message())));
  }
  const int64_t since =
      std::max<int64_t>(absl::ToUnixNanos(absl::Now() - *ago), 0);
  request.mutable_since()->set_seconds(since / 1'000'000'000);
  request.mutable_since()->set_nanos(
      static_cast<int32_t>(since % 1'000'000'000));
  return absl::OkStatus();
}

Item AlikeItem(const AlikeFailures& alike) {
  const v1::ProcessFailure& newest = alike.newest;
  return {
      .json =
          [&alike, &newest] {
            return Json{{"count", alike.count}, {"newest", ToJson(newest)}};
          },
      .name = [&newest] { return newest.pid(); },
      .cells =
          [&alike, &newest] {
            return std::vector<std::string>{
                WithThousands(alike.count),
                OrDashOfFailure(newest.process_type()),
                EnumName(newest.failure().reason()),
                ShortDuration(absl::Now() - ToTime(newest.end_time())) + " ago",
                newest.pid(),
                OneLine(newest.failure().message(), kFailureTextWidth)};
          }};
}

// Writes a row for each kind of failure, the most frequent first.
ExitStatus RunSummary(Invocation& invocation, const FailuresOptions& options) {
  v1::ListFailuresRequest request;
  absl::Status status = ReadRequest(options, request);
  if (!status.ok()) return invocation.Fail(status);
  std::map<std::tuple<std::string, int, std::string>, AlikeFailures> kinds;
  status = ForEachElement(
      request, 0,
      [&](const v1::ListFailuresRequest& page) {
        return invocation.client().ListFailures(page, invocation.Quick());
      },
      [](const v1::ListFailuresResponse& response) -> const auto& {
        return response.failures();
      },
      [&](const v1::ProcessFailure& failure) {
        AlikeFailures& alike =
            kinds[{failure.process_type(), failure.failure().reason(),
                   failure.failure().message()}];
        if (alike.count++ == 0) alike.newest = failure;
      },
      [] {});
  if (!status.ok()) return invocation.Fail(status);
  std::vector<const AlikeFailures*> sorted;
  for (const auto& [kind, alike] : kinds) sorted.push_back(&alike);
  std::stable_sort(
      sorted.begin(), sorted.end(),
      [](const auto* a, const auto* b) { return a->count > b->count; });
  if (options.limit != 0 && sorted.size() > options.limit) {
    sorted.resize(options.limit);
  }
  ListWriter writer(invocation.out(), invocation.style(),
                    {{.heading = "COUNT", .number = true},
                     {.heading = "TYPE"},
                     {.heading = "REASON"},
                     {.heading = "NEWEST", .number = true},
                     {.heading = "PID OF THE NEWEST"},
                     {.heading = "TEXT"}});
  for (const AlikeFailures* alike : sorted) writer.Add(AlikeItem(*alike));
  writer.Finish();
  invocation.SayEmpty(writer, "no process has failed, or none matches");
  return ExitStatus::kDone;
}

ExitStatus RunFailures(Invocation& invocation, const FailuresOptions& options) {
  v1::ListFailuresRequest request;
  if (const absl::Status status = ReadRequest(options, request); !status.ok()) {
    return invocation.Fail(status);
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
--follow asks for new failures once a second. --summary counts the kept failures of one type
with the same reason and text.

Examples:
  actorctl failures --summary
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
  auto* summary =
      command
          ->add_flag("--summary", options->summary,
                     "One row for equal failures, with their number; the most "
                     "frequent first")
          ->excludes(newest);
  command
      ->add_flag("--follow", options->follow,
                 "Then print new failures as they happen")
      ->excludes(limit)
      ->excludes(newest)
      ->excludes(summary);
  command->callback([&chosen, options] {
    chosen = [options](Invocation& invocation) {
      return options->summary ? RunSummary(invocation, *options)
                              : RunFailures(invocation, *options);
    };
  });
}

}  // namespace actord::client
