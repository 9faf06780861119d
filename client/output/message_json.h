// Converts messages of the API to JSON.
//
// Field names are those of the .proto files. All numbers, of 64 bits too, are
// JSON numbers. Enum values lose the prefix that repeats their type:
// PROCESS_STATE_IDLE is "IDLE". Times are RFC 3339 in UTC, durations are
// seconds with "s". A payload is {"content_type": ..., and one of "json",
// "text", "base64"}: the first that shows its bytes without loss.
//
// Thread-safety: pure functions.
#pragma once

#include <string>

#include "absl/time/time.h"
#include "actord/v1/payload.pb.h"
#include "client/output/json.h"
#include "google/protobuf/duration.pb.h"
#include "google/protobuf/message.h"
#include "google/protobuf/timestamp.pb.h"

namespace actord::client {

// Unset fields of message type are left out; all other fields are present.
Json ToJson(const google::protobuf::Message& message);

// The name of an enum value as ToJson writes it; the number if it has no name.
std::string EnumName(const google::protobuf::EnumDescriptor& type, int number);
template <typename Enum>
std::string EnumName(Enum value) {
  return EnumName(*google::protobuf::GetEnumDescriptor<Enum>(),
                  static_cast<int>(value));
}

// The payload for one line of a table; binary data is shown as its size.
std::string Preview(const v1::Payload& payload, size_t max_width);

absl::Time ToTime(const google::protobuf::Timestamp& timestamp);
absl::Duration ToDuration(const google::protobuf::Duration& duration);
google::protobuf::Duration FromDuration(absl::Duration duration);

}  // namespace actord::client
