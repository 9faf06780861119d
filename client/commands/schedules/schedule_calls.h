// Schedules of a daemon: processes of the type "schedule". A schedule NAME
// holds the process name schedule/NAME; each owner has names of its own.
//
// Thread-safety: not thread-safe.
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "client/cli/invocation.h"
#include "client/output/json.h"

namespace actord::client {

inline constexpr char kScheduleType[] = "schedule";
inline constexpr char kSchedulePrefix[] = "schedule/";

// Asks a schedule and returns the state that it answers with, a JSON object.
// `pid`: a PID or @NAME. `topic`: show, pause, resume or remove.
absl::StatusOr<Json> AskSchedule(Invocation& invocation, const std::string& pid,
                                 const std::string& topic);

// A field of a state as text; "-" if the state does not have it.
std::string ScheduleField(const Json& state, const char* field);

// Writes a state: as fields for people, as an object otherwise.
void WriteSchedule(Invocation& invocation, const std::string& name,
                   const Json& state);

}  // namespace actord::client
