// Errors that leave the runtime: an absl::Status with a stable reason, which
// becomes ErrorInfo.reason, and with the values that a client needs to react.
//
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace actord::runtime {

// Stable reasons, in the words of the API. Their codes are fixed by the
// functions below.
namespace reason {
inline constexpr std::string_view kInvalidPid = "INVALID_PID";
inline constexpr std::string_view kInvalidYieldToken = "INVALID_YIELD_TOKEN";
inline constexpr std::string_view kYieldNotWaiting = "YIELD_NOT_WAITING";
inline constexpr std::string_view kLinksOff = "LINKS_OFF";
inline constexpr std::string_view kInvalidPageToken = "INVALID_PAGE_TOKEN";
inline constexpr std::string_view kInvalidResumeToken = "INVALID_RESUME_TOKEN";
inline constexpr std::string_view kInvalidField = "INVALID_FIELD";
inline constexpr std::string_view kInitRefused = "INIT_REFUSED";
inline constexpr std::string_view kPayloadTooLarge = "PAYLOAD_TOO_LARGE";
inline constexpr std::string_view kRequestIdReused = "REQUEST_ID_REUSED";
inline constexpr std::string_view kUnknownProcessType = "UNKNOWN_PROCESS_TYPE";
inline constexpr std::string_view kUnknownMethod = "UNKNOWN_METHOD";
inline constexpr std::string_view kProcessNotFound = "PROCESS_NOT_FOUND";
inline constexpr std::string_view kResultNotKept = "RESULT_NOT_KEPT";
inline constexpr std::string_view kProcessEnded = "PROCESS_ENDED";
inline constexpr std::string_view kNameNotFound = "NAME_NOT_FOUND";
inline constexpr std::string_view kNameTaken = "NAME_TAKEN";
inline constexpr std::string_view kCalleeEnded = "CALLEE_ENDED";
inline constexpr std::string_view kCallFailed = "CALL_FAILED";
inline constexpr std::string_view kDeadLetterNotFound = "DEAD_LETTER_NOT_FOUND";
inline constexpr std::string_view kMailboxFull = "MAILBOX_FULL";
inline constexpr std::string_view kProcessLimit = "PROCESS_LIMIT";
inline constexpr std::string_view kMemoryLow = "MEMORY_LOW";
inline constexpr std::string_view kUnreadAnswers = "UNREAD_ANSWERS";
inline constexpr std::string_view kWatchLimit = "WATCH_LIMIT";
inline constexpr std::string_view kSubscriptionLimit = "SUBSCRIPTION_LIMIT";
inline constexpr std::string_view kPluginLoadThreadsOff = "PLUGIN_LOADING_OFF";
inline constexpr std::string_view kPluginNotAllowed = "PLUGIN_NOT_ALLOWED";
inline constexpr std::string_view kPluginNotFound = "PLUGIN_NOT_FOUND";
inline constexpr std::string_view kPluginNotReadable = "PLUGIN_NOT_READABLE";
inline constexpr std::string_view kInvalidPlugin = "INVALID_PLUGIN";
inline constexpr std::string_view kPluginAbiVersion = "PLUGIN_ABI_VERSION";
inline constexpr std::string_view kPluginInForce = "PLUGIN_IN_FORCE";
inline constexpr std::string_view kPluginConflict = "PLUGIN_CONFLICT";
inline constexpr std::string_view kPluginRefused = "PLUGIN_REFUSED";
inline constexpr std::string_view kPluginLimit = "PLUGIN_LIMIT";
inline constexpr std::string_view kPluginLoaderBusy = "PLUGIN_LOADER_BUSY";
inline constexpr std::string_view kTokenMissing = "TOKEN_MISSING";
inline constexpr std::string_view kTokenMalformed = "TOKEN_MALFORMED";
inline constexpr std::string_view kTokenInvalid = "TOKEN_INVALID";
inline constexpr std::string_view kTokenExpired = "TOKEN_EXPIRED";
inline constexpr std::string_view kTokenUnchecked = "TOKEN_UNCHECKED";
inline constexpr std::string_view kTokenChanged = "TOKEN_CHANGED";
inline constexpr std::string_view kRoleNotAllowed = "ROLE_NOT_ALLOWED";
inline constexpr std::string_view kNameNotAllowed = "NAME_NOT_ALLOWED";
inline constexpr std::string_view kAllOwnersNeeded = "ALL_OWNERS_NEEDED";
inline constexpr std::string_view kConnectionNotFound = "CONNECTION_NOT_FOUND";
inline constexpr std::string_view kOwnerLimit = "OWNER_LIMIT";
inline constexpr std::string_view kClientQuota = "CLIENT_QUOTA";
inline constexpr std::string_view kCertificateRevoked = "CERTIFICATE_REVOKED";
inline constexpr std::string_view kDurabilityOff = "DURABILITY_OFF";
inline constexpr std::string_view kNotDurableType = "NOT_DURABLE_TYPE";
inline constexpr std::string_view kNotDurable = "NOT_DURABLE";
inline constexpr std::string_view kProcessQuarantined = "PROCESS_QUARANTINED";
inline constexpr std::string_view kNotQuarantined = "NOT_QUARANTINED";
inline constexpr std::string_view kNotRestored = "NOT_RESTORED";
inline constexpr std::string_view kHistoryLimit = "HISTORY_LIMIT";
inline constexpr std::string_view kStepTooLarge = "STEP_TOO_LARGE";
inline constexpr std::string_view kJournalBehind = "JOURNAL_BEHIND";
inline constexpr std::string_view kStoreFull = "STORE_FULL";
inline constexpr std::string_view kBackupRunning = "BACKUP_RUNNING";
inline constexpr std::string_view kBackupStalled = "BACKUP_STALLED";
inline constexpr std::string_view kStarting = "STARTING";
inline constexpr std::string_view kDraining = "DRAINING";
inline constexpr std::string_view kStopped = "STOPPED";
}  // namespace reason

// A status with a reason. `reason` must be one of the constants above.
absl::Status Error(absl::StatusCode code, std::string_view reason,
                   std::string_view message);
// INVALID_ARGUMENT that names the request's field ("input", "pid", …).
absl::Status InvalidField(std::string_view field, std::string_view reason,
                          std::string_view message);
// An error that the client may retry after `retry_delay`.
absl::Status Retryable(absl::StatusCode code, std::string_view reason,
                       std::string_view message, absl::Duration retry_delay);

// ALREADY_EXISTS that names the holder of the name.
absl::Status NameTaken(std::string_view name, std::string_view holder_pid);

// ABORTED (CALLEE_ENDED): the process `callee_pid` has ended without a reply to
// the call. `end`: the name of its end, such as "EXCEPTION"; "": not known.
// `why`: the text of its failure, which is cut to kMaxCalleeTextBytes.
inline constexpr size_t kMaxCalleeTextBytes = 512;
absl::Status CalleeEnded(std::string_view callee_pid, std::string_view end,
                         std::string_view why);

// RESOURCE_EXHAUSTED (CLIENT_QUOTA), to be retried after `retry_delay`, that
// names the quota ("requests_per_second") and its value.
absl::Status QuotaExceeded(std::string_view message, std::string_view quota,
                           uint64_t limit, absl::Duration retry_delay);

// The data that `status` carries; empty or nullopt: it carries none.
std::string ReasonOf(const absl::Status& status);
std::string FieldOf(const absl::Status& status);
// The PID of the holder of a name, or of a callee that has ended.
std::string HolderOf(const absl::Status& status);
// The content type of the text of an error of process.spawn, for the ABI.
std::string TextTypeOf(const absl::Status& status);
// The end of a callee that has ended.
std::string CalleeEndOf(const absl::Status& status);
std::string CalleeTextOf(const absl::Status& status);
std::string QuotaOf(const absl::Status& status);
std::string QuotaLimitOf(const absl::Status& status);
std::optional<absl::Duration> RetryDelayOf(const absl::Status& status);

// The absl code of an error code of the ABI. An unknown code, and OK, become
// kUnknown.
absl::StatusCode ErrorCodeFromAbi(int32_t status);

}  // namespace actord::runtime
