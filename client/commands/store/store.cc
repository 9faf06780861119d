// actorctl store

#include <memory>
#include <string>

#include "client/commands/commands.h"
#include "client/commands/store/report_output.h"
#include "client/commands/store/store_items.h"
#include "client/commands/store/store_path.h"
#include "client/output/output.h"
#include "nlohmann/json.hpp"
#include "runtime/store_tools/examine_store.h"

namespace actord::client {
namespace {

using runtime::StoreReport;

ExitStatus RunVerify(Invocation& invocation, const std::string& directory) {
  const absl::Status path = CheckStorePath(directory);
  if (!path.ok()) return invocation.Fail(path);
  const auto report =
      runtime::ExamineStore({.directory = WithoutEndSlash(directory)});
  if (!report.ok()) return invocation.Fail(report.status());
  const bool is_damaged = report->is_damaged();
  WriteOne(invocation.out(), invocation.style(), ToJson(*report),
           is_damaged ? "damaged" : "intact",
           [&] { WriteVerdict(invocation, *report); });
  return is_damaged ? ExitStatus::kStoreRefused : ExitStatus::kDone;
}

ExitStatus RunStat(Invocation& invocation, const std::string& directory) {
  const absl::Status path = CheckStorePath(directory);
  if (!path.ok()) return invocation.Fail(path);
  const auto report = runtime::ExamineStore(
      {.directory = WithoutEndSlash(directory), .is_thorough = false});
  if (!report.ok()) return invocation.Fail(report.status());
  if (report->is_damaged()) {
    for (const StoreReport::Finding& finding : report->findings) {
      if (finding.is_damage) invocation.Complain(finding.text);
    }
    return ExitStatus::kStoreRefused;
  }
  WriteOne(invocation.out(), invocation.style(), ToJson(*report),
           report->directory, [&] { WriteReport(invocation, *report); });
  return ExitStatus::kDone;
}

constexpr char kStoreFooter[] = R"(
These commands read the store of a stopped daemon, and change nothing in it. They lock the
store while they read it, and fail if a daemon uses it. import and salvage make a new store.

Examples:
  actorctl store verify /var/lib/actord/store
  actorctl store stat /var/lib/actord/store -o json | jq .state.processes
)";

constexpr char kVerifyFooter[] = R"(
Reads the whole journal and the whole state store, and checks everything that the next
start of actord relies on: checksums, the chain of groups, each record, and that the
records that are not yet in the state store fit it. For each damage it prints the file,
the offset, the position and what to do. Exit status: 0 intact, 78 damaged, 3 no store,
1 in use.

Examples:
  actorctl store verify /var/lib/actord/store
  actorctl store verify /backup/monday -o json | jq .intact
)";

constexpr char kStatFooter[] = R"(
Counts the contents that the next start of actord would find. Positions count the bytes of
records.
Exit status: 0 done, 78 damaged, 3 no store, 1 in use.

Examples:
  actorctl store stat /var/lib/actord/store
  actorctl store stat /var/lib/actord/store -o json | jq .journal
)";

void AddOne(CLI::App& store, Action& chosen, const std::string& name,
            const std::string& description, const std::string& footer,
            ExitStatus (*run)(Invocation&, const std::string&)) {
  auto directory = std::make_shared<std::string>();
  CLI::App* command = store.add_subcommand(name, description);
  command->footer(footer);
  command->add_option("DIR", *directory, "Directory of the store")
      ->required()
      ->type_name("");
  command->callback([&chosen, directory, run] {
    chosen = [directory, run](Invocation& invocation) {
      return run(invocation, *directory);
    };
  });
}

}  // namespace

void AddStore(CLI::App& app, Action& chosen) {
  CLI::App* store = app.add_subcommand(
      "store", "Inspect a store of durable processes, without a daemon");
  store->footer(kStoreFooter);
  store->require_subcommand(1);
  AddOne(*store, chosen, "verify", "Check that a store is intact",
         kVerifyFooter, &RunVerify);
  AddOne(*store, chosen, "stat", "Show what a store holds", kStatFooter,
         &RunStat);
  AddExport(*store, chosen);
  AddImport(*store, chosen);
  AddSalvage(*store, chosen);
}

}  // namespace actord::client
