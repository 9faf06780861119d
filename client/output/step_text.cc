#include "client/output/step_text.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/output/message_json.h"
#include "client/output/text.h"

namespace actord::client {
namespace {

// Maximum number of events and effects of a step that its line shows.
constexpr size_t kShownItems = 8;

bool IsEvent(v1::HistoryKind kind) {
  return kind >= v1::HISTORY_KIND_MESSAGE &&
         kind <= v1::HISTORY_KIND_CANCEL_SEEN;
}

std::string ItemText(const v1::HistoryEntry& entry) {
  std::string text = EnumName(entry.kind());
  if (!entry.name().empty()) absl::StrAppend(&text, " ", OneLine(entry.name()));
  if (!entry.peer_pid().empty()) {
    absl::StrAppend(&text, IsEvent(entry.kind()) ? " from " : " to ",
                    entry.peer_pid());
  }
  if (entry.tag() != 0) absl::StrAppend(&text, " #", entry.tag());
  if (entry.code() != 0) {
    absl::StrAppend(
        &text, " ",
        absl::StatusCodeToString(static_cast<absl::StatusCode>(entry.code())));
  }
  if (entry.payload_bytes() != 0) {
    absl::StrAppend(&text, " (", ShortBytes(entry.payload_bytes()), ")");
  }
  return text;
}

std::string HeadText(const v1::HistoryEntry& step, absl::Time now) {
  std::string text = OneLine(step.detail());
  if (step.has_time()) {
    absl::StrAppend(&text, ", ",
                    ShortDuration(std::max(now - ToTime(step.time()),
                                           absl::ZeroDuration())),
                    " ago, took ",
                    absl::FormatDuration(absl::Floor(
                        ToDuration(step.duration()), absl::Microseconds(1))));
  }
  return text;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> StepTexts(
    const google::protobuf::RepeatedPtrField<v1::HistoryEntry>& entries,
    absl::Time now) {
  std::vector<std::pair<std::string, std::string>> texts;
  size_t items = 0;
  std::string more;
  const auto end_step = [&] {
    if (texts.empty()) return;
    if (items > kShownItems) {
      absl::StrAppend(&texts.back().second, "; ", items - kShownItems, " more");
    }
    if (!more.empty()) absl::StrAppend(&texts.back().second, "; ", more);
  };
  for (const v1::HistoryEntry& entry : entries) {
    if (entry.kind() == v1::HISTORY_KIND_STEP) {
      end_step();
      items = 0;
      more = OneLine(entry.message());
      texts.emplace_back(absl::StrCat("Step ", entry.step()),
                         HeadText(entry, now));
    } else if (!texts.empty() && ++items <= kShownItems) {
      absl::StrAppend(&texts.back().second, items == 1 ? ": " : "; ",
                      ItemText(entry));
    }
  }
  end_step();
  std::reverse(texts.begin(), texts.end());
  return texts;
}

}  // namespace actord::client
