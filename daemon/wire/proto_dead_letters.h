// Translates dead letters between actord.v1 and the runtime.
//
// An id consists of the daemon's incarnation in hexadecimal, a dot, and the
// number of the letter. So no id can mean a letter of another run.
//
// Thread-safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "actord/v1/dead_letter.pb.h"
#include "daemon/wire/proto_requests.h"
#include "runtime/actors/dead_letters.h"

namespace actord::daemon {

std::string FormatDeadLetterId(uint32_t incarnation, uint64_t number);
// Returns the number of the letter. INVALID_FIELD, which names `field`: the
// text is not an id. DEAD_LETTER_NOT_FOUND: the id belongs to another run.
absl::StatusOr<uint64_t> ReadDeadLetterId(std::string_view field,
                                          const std::string& text,
                                          uint32_t incarnation);

// Fills `query`, except for its `by`, which the caller sets before, and
// `scope`. The token of the next page is made with `scope`.
absl::Status ReadListDeadLetters(const v1::ListDeadLettersRequest& request,
                                 uint32_t incarnation,
                                 runtime::DeadLetterQuery& query,
                                 uint64_t& scope);
// Returns the numbers of the letters of this run. Skips ids of other runs.
absl::StatusOr<std::vector<uint64_t>> ReadDropDeadLetters(
    const v1::DropDeadLettersRequest& request, uint32_t incarnation);

void WriteDeadLetter(runtime::DeadLetter letter, uint32_t incarnation,
                     v1::DeadLetter* proto);

}  // namespace actord::daemon
