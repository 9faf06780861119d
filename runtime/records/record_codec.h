// Encodes and decodes the records of the journal.
//
// Thread-safety: pure functions of their arguments.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "runtime/journal/format.h"
#include "runtime/records/records.h"

namespace actord::runtime::records {

// Whether this version reads records of the kind, for JournalOptions::knows.
bool Knows(uint16_t kind);
// The flags of a record of this kind in the journal: 0, or kSkippable
// (runtime/journal/format.h).
uint16_t FlagsOf(Kind kind);
// "SUBMITTED". Precondition: Knows(kind).
std::string_view NameOf(Kind kind);

// Appends the payload of the record.
void Encode(const Any& record, std::string& out);
// Decodes the payload of a record. An unknown kind decodes to no record if
// `flags` says that it may be skipped. INVALID_ARGUMENT: the message names the
// kind, the wrong field and the mistake. The encoding of a decoded record has
// the same bytes.
absl::Status Decode(uint16_t kind, uint16_t flags, std::string_view payload,
                    std::optional<Any>& record);
// Decodes a record that was read from the journal. DATA_LOSS: the message names
// the place, the kind, the wrong field and the mistake.
absl::Status Decode(const RecordView& read, std::optional<Any>& record);

}  // namespace actord::runtime::records
