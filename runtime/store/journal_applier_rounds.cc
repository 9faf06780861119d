// The end of a round: moves bodies into the store, and removes old entries.
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/records/record_codec.h"
#include "runtime/store/journal_applier.h"
#include "runtime/store/record_bodies.h"

namespace actord::runtime {
namespace {

// Maximum number of entries that one batch of a round changes.
constexpr size_t kPiece = 1000;

}  // namespace

absl::Status JournalApplier::EndRound() {
  absl::Status status = Commit();
  if (!status.ok()) return status;
  status = MoveBodies(meta_.previous_round);
  if (!status.ok()) return status;
  status = Expire();
  if (status.ok()) status = ExpireIds(kSubmitId);
  if (status.ok()) status = ExpireIds(kMessageId);
  if (status.ok()) status = ExpireIds(kCallId);
  if (status.ok()) status = ExpireIds(kYieldId);
  if (!status.ok()) return status;
  meta_.trim = meta_.previous_round;
  meta_.previous_round = meta_.round;
  meta_.round = meta_.applied;
  status = Commit();
  return status.ok() ? store_.Flush() : status;
}

absl::Status JournalApplier::MoveBodies(uint64_t before) {
  for (;;) {
    std::vector<std::pair<uint64_t, std::string>> piece;
    absl::Status status =
        store_.Scan(KeyOf(KeyKind::kBody), KeyOf(KeyKind::kBody, before),
                    [&](std::string_view key, std::string_view holder) {
                      piece.emplace_back(NumberIn(key, kKeyKindBytes), holder);
                      return piece.size() < kPiece;
                    });
    if (!status.ok() || piece.empty()) return status;
    for (const auto& [position, holder] : piece) {
      status = MoveBody(position, holder);
      if (!status.ok()) return status;
    }
    status = Commit();
    if (!status.ok()) return status;
  }
}

absl::Status JournalApplier::MoveBody(uint64_t position,
                                      const std::string& holder) {
  batch_.Erase(KeyOf(KeyKind::kBody, position));
  const auto move = [&](Mail& mail) {
    absl::StatusOr<StoredBody> body = LoadBody(mail.lsn, position - mail.lsn);
    if (!body.ok()) return body.status();
    mail.body = *std::move(body);
    return absl::OkStatus();
  };
  const auto missing = [&] {
    return absl::DataLossError(absl::StrCat(
        "state store: nothing holds the body at position ", position));
  };
  if (holder.compare(0, kKeyKindBytes, KeyOf(KeyKind::kLetter)) == 0) {
    absl::StatusOr<std::optional<Letter>> letter = batch_.Read<Letter>(holder);
    if (!letter.ok()) return letter.status();
    if (!letter->has_value()) return missing();
    absl::Status status = move((*letter)->mail);
    if (status.ok()) batch_.Put(holder, ValueOf(**letter));
    return status;
  }
  if (holder.compare(0, kKeyKindBytes, KeyOf(KeyKind::kHistory)) == 0) {
    auto history = batch_.Read<HistoryEntry>(holder);
    if (!history.ok()) return history.status();
    if (!history->has_value()) return missing();
    for (Consumed& one : (*history)->consumed) {
      if (one.position != position) continue;
      absl::Status status = move(one.mail);
      if (status.ok()) batch_.Put(holder, ValueOf(**history));
      return status;
    }
    return missing();
  }
  absl::StatusOr<std::optional<Mail>> mail = batch_.Read<Mail>(holder);
  if (!mail.ok()) return mail.status();
  if (!mail->has_value()) return missing();
  absl::Status status = move(**mail);
  if (status.ok()) batch_.Put(holder, ValueOf(**mail));
  return status;
}

absl::Status JournalApplier::Expire() {
  for (;;) {
    std::vector<std::string> piece;
    absl::Status status = store_.Scan(
        KeyOf(KeyKind::kExpiry), KeyOf(KeyKind::kExpiry, meta_.store_ns),
        [&](std::string_view key, std::string_view /*value*/) {
          piece.emplace_back(key);
          return piece.size() < kPiece;
        });
    if (!status.ok() || piece.empty()) return status;
    for (std::string& key : piece) {
      std::string what = key.substr(kKeyKindBytes + sizeof(uint64_t));
      batch_.Erase(std::move(key));
      batch_.Erase(std::move(what));
    }
    absl::Status written = Commit();
    if (!written.ok()) return written;
  }
}

// ---- Bodies in the journal

absl::StatusOr<StoredBody> JournalApplier::LoadBody(uint64_t lsn,
                                                    uint64_t index) {
  const absl::StatusOr<SourceRecord> source = source_.At(lsn);
  if (!source.ok()) return source.status();
  std::optional<records::Any> record;
  absl::Status status =
      records::Decode(source->kind, source->flags, source->payload, record);
  if (!status.ok()) return absl::DataLossError(std::string(status.message()));
  return record.has_value() ? BodyIn(*record, index, buffers_)
                            : absl::DataLossError("journal: no such body");
}

}  // namespace actord::runtime
