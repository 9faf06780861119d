// Reads of the state store while it is open.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/durable/opened_store.h"
#include "runtime/store/state_keys.h"

namespace actord::runtime {
namespace {

absl::Status TakeImage(std::string_view value, StoredProcess& process) {
  ImageEntry entry;
  absl::Status status = DecodeFields(value, entry);
  if (!status.ok()) return absl::DataLossError(status.message());
  process.image = std::move(entry.image);
  return absl::OkStatus();
}

}  // namespace

absl::Status OpenedStore::ReadRest(std::vector<StoredProcess>& processes) {
  absl::Status status = ScanBeside(
      KeyKind::kMail, processes,
      [this](StoredProcess& process, std::string_view key,
             std::string_view value) {
        Mail mail;
        const absl::Status decoded = DecodeFields(value, mail);
        if (!decoded.ok()) {
          return absl::DataLossError(decoded.message());
        }
        const uint64_t position = NumberIn(key, kKeyKindBytes + kKeyPidBytes);
        absl::StatusOr<StoredBody> body = BodyOf(mail, position);
        if (!body.ok()) return body.status();
        mail.body = *std::move(body);
        process.mailbox.push_back({position, std::move(mail)});
        return absl::OkStatus();
      });
  for (StoredProcess& process : processes) {
    if (!status.ok()) return status;
    if (!process.entry.runtime.watches.empty()) status = ReadExits(process);
  }
  if (!status.ok() ||
      std::ranges::all_of(processes, &StoredProcess::WaitsForMessages)) {
    return status;
  }
  return ScanBeside(KeyKind::kImage, processes,
                    [](StoredProcess& process, std::string_view /*key*/,
                       std::string_view value) {
                      return process.WaitsForMessages()
                                 ? absl::OkStatus()
                                 : TakeImage(value, process);
                    });
}

absl::StatusOr<StoredProcess> OpenedStore::ReadProcess(const Pid& pid) {
  auto value = state_->Get(KeyOf(KeyKind::kProcess, pid));
  if (!value.ok()) return value.status();
  if (!*value) {
    return absl::NotFoundError(
        absl::StrCat("the store has no process ", FormatPid(pid)));
  }
  StoredProcess process;
  process.pid = pid;
  absl::Status status = DecodeFields(**value, process.entry);
  if (!status.ok()) return absl::DataLossError(status.message());
  value = state_->Get(KeyOf(KeyKind::kImage, pid));
  if (!value.ok()) return value.status();
  if (*value) status = TakeImage(**value, process);
  if (!status.ok()) return status;
  return process;
}

void OpenedStore::AskForRead() {
  const MutexLock lock(mutex_);
  is_read_ = true;
  wake_.notify_all();
}

absl::Status OpenedStore::ReadState(StateReads::Use use) {
  if (options_.journal.threads) return reads_.Read(use);
  absl::Status status = CatchUp();
  return status.ok() ? use(*state_, applier_->applied()) : status;
}

}  // namespace actord::runtime
