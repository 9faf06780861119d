// Request ids and message ids: kept by the record that did what they name, and
// forgotten after their time.
#include <string>
#include <utility>
#include <vector>

#include "runtime/store/journal_applier.h"

namespace actord::runtime {
namespace {

// Entries that one batch of a round changes.
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
  RequestEntry entry;
  entry.fingerprint = key.fingerprint;
  entry.lsn = lsn_;
  entry.pid = pid;
  entry.is_submitted = is_submitted;
  entry.expires_ns = meta_.store_ns + options_.request_id_ttl_ns;
  std::string at = KeyOf(KeyKind::kRequest, owner, kind, key.id);
  batch_.PutNew(KeyOf(KeyKind::kOrder, kind, entry.expires_ns, lsn_), at);
  batch_.Put(std::move(at), ValueOf(entry));
  ++CountOf(kind);
}

absl::Status JournalApplier::ForgetRequest(
    uint8_t kind, Owner owner, const std::string& id,
    absl::FunctionRef<bool(const RequestEntry&)> is) {
  if (id.empty()) return absl::OkStatus();
  std::string at = KeyOf(KeyKind::kRequest, owner, kind, id);
  const absl::StatusOr<std::optional<RequestEntry>> entry =
      batch_.Read<RequestEntry>(at);
  if (!entry.ok()) return entry.status();
  // Otherwise its time is over, or it was used again.
  if (!entry->has_value() || !is(**entry)) return absl::OkStatus();
  batch_.Erase(
      KeyOf(KeyKind::kOrder, kind, (*entry)->expires_ns, (*entry)->lsn));
  batch_.Erase(std::move(at));
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
      // An id that was used again is of a later record.
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
