#include "daemon/access/audit.h"

#include <actord/text.h>

#include "absl/strings/str_cat.h"
#include "identity/token_text.h"
#include "runtime/process/errors.h"

namespace actord::daemon {
namespace {

constexpr size_t kMaxLoggedRequestBytes = 512;

}  // namespace

AuditEntry::AuditEntry(Logger& logger, const Access& access,
                       const google::protobuf::Message& request) {
  if (!access.IsAudited()) return;
  logger_ = &logger;
  // Only requests without payloads are audited, so the whole request may be
  // logged.
  text_ = absl::StrCat("audit: ", std::string(access.method()), " {",
                       identity::RedactTokens(ToUtf8(request.ShortDebugString(),
                                                     kMaxLoggedRequestBytes)),
                       "} by ", access.Who());
}

void AuditEntry::Done(const absl::Status& result) const {
  if (logger_ == nullptr) return;
  if (result.ok()) {
    logger_->Info(absl::StrCat(text_, ": done"));
    return;
  }
  logger_->Info(absl::StrCat(text_, ": failed with ",
                             absl::StatusCodeToString(result.code()), " ",
                             runtime::ReasonOf(result)));
}

}  // namespace actord::daemon
