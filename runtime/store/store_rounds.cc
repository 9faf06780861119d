#include "runtime/store/store_rounds.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/records/record_codec.h"

namespace actord::runtime {

absl::Status StoreRounds::CatchUp(uint64_t max_bytes) {
  const uint64_t from = applier_.applied();
  const uint64_t durable = journal_.DurableLsn();
  if (from < journal_.FirstLsn() || from > durable) {
    return absl::DataLossError(absl::StrCat(
        "state store: it stands for the records before position ", from,
        ", but the journal holds positions ", journal_.FirstLsn(), " to ",
        durable, ": files of the store are missing or mixed"));
  }
  const uint64_t end = from + std::min(max_bytes, durable - from);
  JournalReader reader = journal_.Read(from);
  while (applier_.applied() < end) {
    const absl::StatusOr<bool> more = reader.Next();
    if (!more.ok()) return more.status();
    if (!*more) break;
    absl::Status status = applier_.Apply(reader.record());
    if (!status.ok()) return status;
  }
  return applier_.Commit();
}

absl::Status StoreRounds::EndRound() {
  absl::Status status = applier_.EndRound();
  if (!status.ok()) return status;
  // The CHECKPOINT record may be left out, and an append may wait for the room
  // that the trim makes.
  if (journal_.Behind()) return journal_.Trim(applier_.trim());
  const records::Checkpoint checkpoint{.applied = {.lsn = applier_.applied()},
                                       .trim = {.lsn = applier_.trim()}};
  std::string payload;
  records::Encode(checkpoint, payload);
  const absl::StatusOr<uint64_t> lsn =
      journal_.Append({static_cast<uint16_t>(checkpoint.kKind),
                       records::FlagsOf(checkpoint.kKind), payload});
  return lsn.ok() ? journal_.Trim(applier_.trim()) : lsn.status();
}

}  // namespace actord::runtime
