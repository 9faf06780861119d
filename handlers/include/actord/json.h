// actord/json.h: JSON payloads through nlohmann-json.
//
//   const json order = ParseJson(input).value();   // throws Failure if invalid
//   co_return JsonPayload({{"order", order.at("id")}, {"status", "paid"}});
//
// This is the only header of the SDK that needs another library. A plugin that
// includes it must itself find and link nlohmann_json::nlohmann_json (3.x).
//
// Thread-safety: pure functions. Ownership: results own their content.
#pragma once

#include <actord/excerpt.h>
#include <actord/owned.h>
#include <actord/result.h>
#include <actord/values.h>

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace actord {

namespace detail {

// `bytes_read`: up to the mistake, which is in the last one.
inline std::string NotJson(std::string_view text, std::size_t bytes_read) {
  if (text.empty()) return "the payload is empty, and not JSON";
  if (bytes_read > text.size()) {
    return "the payload is not valid JSON: it ends too early";
  }
  const std::size_t at = bytes_read == 0 ? 0 : bytes_read - 1;
  return "the payload is not valid JSON at byte " + std::to_string(at + 1) +
         ", before '" + Excerpt(text.substr(at), 24) + "'";
}

}  // namespace detail

// INVALID_ARGUMENT if the payload is neither JSON nor text/plain by its content
// type, or is not valid JSON; the error's text names the position, from 1. (A
// text is accepted because a sender without a JSON library writes JSON as
// text.)
inline Result<nlohmann::json> ParseJson(const Payload& payload) {
  if (!payload.is_json() && payload.content_type != "text/plain") {
    return Status(Code::kInvalidArgument,
                  "the payload is " + std::string(payload.content_type) +
                      ", not application/json");
  }
  try {
    return nlohmann::json::parse(payload.bytes);
  } catch (const nlohmann::json::parse_error& error) {
    return Status(Code::kInvalidArgument,
                  detail::NotJson(payload.bytes, error.byte));
  } catch (const nlohmann::json::exception&) {
    return Status(Code::kInvalidArgument,
                  "the payload is JSON with a number that is out of range");
  }
}

// A payload of type application/json. Bytes in strings that are not valid UTF-8
// are replaced.
inline OwnedPayload JsonPayload(const nlohmann::json& value) {
  return {value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace),
          "application/json"};
}

}  // namespace actord
