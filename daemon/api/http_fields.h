// The parts of a request to the JSON API that HTTP defines: header fields, the
// query, the segments of a path.
//
// Thread-safety: pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "daemon/admin/admin_request.h"

namespace actord::daemon {

// The only value of the header; "": there is none, or more than one.
std::string ValueOf(const AdminRequest& request, std::string_view name);

// The content type of server-sent events.
inline constexpr const char* kEventStream = "text/event-stream";

// Whether the client accepts server-sent events before anything else.
bool WantsEvents(const AdminRequest& request);

// Whether the body is said to be JSON in UTF-8.
bool IsJson(const AdminRequest& request);

// `text` without percent-encoding. A malformed escape is left unchanged.
enum class Plus { kIsBlank, kIsPlus };
std::string PercentDecoded(std::string_view text, Plus plus);

// The parameters of a query, or of a form, in their order.
using Parameters = std::vector<std::pair<std::string, std::string>>;
// INVALID_ARGUMENT: a parameter is given twice, and is not `several`.
absl::StatusOr<Parameters> ReadParameters(std::string_view query,
                                          std::string_view several = {});

// Reads Connect-Timeout-Ms, which has at most ten digits. Without the header,
// and above `most`: `most`.
absl::StatusOr<absl::Duration> ReadPatience(const AdminRequest& request,
                                            absl::Duration most);

// Reads a number of whole seconds with at most ten digits, at most `most`.
// nullopt: `text` is no such number.
std::optional<absl::Duration> ReadSeconds(std::string_view text,
                                          absl::Duration most);

// The seconds of "wait=30" in the header Prefer (RFC 7240), at most `most`.
// nullopt: there is no such preference, or no number in it. As the RFC demands,
// a preference that is not understood is no error.
std::optional<absl::Duration> PreferredWait(const AdminRequest& request,
                                            absl::Duration most);

// UNIMPLEMENTED: the body is compressed.
absl::Status CheckEncoding(const AdminRequest& request);

}  // namespace actord::daemon
