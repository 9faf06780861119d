// actord/json.h: JSON payloads through nlohmann-json, for plugins that want
// them.
//
//   const json order = ParseJson(input).value();   // a Failure, if it is none
//   co_return JsonPayload({{"order", order.at("id")}, {"status", "paid"}});
//
// The only header of the SDK that needs another library: a plugin that includes
// it finds and links nlohmann_json::nlohmann_json (3.x) itself.
//
// Thread-safety: pure functions. Ownership: results own what they hold.
#pragma once

#include <actord/excerpt.h>
#include <actord/owned.h>
#include <actord/result.h>
#include <actord/values.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace actord {

// INVALID_ARGUMENT when the payload says that it is something else, or is not
// JSON; the text says where.
inline Result<nlohmann::json> ParseJson(const Payload& payload) {
  if (!payload.is_json()) {
    return Status(Code::kInvalidArgument,
                  "the payload is " + std::string(payload.content_type) +
                      ", not application/json");
  }
  try {
    return nlohmann::json::parse(payload.bytes);
  } catch (const nlohmann::json::exception& error) {
    return Status(Code::kInvalidArgument,
                  "the payload is no JSON: " + Excerpt(error.what(), 256));
  }
}

// Says that it is application/json. Bytes in strings that are no UTF-8 are
// replaced.
inline OwnedPayload JsonPayload(const nlohmann::json& value) {
  return {value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace),
          "application/json"};
}

}  // namespace actord
