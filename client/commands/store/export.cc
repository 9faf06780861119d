// actorctl store export, actorctl store import

#include <cerrno>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/commands/store/item_json.h"
#include "client/commands/store/store_items.h"
#include "client/commands/store/store_path.h"
#include "client/output/output.h"
#include "client/output/text.h"
#include "nlohmann/json.hpp"
#include "runtime/files/file_system.h"
#include "runtime/process/pid.h"
#include "runtime/store_tools/examine_store.h"
#include "runtime/store_tools/items/export_store.h"
#include "runtime/store_tools/items/write_items.h"

namespace actord::client {
namespace {

struct ExportFlags {
  std::string directory;
  std::string process_type;
  std::string pid;
};

ExitStatus RunExport(Invocation& invocation, const ExportFlags& flags) {
  const absl::Status place = CheckStorePath(flags.directory);
  if (!place.ok()) return invocation.Fail(place);
  runtime::ExportOptions options;
  options.store = {.directory = WithoutEndSlash(flags.directory)};
  options.process_type = flags.process_type;
  if (!flags.pid.empty()) {
    const auto pid = runtime::ParsePid(flags.pid);
    if (!pid.ok()) return invocation.Fail(UsageError("--pid is not a PID"));
    options.pid = *pid;
  }
  const auto report =
      runtime::ExportStore(options, [&](runtime::AnyItem&& item) {
        invocation.out() << Write(ToJson(item)) << '\n';
        return invocation.out().good()
                   ? absl::OkStatus()
                   : absl::InternalError("standard output cannot be written");
      });
  if (!report.ok()) return invocation.Fail(report.status());
  if (!report->is_damaged()) return ExitStatus::kDone;
  for (const auto& finding : report->findings) {
    if (finding.is_damage) invocation.Complain(finding.text);
  }
  invocation.Complain(
      "the store is damaged, so nothing was exported; \"actorctl store "
      "salvage\" takes what is intact");
  return ExitStatus::kStoreRefused;
}

// Puts the lines of an export into a new store.
absl::Status Import(std::istream& in, runtime::StoreWriter& writer,
                    uint64_t& lines) {
  std::string line;
  while (std::getline(in, line)) {
    ++lines;
    absl::StatusOr<runtime::AnyItem> item = ItemFromJson(line);
    absl::Status status = item.ok() ? writer.Add(*item) : item.status();
    if (!status.ok()) {
      return {status.code(),
              absl::StrCat("line ", lines, ": ", status.message())};
    }
  }
  if (in.bad()) return absl::InternalError("the file cannot be read");
  return writer.End();
}

struct ImportFlags {
  std::string directory;
  std::string file;
};

ExitStatus RunImport(Invocation& invocation, const ImportFlags& flags) {
  const std::string directory = WithoutEndSlash(flags.directory);
  const absl::Status place = CheckNewPath(directory);
  if (!place.ok()) return invocation.Fail(place);
  const std::string path = flags.file == "-" ? "/dev/stdin" : flags.file;
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    return invocation.Fail(runtime::IoError(errno, "open", path));
  }
  auto writer =
      runtime::StoreWriter::Begin(directory, runtime::FileSystem::System());
  if (!writer.ok()) return invocation.Fail(WithUsage(writer.status()));
  uint64_t lines = 0;
  const absl::Status status = Import(in, **writer, lines);
  if (!status.ok()) return invocation.Fail(status, path);
  WriteOne(invocation.out(), invocation.style(),
           {{"directory", directory}, {"items", lines}}, directory, [&] {
             invocation.out() << OneLine(directory) << ": "
                              << WithThousands(lines) << " items\n";
           });
  const auto report =
      runtime::ExamineStore({.directory = directory, .is_thorough = false});
  if (!report.ok()) return invocation.Fail(report.status());
  for (const runtime::StoreReport::Finding& finding : report->findings) {
    invocation.Complain(finding.text);
  }
  return ExitStatus::kDone;
}

constexpr char kExportFooter[] = R"(
Writes what the store holds to standard output, one JSON object a line: first the store
as a whole, then owners, versions of plugins, processes, dead letters, results, and ids
of requests. docs/durability.md describes the fields. The lines hold all payloads and the
secret id of the store: keep them private. With --type or --pid only these processes are
written, without dead letters, results and ids.
Exit status: 0 done, 78 damaged, 3 no store or no such process, 1 in use.

Examples:
  actorctl store export /var/lib/actord/store > store.jsonl
  actorctl store export /var/lib/actord/store --type order | tail -n +2 | jq .names
)";

constexpr char kImportFooter[] = R"(
Makes a store from the lines of "actorctl store export", in a directory that does not
exist or is empty. The store is moved there when it is complete and has been checked as
"actorctl store verify" does. It holds everything that the exported store held, except
the past of its processes and the files of its plugins: import names each missing file, and
the place to copy it to from the directory plugins of the exported store. It gives out no
PID that the exported store has given out or is about to give out. Use only one of the two
stores.
Exit status: 0 done, 1 refused, 2 DIR is a file or not empty, 3 no FILE or no parent
of DIR.

Examples:
  actorctl store import /var/lib/actord/new store.jsonl
  actorctl store export old | actorctl store import new -
)";

}  // namespace

void AddExport(CLI::App& store, Action& chosen) {
  auto flags = std::make_shared<ExportFlags>();
  CLI::App* command =
      store.add_subcommand("export", "Write what a store holds as JSON lines");
  command->footer(kExportFooter);
  command->add_option("DIR", flags->directory, "Directory of the store")
      ->required()
      ->type_name("");
  command
      ->add_option("--type", flags->process_type, "Only processes of this type")
      ->type_name("TYPE");
  command->add_option("--pid", flags->pid, "Only this process")
      ->type_name("PID");
  command->callback([&chosen, flags] {
    chosen = [flags](Invocation& invocation) {
      return RunExport(invocation, *flags);
    };
  });
}

void AddImport(CLI::App& store, Action& chosen) {
  auto flags = std::make_shared<ImportFlags>();
  CLI::App* command =
      store.add_subcommand("import", "Make a store from an export");
  command->footer(kImportFooter);
  command->add_option("DIR", flags->directory, "Directory of the new store")
      ->required()
      ->type_name("");
  command->add_option("FILE", flags->file, "Lines of an export, or -")
      ->required()
      ->type_name("");
  command->callback([&chosen, flags] {
    chosen = [flags](Invocation& invocation) {
      return RunImport(invocation, *flags);
    };
  });
}

}  // namespace actord::client
