// The processes that a daemon starts with: one supervisor, whose input is a
// file, under the name "boot".
//
// Thread-safety: functions for the thread that starts the daemon.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "daemon/log/logging.h"
#include "daemon/operations/shutdown_control.h"
#include "runtime/runtime.h"

namespace actord::daemon {

inline constexpr std::string_view kBootName = "boot";

// The file's text, which describes a supervisor. INVALID_ARGUMENT: the file
// cannot be read, is empty, has more than `max_payload_bytes`, or a field is
// wrong; the text names file and field.
absl::StatusOr<std::string> ReadBootTree(const std::string& path,
                                         size_t max_payload_bytes);

// Starts it and returns when all of its children have been up.
// FAILED_PRECONDITION: it gave up, with its reason; DEADLINE_EXCEEDED:
// `timeout` has passed; CANCELLED: somebody wants the daemon to end. Then what
// it has started goes with the runtime. From then on `logger`, which must
// outlive the runtime, is told if it fails.
absl::Status StartBootTree(const std::string& spec, absl::Duration timeout,
                           runtime::Runtime& runtime, ShutdownControl& shutdown,
                           Logger& logger);

}  // namespace actord::daemon
