// Dead letters between actord.v1 and the runtime's terms.
//
// An id is the incarnation of the daemon in hexadecimal, a dot and the number
// of the letter, so that no id means a letter of another run.
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
// The number. INVALID_FIELD that names `field`, if the text is no id;
// DEAD_LETTER_NOT_FOUND if it is one of another run.
absl::StatusOr<uint64_t> ReadDeadLetterId(std::string_view field,
                                          const std::string& text,
                                          uint32_t incarnation);

// Fills `query`, and `scope`, which makes the next page's token.
absl::Status ReadListDeadLetters(const v1::ListDeadLettersRequest& request,
                                 uint32_t incarnation,
                                 runtime::DeadLetterQuery& query,
                                 uint64_t& scope);
// The numbers of those of this run.
absl::StatusOr<std::vector<uint64_t>> ReadDropDeadLetters(
    const v1::DropDeadLettersRequest& request, uint32_t incarnation);

void WriteDeadLetter(runtime::DeadLetter letter, uint32_t incarnation,
                     v1::DeadLetter* proto);

}  // namespace actord::daemon
