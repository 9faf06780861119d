#include "runtime/store_tools/items/write_items.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <system_error>
#include <variant>

#include "absl/strings/str_cat.h"
#include "runtime/files/remove_folder.h"
#include "runtime/journal/meta.h"
#include "runtime/process/listed/labels.h"
#include "runtime/store/rocks_state_store.h"
#include "runtime/store/state_keys.h"
#include "runtime/store_tools/examine_store.h"
#include "runtime/store_tools/restore_backup.h"
#include "runtime/table/home_pid.h"

namespace actord::runtime {
namespace {

constexpr size_t kBatchBytes = 4 << 20;

absl::Status Wrong(const std::string& what) {
  return absl::InvalidArgumentError(what);
}

}  // namespace

absl::StatusOr<std::unique_ptr<StoreWriter>> StoreWriter::Begin(
    const std::string& directory, FileSystem& files) {
  const auto names = files.List(directory);
  if (names.ok() && !names->empty()) {
    return absl::AlreadyExistsError(
        absl::StrCat(directory,
                     " is not empty: name a directory that does not exist, or "
                     "an empty one"));
  }
  if (!names.ok() && !absl::IsNotFound(names.status())) return names.status();
  std::unique_ptr<StoreWriter> writer(new StoreWriter(directory, files));
  absl::Status status = writer->Prepare();
  if (!status.ok()) return status;
  return writer;
}

absl::Status StoreWriter::Prepare() {
  // Left over from an interrupted import.
  absl::Status status = RemoveFolder(making_);
  if (status.ok()) status = files_.MakeDirectory(making_);
  if (!status.ok()) return status;
  std::error_code error;
  std::filesystem::permissions(making_, std::filesystem::perms::owner_all,
                               error);
  if (error) {
    return absl::InternalError(
        absl::StrCat("chmod ", making_, ": ", error.message()));
  }
  auto state = RocksStateStore::Open(
      {.directory = making_ + "/state", .await_room = nullptr});
  if (!state.ok()) return state.status();
  state_ = *std::move(state);
  return absl::OkStatus();
}

StoreWriter::~StoreWriter() {
  state_.reset();
  if (!has_ended_) static_cast<void>(RemoveFolder(making_));
}

absl::Status StoreWriter::Write() {
  std::vector<StateWrite> writes;
  writes.reserve(batch_.size());
  for (auto& [key, value] : batch_) {
    writes.push_back({std::move(key), std::move(value)});
  }
  batch_.clear();
  batch_bytes_ = 0;
  return state_->Write(writes);
}

absl::Status StoreWriter::Put(std::string key, std::string value) {
  batch_bytes_ += key.size() + value.size();
  batch_.emplace_back(std::move(key), std::move(value));
  return batch_bytes_ < kBatchBytes ? absl::OkStatus() : Write();
}

absl::Status StoreWriter::PutOnce(std::string key, std::string value,
                                  const std::string& what) {
  if (!once_.insert(key).second) return Wrong(what + " comes twice");
  return Put(std::move(key), std::move(value));
}

absl::Status StoreWriter::Check(uint64_t position,
                                const std::string& what) const {
  if (position != 0 && position < store_.position) return absl::OkStatus();
  return Wrong(absl::StrCat(what, " has the position ", position,
                            ", and the store ends at position ",
                            store_.position));
}

absl::Status StoreWriter::Add(const AnyItem& item) {
  if ((store_.position == 0) != std::holds_alternative<StoreItem>(item)) {
    return Wrong("the store as a whole comes first, and once");
  }
  return std::visit([this](const auto& one) { return Take(one); }, item);
}

absl::Status StoreWriter::Take(const StoreItem& item) {
  if (item.position < kFirstLsn || item.position % 8 != 0) {
    return Wrong(absl::StrCat("no record begins at position ", item.position));
  }
  // A PID has 32 bits for the incarnation.
  if (item.incarnation >
      std::numeric_limits<uint32_t>::max() - 2 * kRestoreIncarnations) {
    return Wrong(absl::StrCat("the incarnation ", item.incarnation,
                              " is too high: the store was copied too often"));
  }
  store_ = item;
  meta_.applied = meta_.round = meta_.previous_round = meta_.trim =
      item.position;
  meta_.incarnation = item.incarnation + kRestoreIncarnations;
  meta_.store_ns = item.store_ns;
  meta_.unix_ns = item.clock_unix_ns;
  meta_.time_ns = item.clock_store_ns;
  return absl::OkStatus();
}

absl::Status StoreWriter::Take(const OwnerItem& item) {
  return PutOnce(KeyOf(KeyKind::kOwner, item.number), item.name,
                 absl::StrCat("the owner ", static_cast<int>(item.number)));
}

absl::Status StoreWriter::Take(const records::Plugin& item) {
  return PutOnce(KeyOf(KeyKind::kPlugin, item.number), ValueOf(item),
                 absl::StrCat("plugin ", item.number));
}

absl::Status StoreWriter::Take(const ProcessItem& item) {
  const std::string name = "process " + FormatPid(item.pid);
  if (!IsHomePid(item.pid)) return Wrong(name + " is not durable");
  if (item.pid.incarnation > store_.incarnation) {
    return Wrong(name + " is of a later start than the store");
  }
  const records::RuntimeImage& image = item.entry.runtime;
  if (!Labels::OfTexts(image.labels).ok()) {
    return Wrong(name + " has wrong labels");
  }
  absl::Status status =
      PutOnce(KeyOf(KeyKind::kProcess, item.pid), ValueOf(item.entry), name);
  if (status.ok() && item.image) {
    status = Put(KeyOf(KeyKind::kImage, item.pid), ValueOf(*item.image));
  }
  std::string holder;
  keys::Append(item.pid, holder);
  for (const std::string& held : image.names) {
    if (status.ok()) {
      status = PutOnce(KeyOf(KeyKind::kName, image.owner, held), holder,
                       "the name " + held);
    }
  }
  for (const std::string& group : image.groups) {
    if (status.ok()) {
      status = Put(KeyOf(KeyKind::kGroup, image.owner, group,
                         std::string_view("\0", 1), item.pid),
                   "");
    }
  }
  const uint64_t no_tag = 0;
  if (status.ok() && image.lifetime_ns != 0) {
    status =
        Put(KeyOf(KeyKind::kTimer, image.lifetime_ns, item.pid, no_tag), "");
  }
  for (const records::YieldImage& yield : image.yields) {
    if (!status.ok() || yield.deadline_ns == 0) continue;
    status =
        Put(KeyOf(KeyKind::kTimer, yield.deadline_ns, item.pid, yield.tag), "");
  }
  if (status.ok()) status = TakeMail(item);
  return status.ok() ? TakeRest(item) : status;
}

absl::Status StoreWriter::TakeMail(const ProcessItem& item) {
  const std::string name = "an event of process " + FormatPid(item.pid);
  for (const ProcessItem::Event& event : item.mailbox) {
    absl::Status status = Check(event.position, name);
    if (status.ok() && !event.mail.body) status = Wrong(name + " has no body");
    if (status.ok()) {
      status = PutOnce(KeyOf(KeyKind::kMail, item.pid, event.position),
                       ValueOf(event.mail), name);
    }
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status StoreWriter::TakeRest(const ProcessItem& item) {
  const std::string name = FormatPid(item.pid);
  for (const ProcessItem::Exit& exit : item.exits) {
    absl::Status status =
        PutOnce(KeyOf(KeyKind::kExit, item.pid, exit.of, exit.tag),
                ValueOf(exit.entry), "an exit for process " + name);
    if (!status.ok()) return status;
  }
  for (const ProcessItem::Step& step : item.history) {
    const std::string what = "a step of process " + name;
    absl::Status status = Check(step.position, what);
    for (const Consumed& one : step.entry.consumed) {
      if (status.ok() && !one.mail.body) status = Wrong(what + " lacks a body");
    }
    if (status.ok()) {
      status = PutOnce(KeyOf(KeyKind::kHistory, item.pid, step.position),
                       ValueOf(step.entry), what);
    }
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status StoreWriter::Take(const LetterItem& item) {
  const std::string name = absl::StrCat("the dead letter 0.", item.position);
  absl::Status status = Check(item.position, name);
  if (status.ok() && !item.letter.mail.body) {
    status = Wrong(name + " has no body");
  }
  if (!status.ok()) return status;
  return PutOnce(KeyOf(KeyKind::kLetter, item.position), ValueOf(item.letter),
                 name);
}

absl::Status StoreWriter::Take(const OutcomeItem& item) {
  if (!Labels::OfTexts(item.entry.labels).ok()) {
    return Wrong("the result of process " + FormatPid(item.pid) +
                 " has wrong labels");
  }
  std::string key = KeyOf(KeyKind::kOutcome, item.pid);
  absl::Status status =
      Put(KeyOf(KeyKind::kExpiry, item.entry.expires_ns, key), "");
  if (!status.ok()) return status;
  return PutOnce(std::move(key), ValueOf(item.entry),
                 "the result of process " + FormatPid(item.pid));
}

absl::Status StoreWriter::Take(const IdItem& item) {
  uint64_t* const count = item.kind == kSubmitId    ? &meta_.submit_ids
                          : item.kind == kMessageId ? &meta_.message_ids
                          : item.kind == kCallId    ? &meta_.call_ids
                          : item.kind == kYieldId   ? &meta_.yield_ids
                                                    : nullptr;
  const std::string id =
      item.kind == kYieldId ? YieldIdOf(item.yield) : item.id;
  const std::string name = "the id " + item.id;
  if (count == nullptr || id.empty()) return Wrong(name + " is of no kind");
  const bool wants_answer = item.kind == kCallId && !item.entry.is_open;
  if (wants_answer != item.answer.has_value()) {
    return Wrong(name + ": a call has an answer, or is open");
  }
  absl::Status status = Check(item.entry.lsn, name);
  if (!status.ok()) return status;
  std::string key = KeyOf(KeyKind::kRequest, item.owner, item.kind, id);
  if (item.entry.is_open) {
    status = Put(KeyOf(KeyKind::kCall, item.entry.lsn), key);
  } else {
    ++*count;
    status = Put(KeyOf(KeyKind::kOrder, item.kind, item.entry.expires_ns,
                       item.entry.lsn),
                 key);
  }
  if (status.ok() && item.answer) {
    status =
        Put(KeyOf(KeyKind::kAnswer, item.entry.lsn), ValueOf(*item.answer));
  }
  if (!status.ok()) return status;
  return PutOnce(std::move(key), ValueOf(item.entry), name);
}

absl::Status StoreWriter::End() {
  if (store_.position == 0) return Wrong("there is no store as a whole");
  absl::Status status = Put(KeyOf(KeyKind::kMeta), ValueOf(meta_));
  if (status.ok()) status = Write();
  if (status.ok()) status = state_->Flush();
  state_.reset();
  if (!status.ok()) return status;
  ::actord::runtime::Meta meta;
  meta.store = store_.id;
  meta.incarnation = meta_.incarnation;
  meta.first_link.lsn = store_.position;
  status = MetaFiles(files_, making_).Create(meta);
  for (const char* const folder : {"/state", ""}) {
    if (status.ok()) status = files_.SyncDirectory(making_ + folder);
  }
  if (!status.ok()) return status;
  const auto report = ExamineStore({.directory = making_, .files = &files_});
  if (!report.ok()) return report.status();
  for (const StoreReport::Finding& finding : report->findings) {
    if (finding.is_damage) {
      return absl::DataLossError("the items do not fit together: " +
                                 finding.text);
    }
  }
  return Move();
}

absl::Status StoreWriter::Move() {
  // An empty directory makes room.
  std::error_code error;
  std::filesystem::remove(directory_, error);
  absl::Status status = files_.Rename(making_, directory_);
  if (!status.ok()) return status;
  has_ended_ = true;
  const std::string parent =
      std::filesystem::absolute(directory_).parent_path();
  return files_.SyncDirectory(parent);
}

}  // namespace actord::runtime
