#include "daemon/plugins/near_type.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "identity/names/nearest.h"
#include "runtime/process/errors.h"

namespace actord::daemon {

absl::Status NameNearType(const absl::Status& refusal,
                          const runtime::Catalog& catalog) {
  if (runtime::ReasonOf(refusal) != runtime::reason::kUnknownProcessType) {
    return refusal;
  }
  // The request may be gone. The message quotes the type.
  const std::string message(refusal.message());
  const size_t begin = message.find('"') + 1;
  const size_t end = message.rfind('"');
  if (begin == 0 || end <= begin) return refusal;
  std::vector<std::string> known;
  for (const runtime::ProcessType* type : catalog.process_types()) {
    known.push_back(type->name);
  }
  const std::string meant =
      identity::NearestName(message.substr(begin, end - begin), known);
  if (meant.empty()) return refusal;
  return runtime::Error(refusal.code(), runtime::reason::kUnknownProcessType,
                        absl::StrCat(message.substr(0, end + 1),
                                     "; did you mean \"", meant, "\"?"));
}

}  // namespace actord::daemon
