// Messages as JSON, in the mapping of Protocol Buffers.
//
// Thread-safety: any thread.
#pragma once

#include <google/protobuf/message.h>

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace actord::daemon {

// INVALID_ARGUMENT (INVALID_FIELD): the text is no JSON object of the type of
// `message`. The error names a field that is unknown or has a wrong value.
// Objects may be nested 100 deep.
absl::Status ReadJson(std::string_view text,
                      google::protobuf::Message* message);

// Writes the message of this type with these bytes, without the fields that
// have their default. INTERNAL: there is no such type.
absl::Status WriteJson(std::string_view full_name, const std::string& bytes,
                       std::string* text);

}  // namespace actord::daemon
