#include "daemon/access/audit.h"

#include <actord/text.h>

#include "absl/strings/str_cat.h"
#include "daemon/log/client_address.h"
#include "identity/token_text.h"
#include "runtime/process/errors.h"

namespace actord::daemon {
namespace {

constexpr size_t kMaxLoggedRequestBytes = 512;

}  // namespace

AuditEntry::AuditEntry(Logger& logger, const Access& access,
                       const CallSource& source,
                       const google::protobuf::Message& request) {
  if (!access.IsAudited()) return;
  logger_ = &logger;
  // Only requests without payloads are audited, so the whole request may be
  // logged.
  text_ = absl::StrCat("audit: ", std::string(access.method()), " {",
                       identity::RedactTokens(ToUtf8(request.ShortDebugString(),
                                                     kMaxLoggedRequestBytes)),
                       "} by ", access.Who());
  const identity::Identity* const identity = access.identity();
  if (identity != nullptr) client_ = identity->name;
  method_ = access.method();
  peer_ = ClientAddress(source.peer());
}

void AuditEntry::Done(const absl::Status& result) const {
  if (logger_ == nullptr) return;
  const std::string code = absl::StatusCodeToString(result.code());
  logger_->Info(
      result.ok() ? absl::StrCat(text_, ": done")
                  : absl::StrCat(text_, ": failed with ", code, " ",
                                 runtime::ReasonOf(result)),
      {.client = client_, .method = method_, .peer = peer_, .code = code});
}

}  // namespace actord::daemon
