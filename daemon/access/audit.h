// The audit lines: one line in the log for each call that operates or
// administers, with the caller, the request and the result.
//
// There are none while tokens are not configured or auth.mode is off, because
// callers have no names then.
//
// Thread-safety: a value, for one thread at a time. Ownership: borrows the
// logger.
#pragma once

#include <google/protobuf/message.h>

#include <string>

#include "absl/status/status.h"
#include "daemon/access/access.h"
#include "daemon/log/logging.h"

namespace actord::daemon {

class AuditEntry {
 public:
  // An entry that writes nothing.
  AuditEntry() = default;
  // `request`: its texts are escaped and cut.
  AuditEntry(Logger& logger, const Access& access,
             const google::protobuf::Message& request);

  // Writes the line. To be called once, when the result is known.
  void Done(const absl::Status& result) const;

 private:
  Logger* logger_ = nullptr;  // null: there is nothing to write
  std::string text_;
};

}  // namespace actord::daemon
