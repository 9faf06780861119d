// Reads and writes the JSON of actorctl.
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

// OK if `text` is one JSON value; otherwise says for people what is wrong.
// Refuses values that are nested deeper than 100.
absl::Status CheckJson(std::string_view text);

// True if `text` is valid JSON and keeps its meaning when it is parsed into
// Json and written again: no number is too long, and no object has a key twice.
bool IsFaithfulJson(std::string_view text);

// The members of a JSON object, each value as its literal text, which is a part
// of `object`. Refuses a key that is given twice.
absl::StatusOr<std::map<std::string, std::string_view>> SplitObject(
    std::string_view object);

// Writes on one line or, if `indented`, on several. Broken UTF-8 becomes
// U+FFFD. Characters of IsTerminalControl are escaped, which changes no
// string's value.
std::string Write(const Json& value, bool indented = false);

// Block-style YAML that every YAML 1.1 or 1.2 reader reads as the same value.
// Ends in a line end.
std::string WriteYaml(const Json& value);

}  // namespace actord::client
