// The recorded steps of a process, one line each.
//
// Thread-safety: pure functions.
#pragma once

#include <google/protobuf/repeated_field.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "actord/v1/history.pb.h"

namespace actord::client {

// A title, "Step 7", and a text: "idle, 3s ago, took 12us: MESSAGE add from
// 1.2b.7.1 (3 B); SEND paid to 1.2b.9.1 (5 B)". The newest step comes first.
// `entries`: as in Recording.
std::vector<std::pair<std::string, std::string>> StepTexts(
    const google::protobuf::RepeatedPtrField<v1::HistoryEntry>& entries,
    absl::Time now);

}  // namespace actord::client
