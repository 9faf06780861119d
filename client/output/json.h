// JSON as actorctl reads and writes it.
//
// Thread-safety: pure functions.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

namespace actord::client {

// Keeps the order of keys.
using Json = nlohmann::ordered_json;

// What is wrong with `text` as one JSON value, in words for people, or OK.
// Values nested deeper than 100 are refused.
absl::Status CheckJson(std::string_view text);

// Valid, and parsing it into Json and writing it again keeps its meaning: no
// number is too long for that and no key stands twice in an object.
bool IsFaithfulJson(std::string_view text);

// The members of a JSON object, each value as the very text that stands there;
// the texts are part of `object`. Refuses keys that stand twice.
absl::StatusOr<std::map<std::string, std::string_view>> SplitObject(
    std::string_view object);

// On one line, or (`indented`) over several. Broken UTF-8 becomes U+FFFD, and
// what IsTerminalControl names is escaped, which changes no string's value.
std::string Write(const Json& value, bool indented = false);

// Block-style YAML that any YAML 1.1 or 1.2 reader takes for the same value.
// Ends in a line end.
std::string WriteYaml(const Json& value);

}  // namespace actord::client
