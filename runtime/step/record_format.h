// Encodes and decodes the record of a call: its input, its questions with their
// answers, its effects and its result. The journal's record of a step
// (runtime/records/records.h) holds such a record in its field `record`.
//
// A record is a frame of items, each in this form, little-endian:
//
//   kind u16 | flags u16 | length u32 | `length` bytes
//
// Bit 0 of the flags: a reader that does not know the kind skips the item, but
// keeps its bytes. Without that bit an unknown kind is an error. Kinds and
// layouts are fixed for ever: the golden file of the tests holds them. A new
// kind is a row of the table in record_format.cc.
//
// Thread-safety: pure functions of their arguments.
#pragma once

#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "runtime/memory/buffer_pool.h"
#include "runtime/step/step_record.h"
#include "runtime/step/turn_input.h"

namespace actord::runtime {

// Appends the record of a call that has returned and whose effects are not
// applied yet.
void EncodeRecord(const TurnInput& input, const StepRecord& record,
                  std::string& out);

// A decoded record. Borrows the bytes that it was decoded from. Its effects own
// their contents, which the caller of DecodeRecord frees with FreeContents.
struct DecodedRecord {
  TurnInput input;  // points to `parent` and `events`
  AtomicPid parent;
  StepRecord record;
  std::deque<actord_event> events;
  std::vector<const actord_event*> event_pointers;
  // Skippable items of unknown kinds, with their headers, in their order.
  std::vector<std::string_view> unknown;
};

// Takes one record from the front of `bytes`. INVALID_ARGUMENT: the message
// gives the place and the mistake, and nothing is left to free. `buffers`: for
// the contents.
absl::Status DecodeRecord(std::string_view& bytes, BufferCache& buffers,
                          DecodedRecord& decoded);
// Appends a decoded record again, with the items of unknown kinds last.
void EncodeRecord(const DecodedRecord& decoded, std::string& out);
void FreeContents(DecodedRecord& decoded, BufferCache& buffers);

// A turn: the part of a step's record that the journal keeps, which is its
// events, its questions with their answers, and its effects, in this order.
// Appends nothing if the turn has none of them.
void EncodeTurn(std::span<const actord_event* const> events,
                const StepRecord& record, std::string& out);
// Decodes all of `bytes`, which EncodeTurn has written; empty bytes are an
// empty turn. Only the events, the answers, the effects and the unknown items
// of `decoded` are set. INVALID_ARGUMENT as for DecodeRecord, also if
// EncodeTurn of the decoded turn would write other bytes.
absl::Status DecodeTurn(std::string_view bytes, BufferCache& buffers,
                        DecodedRecord& decoded);
// Appends a decoded turn again.
void EncodeTurn(const DecodedRecord& decoded, std::string& out);

}  // namespace actord::runtime
