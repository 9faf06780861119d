#include "daemon/plugins/near_type.h"

#include <actord/text.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "identity/names/nearest.h"
#include "runtime/process/errors.h"

namespace actord::daemon {
namespace {

std::vector<std::string> TypesIn(const runtime::Catalog& catalog) {
  std::vector<std::string> names;
  for (const runtime::ProcessType* type : catalog.process_types()) {
    names.push_back(type->name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

// The methods of the type that the message names: "process type NAME has no".
std::vector<std::string> MethodsIn(const runtime::Catalog& catalog,
                                   std::string_view message) {
  constexpr std::string_view kBefore = "process type ";
  std::vector<std::string> names;
  if (!message.starts_with(kBefore)) return names;
  message.remove_prefix(kBefore.size());
  const runtime::ProcessType* const type =
      catalog.FindProcessType(message.substr(0, message.find(' ')));
  if (type == nullptr) return names;
  const actord_process_type& descriptor = *type->descriptor;
  for (size_t i = 0; i < descriptor.method_count; ++i) {
    names.push_back(ToUtf8(descriptor.methods[i].name));
  }
  return names;
}

// For the end of a message: `are` and the names, or as many as a reader reads.
std::string Enumerate(const char* are, absl::Span<const std::string> names) {
  constexpr size_t kMost = 10;
  if (names.empty()) return "";
  const size_t shown = std::min(names.size(), kMost);
  std::string text =
      absl::StrCat("; ", are, " ", absl::StrJoin(names.first(shown), ", "));
  if (shown < names.size()) {
    absl::StrAppend(&text, " and ", names.size() - shown, " more");
  }
  return text;
}

}  // namespace

absl::Status NameNearest(const absl::Status& refusal,
                         const runtime::Catalog& catalog) {
  const std::string reason = runtime::ReasonOf(refusal);
  const bool is_type = reason == runtime::reason::kUnknownProcessType;
  if (!is_type && reason != runtime::reason::kUnknownMethod) return refusal;
  // The request may be gone. The message quotes the name.
  const std::string message(refusal.message());
  const size_t begin = message.find('"') + 1;
  const size_t end = message.rfind('"');
  if (begin == 0 || end <= begin) return refusal;
  const std::vector<std::string> known =
      is_type ? TypesIn(catalog) : MethodsIn(catalog, message);
  std::string meant =
      identity::DidYouMean(message.substr(begin, end - begin), known);
  if (meant.empty()) {
    meant = Enumerate(is_type ? "the types are" : "its methods are", known);
  }
  return runtime::Error(refusal.code(), reason,
                        absl::StrCat(message.substr(0, end + 1), meant));
}

}  // namespace actord::daemon
