// Starts the first processes of a daemon: one supervisor under the name "boot".
// The input of the supervisor is a file. With a store the supervisor is
// durable: the next start finds it, and it continues.
//
// Thread-safety: the functions are for the thread that starts the daemon.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "daemon/log/logging.h"
#include "daemon/operations/shutdown_control.h"
#include "daemon/settings/boot_tree_state.h"
#include "daemon/settings/config.h"
#include "runtime/runtime.h"

namespace actord::daemon {

inline constexpr std::string_view kBootName = "boot";

// Reads and checks the supervisor's input. INVALID_ARGUMENT: the file cannot be
// read, is empty, is larger than `max_payload_bytes`, or has a wrong field. The
// error names the file and the field.
absl::StatusOr<std::string> ReadBootTree(const std::string& path,
                                         size_t max_payload_bytes);

// Starts the supervisor with the input `spec`, or finds it in the store, and
// returns when all of its children have been up. `state` receives the origin of
// the tree. FAILED_PRECONDITION: the supervisor gave up, or another process has
// its name; the error contains the reason. DEADLINE_EXCEEDED: `boot_timeout` of
// the configuration has passed. CANCELLED: a shutdown was requested. After an
// error the started processes end with the runtime, except durable ones. After
// success, a later failure of the supervisor is logged to `logger`, which must
// outlive the runtime.
absl::Status StartBootTree(const std::string& spec, const Config& config,
                           runtime::Runtime& runtime, ShutdownControl& shutdown,
                           Logger& logger, BootTreeState& state);

}  // namespace actord::daemon
