#include "runtime/store_tools/items/export_store.h"

#include "absl/strings/str_cat.h"
#include "runtime/store_tools/closed_journal.h"

namespace actord::runtime {
namespace {

absl::Status Export(const ExportOptions& options, StateStore& state,
                    const ClosedJournal& journal, ItemReader::Use use) {
  ItemReader reader(state, nullptr);
  absl::Status status = LoadBodies(reader, journal);
  if (!status.ok()) return status;
  const absl::StatusOr<StoreMeta> meta = reader.Meta();
  // A store that has never been started.
  const StoreMeta whole = meta.value_or(StoreMeta{});
  status = use(StoreItem{.id = journal.meta().store,
                         .position = journal.end_lsn(),
                         .incarnation = journal.report().incarnation,
                         .store_ns = whole.store_ns,
                         .clock_unix_ns = whole.unix_ns,
                         .clock_store_ns = whole.time_ns});
  if (!status.ok() || !meta.ok()) return status;
  bool is_found = false;
  status = reader.ReadHead(use);
  if (!status.ok()) return status;
  status = reader.ReadProcesses(
      [&](const Pid& pid, const ProcessEntry& entry) {
        const bool wants = (options.process_type.empty() ||
                            options.process_type == entry.process_type) &&
                           (options.pid.empty() || options.pid == pid);
        is_found |= wants;
        return wants;
      },
      use);
  if (!status.ok()) return status;
  if (options.process_type.empty() && options.pid.empty()) {
    return reader.ReadTail(use);
  }
  if (is_found || options.pid.empty()) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat("process ", FormatPid(options.pid),
                                          " is not in ",
                                          options.store.directory));
}

}  // namespace

absl::Status LoadBodies(ItemReader& reader, const ClosedJournal& journal) {
  return reader.LoadBodies([&](auto take) {
    const absl::Status walked = journal.ForEach(
        0, [&](const RecordView& record, const std::string& /*where*/) {
          return take(record);
        });
    return absl::IsCancelled(walked) ? absl::OkStatus() : walked;
  });
}

absl::StatusOr<StoreReport> ExportStore(const ExportOptions& options,
                                        ItemReader::Use use) {
  ExamineOptions store = options.store;
  store.use = [&](StateStore& state, const ClosedJournal& journal) {
    return Export(options, state, journal, use);
  };
  return ExamineStore(store);
}

}  // namespace actord::runtime
