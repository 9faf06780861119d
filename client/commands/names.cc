// actorctl names

#include <memory>
#include <string>
#include <vector>

#include "client/cli/paging.h"
#include "client/commands/commands.h"
#include "client/output/message_json.h"
#include "nlohmann/json.hpp"

namespace actord::client {
namespace {

struct NamesOptions {
  std::string prefix;
  uint64_t limit = 0;
};

Item NameItem(const v1::Name& name) {
  return {.json = [&name] { return ToJson(name); },
          .name =
              [&name] {
                return "@" + name.name() +
                       (name.owner().empty() ? "" : "@" + name.owner());
              },
          .cells =
              [&name] {
                return std::vector<std::string>{name.name(), name.pid(),
                                                name.owner()};
              }};
}

ExitStatus RunNames(Invocation& invocation, const NamesOptions& options) {
  v1::ListNamesRequest request;
  request.set_prefix(options.prefix);
  ListWriter writer(invocation.out(), invocation.style(),
                    {{.heading = "NAME"},
                     {.heading = "PID"},
                     {.heading = "OWNER", .wide_only = true}});
  const absl::Status status = ForEachElement(
      request, options.limit,
      [&](const v1::ListNamesRequest& page) {
        return invocation.client().ListNames(page, invocation.Quick());
      },
      [](const v1::ListNamesResponse& response) -> const auto& {
        return response.names();
      },
      [&](const v1::Name& name) { writer.Add(NameItem(name)); },
      [&] { writer.EndPage(); });
  if (!status.ok()) return invocation.Fail(status);
  writer.Finish();
  invocation.SayEmpty(writer, "no name is registered, or none matches");
  return ExitStatus::kDone;
}

constexpr char kNamesFooter[] = R"(
The name held longest comes first. @NAME can stand for a PID in every command.
Each owner has names of its own: @NAME means a process of yours. @NAME@OWNER
means a process of another owner, if your token sees all processes.

Examples:
  actorctl names --prefix orders/
  actorctl names -o name | xargs -n 1 actorctl describe
)";

}  // namespace

void AddNames(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<NamesOptions>();
  CLI::App* command =
      app.add_subcommand("names", "List the names that processes hold");
  command->footer(kNamesFooter);
  command
      ->add_option("--prefix", options->prefix, "Only names with this prefix")
      ->type_name("TEXT");
  command->add_option("--limit", options->limit, "Maximum number of rows [all]")
      ->type_name("N");
  command->callback([&chosen, options] {
    chosen = [options](Invocation& invocation) {
      return RunNames(invocation, *options);
    };
  });
}

}  // namespace actord::client
