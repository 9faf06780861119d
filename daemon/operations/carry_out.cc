#include "daemon/operations/carry_out.h"

#include "absl/strings/str_cat.h"
#include "runtime/process/errors.h"

namespace actord::daemon {

absl::Status IdReused(const char* field, const std::string& id) {
  return runtime::InvalidField(
      field, runtime::reason::kRequestIdReused,
      absl::StrCat(field, " '", id, "' belongs to another request"));
}

}  // namespace actord::daemon
