// The bytes of a record: what a call was given, what it asked, and what it has
// come to.
//
// A record is a frame of items, each in this form, little-endian:
//
//   kind u16 | flags u16 | length u32 | `length` bytes
//
// Bit 0 of the flags says that whoever does not know the kind may skip the
// item, but keeps it; without that bit an unknown kind is an error. Kinds and
// layouts are fixed for ever: the golden file of the tests holds them. A new
// kind is a row of the table in record_codec.cc.
//
// Thread-safety: pure functions of what they are given.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "runtime/memory/buffer_pool.h"
#include "runtime/step/step_record.h"
#include "runtime/step/turn_input.h"

namespace actord::runtime {

// Appends the record of a call that has returned and that is not applied yet.
void EncodeRecord(const TurnInput& input, const StepRecord& record,
                  std::string& out);

// A record that was read. Borrows the bytes that it was read from. Its effects
// own their contents, which whoever decoded it frees.
struct DecodedRecord {
  TurnInput input;  // points to `parent` and `events`
  AtomicPid parent;
  StepRecord record;
  std::deque<actord_event> events;
  std::vector<const actord_event*> event_pointers;
  // Items of unknown kinds that may be skipped, whole, in their order.
  std::vector<std::string_view> unknown;
};

// Takes one record from the front of `bytes`. INVALID_ARGUMENT says where and
// why it is none; then nothing is left to free. `buffers`: for the contents.
absl::Status DecodeRecord(std::string_view& bytes, BufferCache& buffers,
                          DecodedRecord& decoded);
// Appends it again; what was not known comes last.
void EncodeRecord(const DecodedRecord& decoded, std::string& out);
void FreeContents(DecodedRecord& decoded, BufferCache& buffers);

}  // namespace actord::runtime
