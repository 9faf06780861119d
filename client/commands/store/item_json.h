// Items of a store as JSON (item_fields.h).
//
//   kind            the kind of the item: "store", "owner", "plugin",
//                   "process", "dead_letter", "result", "id"
//   64-bit numbers  strings of decimal digits, as in the JSON of protobuf
//   bytes           base64
//   not UTF-8       a text that is not UTF-8 is {"base64": "..."}
//
// Thread-safety: pure functions.
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "client/output/json.h"
#include "nlohmann/json.hpp"
#include "runtime/store_tools/items/store_items.h"

namespace actord::client {

// Version of the lines of an export; it changes when old lines can no longer be
// read.
inline constexpr int kExportVersion = 1;

Json ToJson(const runtime::AnyItem& item);
// INVALID_ARGUMENT names the wrong field and the mistake.
absl::StatusOr<runtime::AnyItem> ItemFromJson(std::string_view line);

}  // namespace actord::client
