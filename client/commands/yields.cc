// actorctl yields

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "client/cli/paging.h"
#include "client/commands/commands.h"
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
  return {.json = [&yield] { return ToJson(yield); },
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
  return ExitStatus::kDone;
}

constexpr char kYieldsFooter[] = R"(
Oldest first. LEFT is the time until the yield times out.

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
  command->add_option("--pid", options->pid, "Only yields of this process")
      ->type_name("PID");
  command->add_option("--limit", options->limit, "Maximum number of rows [all]")
      ->type_name("N");
  command->callback([&chosen, options] {
    chosen = [options](Invocation& invocation) {
      return RunYields(invocation, *options);
    };
  });
}

}  // namespace actord::client
