#include "daemon/settings/type_limit_text.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "daemon/settings/config_text.h"
#include "runtime/system/absl_text.h"

namespace actord::daemon {

absl::StatusOr<runtime::TypeLimit> ParseTypeLimitText(std::string_view text) {
  const std::vector<std::string> words =
      absl::StrSplit(runtime::ToAbsl(text), ' ', absl::SkipEmpty());
  if (words.size() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", runtime::ToAbsl(text),
                     "\" is not the name of a process type, a space and a "
                     "number, as in \"order 10000\""));
  }
  const absl::StatusOr<uint64_t> count = ParseCountText(words[1]);
  if (!count.ok()) return count.status();
  return runtime::TypeLimit{.process_type = words[0], .max_processes = *count};
}

std::string FormatTypeLimitText(const runtime::TypeLimit& limit) {
  return absl::StrCat(limit.process_type, " ", limit.max_processes);
}

}  // namespace actord::daemon
