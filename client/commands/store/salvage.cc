// actorctl store salvage

#include <memory>
#include <ostream>
#include <string>
#include <utility>

#include "client/commands/store/store_items.h"
#include "client/commands/store/store_path.h"
#include "client/output/output.h"
#include "client/output/text.h"
#include "nlohmann/json.hpp"
#include "runtime/store_tools/items/salvage_store.h"

namespace actord::client {
namespace {

struct SalvageFlags {
  std::string directory;
  std::string new_directory;
};

void WriteReport(std::ostream& out, const std::string& directory,
                 const runtime::SalvageReport& report) {
  for (const std::string& what : report.lost) {
    out << "lost: " << OneLine(what) << '\n';
  }
  if (report.more_lost != 0) {
    out << "lost: " << WithThousands(report.more_lost) << " more\n";
  }
  out << OneLine(directory) << ": " << WithThousands(report.processes)
      << " processes, " << WithThousands(report.events) << " events, "
      << WithThousands(report.dead_letters) << " dead letters, "
      << WithThousands(report.outcomes) << " results, "
      << WithThousands(report.ids) << " ids, up to position "
      << WithThousands(report.position) << '\n';
}

ExitStatus RunSalvage(Invocation& invocation, const SalvageFlags& flags) {
  const std::string directory = WithoutEndSlash(flags.new_directory);
  absl::Status place = CheckStorePath(flags.directory);
  if (place.ok()) place = CheckNewPath(directory);
  if (!place.ok()) return invocation.Fail(place);
  const auto report =
      runtime::SalvageStore({.directory = WithoutEndSlash(flags.directory),
                             .new_directory = directory});
  if (absl::IsDataLoss(report.status())) {
    invocation.Complain(std::string(report.status().message()));
    return ExitStatus::kStoreRefused;
  }
  if (!report.ok()) return invocation.Fail(WithUsage(report.status()));
  WriteOne(invocation.out(), invocation.style(),
           {{"directory", directory},
            {"position", report->position},
            {"processes", report->processes},
            {"events", report->events},
            {"dead_letters", report->dead_letters},
            {"results", report->outcomes},
            {"ids", report->ids},
            {"lost", report->lost},
            {"more_lost", report->more_lost}},
           directory,
           [&] { WriteReport(invocation.out(), directory, *report); });
  return ExitStatus::kDone;
}

constexpr char kSalvageFooter[] = R"(
Makes the store NEWDIR, a new or an empty directory, from the intact parts of the damaged
store DIR: the journal up to the first damaged group, and the readable entries of the
state store. DIR is only read. If the state store cannot be opened, its data files are
read one by one, from copies in NEWDIR.reading. Each "lost:" line names data that is not
in the new store, with positions and processes. Read these lines before you start a
daemon: clients may have seen that data, and for the new store it never existed. An
intact backup is better.
Exit status: 0 done, 78 nothing can be taken, 2 NEWDIR is a file or not empty, 3 no store or no
parent of NEWDIR, 1 in use.

Examples:
  actorctl store salvage /var/lib/actord/store /var/lib/actord/salvaged
)";

}  // namespace

void AddSalvage(CLI::App& store, Action& chosen) {
  auto flags = std::make_shared<SalvageFlags>();
  CLI::App* command = store.add_subcommand(
      "salvage", "Make a store from the intact parts of a damaged one");
  command->footer(kSalvageFooter);
  command->add_option("DIR", flags->directory, "Directory of the store")
      ->required()
      ->type_name("");
  command
      ->add_option("NEWDIR", flags->new_directory, "Directory of the new store")
      ->required()
      ->type_name("");
  command->callback([&chosen, flags] {
    chosen = [flags](Invocation& invocation) {
      return RunSalvage(invocation, *flags);
    };
  });
}

}  // namespace actord::client
