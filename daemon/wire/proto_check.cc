#include "daemon/wire/proto_check.h"

#include <actord/text.h>

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/process/errors.h"
#include "runtime/system/absl_text.h"

namespace actord::daemon {
namespace {

// Reads @ or #, a name, and perhaps @ and an owner.
absl::Status ReadName(std::string_view field, const std::string& text,
                      Address& to) {
  // A name has no @.
  const size_t end = text.find('@', 1);
  to.name = text.substr(1, end == std::string::npos ? end : end - 1);
  if (end != std::string::npos) to.owner = text.substr(end + 1);
  if (IsName(to.name) && (!to.owner || to.owner->size() <= kMaxNameBytes)) {
    return absl::OkStatus();
  }
  return runtime::InvalidField(
      field, runtime::reason::kInvalidPid,
      absl::StrCat(std::string(field), ": a name must follow the ",
                   text.substr(0, 1), ": ", runtime::ToAbsl(kNameRule),
                   ". Another @ and the name of an owner may follow"));
}

}  // namespace

using runtime::ToAbsl;

absl::Status Wrong(std::string_view field, std::string_view what) {
  return runtime::InvalidField(field, runtime::reason::kInvalidField,
                               absl::StrCat(ToAbsl(field), " ", ToAbsl(what)));
}

absl::Status CheckLength(std::string_view field, const std::string& text,
                         size_t max_bytes) {
  if (text.size() <= max_bytes) return absl::OkStatus();
  return Wrong(field, absl::StrCat("has ", text.size(), " bytes; the limit is ",
                                   max_bytes));
}

absl::Status InField(std::string_view field, const absl::Status& status) {
  return runtime::InvalidField(
      field, runtime::ReasonOf(status),
      absl::StrCat(std::string(field), ": ", status.message()));
}

absl::Status Below(std::string_view field, const absl::Status& status) {
  const std::string inner = runtime::FieldOf(status);
  if (!absl::IsInvalidArgument(status) || inner.empty()) return status;
  const std::string prefix = absl::StrCat(ToAbsl(field), ".");
  const bool names_field = absl::StartsWith(status.message(), inner);
  return runtime::InvalidField(
      absl::StrCat(prefix, inner), runtime::ReasonOf(status),
      absl::StrCat(names_field ? prefix : "", status.message()));
}

absl::Status ReadAddress(std::string_view field, const std::string& text,
                         Address& to) {
  if (!text.empty() && text.front() == '@') return ReadName(field, text, to);
  if (IsGroup(text)) {
    return runtime::InvalidField(
        field, runtime::reason::kInvalidPid,
        absl::StrCat(std::string(field),
                     ": # and a name mean a group, and only Send takes a "
                     "group: give a PID, or @ and the name of a process"));
  }
  const absl::StatusOr<runtime::Pid> pid = ReadPid(field, text);
  if (!pid.ok()) return pid.status();
  to.pid = *pid;
  return absl::OkStatus();
}

absl::StatusOr<runtime::Pid> ReadPid(std::string_view field,
                                     const std::string& text) {
  absl::StatusOr<runtime::Pid> pid = runtime::ParsePid(text);
  if (!pid.ok()) return InField(field, pid.status());
  return pid;
}

bool IsGroup(const std::string& text) {
  return !text.empty() && text.front() == '#';
}

absl::Status ReadReceiver(const std::string& text, Address& to) {
  if (!IsGroup(text)) return ReadAddress("pid", text, to);
  to.is_group = true;
  return ReadName("pid", text, to);
}

}  // namespace actord::daemon
