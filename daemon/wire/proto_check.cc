#include "daemon/wire/proto_check.h"

#include "absl/strings/str_cat.h"
#include "runtime/process/errors.h"
#include "runtime/system/absl_text.h"

namespace actord::daemon {

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

}  // namespace actord::daemon
