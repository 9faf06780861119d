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
#include <string_view>

#include "absl/status/status.h"
#include "daemon/access/access.h"
#include "daemon/access/call_source.h"
#include "daemon/log/logging.h"

namespace actord::daemon {

class AuditEntry {
 public:
  // An entry that writes nothing.
  AuditEntry() = default;
  // `request`: its texts are escaped and cut. `source`: asked only if the call
  // is audited.
  AuditEntry(Logger& logger, const Access& access, const CallSource& source,
             const google::protobuf::Message& request);

  // Writes the line. To be called once, when the result is known.
  void Done(const absl::Status& result) const;

 private:
  Logger* logger_ = nullptr;  // null: there is nothing to write
  std::string text_;
  // The fields of the line.
  std::string client_;
  std::string_view method_;  // lives as long as the program
  std::string peer_;
};

}  // namespace actord::daemon
