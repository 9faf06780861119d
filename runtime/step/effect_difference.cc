#include "runtime/step/effect_difference.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "runtime/step/record_bytes.h"

namespace actord::runtime {
namespace {

const char* NameOfKind(const SendEffect&) { return "a message"; }
const char* NameOfKind(const SpawnEffect&) { return "a child"; }
const char* NameOfKind(const YieldEffect&) { return "a command"; }
const char* NameOfKind(const CallEffect&) { return "a call"; }
const char* NameOfKind(const ReplyEffect&) { return "an answer"; }
const char* NameOfKind(const TieEffect&) { return "a monitor or link"; }
const char* NameOfKind(const CancelEffect&) { return "a cancel of a command"; }
const char* NameOfKind(const PublishEffect&) { return "a publication"; }
const char* NameOfKind(const LogEffect&) { return "a line of the log"; }

std::string_view NameOf(const Effect& effect) {
  return std::visit(
      [](const auto& of_kind) -> std::string_view {
        return NameOfKind(of_kind);
      },
      effect);
}

std::string BytesOf(const Effect& effect) {
  std::string bytes;
  std::visit(
      [&bytes](const auto& of_kind) {
        RecordWriter out(bytes);
        detail::WithFields(of_kind,
                           [&](auto&... fields) { (out.Write(fields), ...); });
        out.Finish();
      },
      effect);
  return bytes;
}

}  // namespace

std::string DifferenceOf(const std::vector<Effect>& now,
                         const std::vector<Effect>& recorded) {
  const size_t both = std::min(now.size(), recorded.size());
  for (size_t i = 0; i < both; ++i) {
    if (now[i].index() != recorded[i].index()) {
      return absl::StrCat("effect ", i + 1, " is ", std::string(NameOf(now[i])),
                          ", and in the record ",
                          std::string(NameOf(recorded[i])));
    }
    if (BytesOf(now[i]) != BytesOf(recorded[i])) {
      return absl::StrCat("effect ", i + 1, ", ", std::string(NameOf(now[i])),
                          ", is not the one of the record");
    }
  }
  if (now.size() == recorded.size()) return "";
  return absl::StrCat("it asked for ", now.size(),
                      " effects, and the record has ", recorded.size());
}

}  // namespace actord::runtime
