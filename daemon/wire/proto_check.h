// The checks that the readers of requests share, and the addresses of
// processes. The limits on texts are in actord/text.h.
//
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/process/pid.h"

namespace actord::daemon {

inline constexpr int kMaxStatusCode = 16;

// Returns INVALID_ARGUMENT with the reason INVALID_FIELD for `field`. The
// message is "FIELD WHAT".
absl::Status Wrong(std::string_view field, std::string_view what);

// Returns Wrong if `text` has more than `max_bytes` bytes.
absl::Status CheckLength(std::string_view field, const std::string& text,
                         size_t max_bytes);

// Turns an error of a runtime parser into an error about `field`.
absl::Status InField(std::string_view field, const absl::Status& status);

// An error about a field of the message `field`, as an error about a field of
// the request: its field becomes "FIELD.ITS_FIELD". Other errors are returned
// unchanged.
absl::Status Below(std::string_view field, const absl::Status& status);

// The address of a process: a PID, or a name that the process holds. Of a
// message also the name of a group.
struct Address {
  runtime::Pid pid;
  std::string name;  // used if `pid` is empty
  // The owner of the name. nullopt: the caller's owner; "": nobody.
  std::optional<std::string> owner = std::nullopt;
  bool is_group = false;  // `name` is the name of a group
};
// Reads a PID, or @ and a name, or @, a name, @ and an owner, into `to`, which
// is a new Address. Refuses a group. `field` is the name of the field for the
// error.
absl::Status ReadAddress(std::string_view field, const std::string& text,
                         Address& to);

// Whether the text can only be the address of a group: it begins with #.
bool IsGroup(const std::string& text);
// ReadAddress of the field `pid` of a message, which may go to a group: # and a
// name, or #, a name, @ and an owner.
absl::Status ReadReceiver(const std::string& text, Address& to);
// `field` is the name of the field for the error.
absl::StatusOr<runtime::Pid> ReadPid(std::string_view field,
                                     const std::string& text);
}  // namespace actord::daemon
