// Request ids and message ids, calls with their answers, and answers to yields:
// kept by the record that carried out the request, and forgotten after their
// time.
#include <string>
#include <utility>
#include <vector>

#include "runtime/store/journal_applier.h"

namespace actord::runtime {
namespace {

// Maximum number of entries that one batch of a round changes.
constexpr size_t kIdsPerBatch = 1000;

// Parts of a key of kOrder.
uint64_t TimeIn(std::string_view order) {
  return NumberIn(order, kKeyKindBytes + 1);
}
uint64_t LsnIn(std::string_view order) {
  return NumberIn(order, kKeyKindBytes + 1 + sizeof(uint64_t));
}

}  // namespace

void JournalApplier::KeepRequest(uint8_t kind, Owner owner,
                                 const records::RequestKey& key, const Pid& pid,
                                 bool is_submitted) {
  if (key.id.empty()) return;
  Keep(kind, KeyOf(KeyKind::kRequest, owner, kind, key.id),
       {.fingerprint = key.fingerprint,
        .lsn = lsn_,
        .pid = pid,
        .is_submitted = is_submitted});
}

void JournalApplier::Keep(uint8_t kind, std::string key, RequestEntry&& entry) {
  entry.expires_ns = meta_.store_ns + options_.request_id_ttl_ns;
  batch_.PutNew(KeyOf(KeyKind::kOrder, kind, entry.expires_ns, entry.lsn), key);
  batch_.Put(std::move(key), ValueOf(entry));
  ++CountOf(kind);
}

void JournalApplier::KeepCall(const records::Input& record) {
  std::string key =
      KeyOf(KeyKind::kRequest, record.owner, kCallId, record.request.id);
  batch_.PutNew(KeyOf(KeyKind::kCall, lsn_), key);
  batch_.Put(std::move(key),
             ValueOf(RequestEntry{.fingerprint = record.request.fingerprint,
                                  .lsn = lsn_,
                                  .pid = record.to,
                                  .is_open = true}));
}

absl::Status JournalApplier::AnswerCall(uint64_t position,
                                        const CallAnswer& answer) {
  std::string call = KeyOf(KeyKind::kCall, position);
  const absl::StatusOr<std::optional<std::string>> key = batch_.Get(call);
  if (!key.ok() || !key->has_value()) return key.status();
  batch_.Erase(std::move(call));
  absl::StatusOr<std::optional<RequestEntry>> entry =
      batch_.Read<RequestEntry>(**key);
  if (!entry.ok()) return entry.status();
  if (!entry->has_value() || (*entry)->lsn != position) {
    return Contradiction("the id of its call is not kept");
  }
  (*entry)->is_open = false;
  Keep(kCallId, **key, RequestEntry(**entry));
  batch_.PutNew(KeyOf(KeyKind::kAnswer, position), ValueOf(answer));
  return absl::OkStatus();
}

absl::Status JournalApplier::KeepAnswer(const records::Input& record) {
  if (record.request.fingerprint == Fingerprint{}) return absl::OkStatus();
  const absl::StatusOr<Resident*> found = residents_.Find(record.to);
  if (!found.ok() || *found == nullptr) return found.status();
  const records::YieldImage* const yield = FindYield(**found, record.tag);
  if (yield == nullptr) return absl::OkStatus();  // Complete refuses it
  Keep(kYieldId,
       KeyOf(KeyKind::kRequest, (*found)->owner(), kYieldId,
             YieldIdOf({record.to, record.tag})),
       {.fingerprint = record.request.fingerprint,
        .lsn = lsn_,
        .pid = record.to,
        .attempts = yield->attempts,
        .worker_owner = yield->worker_owner});
  return absl::OkStatus();
}

absl::Status JournalApplier::ForgetRequest(
    uint8_t kind, Owner owner, const std::string& id,
    absl::FunctionRef<bool(const RequestEntry&)> is) {
  if (id.empty()) return absl::OkStatus();
  std::string at = KeyOf(KeyKind::kRequest, owner, kind, id);
  const absl::StatusOr<std::optional<RequestEntry>> entry =
      batch_.Read<RequestEntry>(at);
  if (!entry.ok()) return entry.status();
  // Otherwise the id has expired, or was used again.
  if (!entry->has_value() || !is(**entry)) return absl::OkStatus();
  batch_.Erase(std::move(at));
  if ((*entry)->is_open) {
    batch_.Erase(KeyOf(KeyKind::kCall, (*entry)->lsn));
    return absl::OkStatus();
  }
  batch_.Erase(
      KeyOf(KeyKind::kOrder, kind, (*entry)->expires_ns, (*entry)->lsn));
  if (kind == kCallId) batch_.Erase(KeyOf(KeyKind::kAnswer, (*entry)->lsn));
  --CountOf(kind);
  return absl::OkStatus();
}

absl::Status JournalApplier::ExpireIds(uint8_t kind) {
  const std::string prefix = KeyOf(KeyKind::kOrder, kind);
  for (;;) {
    uint64_t& count = CountOf(kind);
    const uint64_t surplus =
        count > options_.request_id_max ? count - options_.request_id_max : 0;
    std::vector<std::pair<std::string, std::string>> piece;
    absl::Status status = store_.Scan(
        prefix, BehindPrefix(prefix),
        [&](std::string_view order, std::string_view id) {
          if (piece.size() >= surplus && TimeIn(order) >= meta_.store_ns) {
            return false;
          }
          piece.emplace_back(order, id);
          return piece.size() < kIdsPerBatch;
        });
    if (!status.ok() || piece.empty()) return status;
    for (auto& [order, id] : piece) {
      const absl::StatusOr<std::optional<RequestEntry>> entry =
          batch_.Read<RequestEntry>(id);
      if (!entry.ok()) return entry.status();
      if (kind == kCallId) {
        batch_.Erase(KeyOf(KeyKind::kAnswer, LsnIn(order)));
      }
      // An id that was used again belongs to a later record.
      if (entry->has_value() && (*entry)->lsn == LsnIn(order)) {
        batch_.Erase(std::move(id));
      }
      batch_.Erase(std::move(order));
      --count;
    }
    status = Commit();
    if (!status.ok()) return status;
  }
}

}  // namespace actord::runtime
