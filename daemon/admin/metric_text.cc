#include "daemon/admin/metric_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "runtime/system/assert.h"

namespace actord::daemon {
namespace {

absl::string_view View(std::string_view text) {
  return {text.data(), text.size()};
}

}  // namespace

void MetricText::Begin(std::string_view name, MetricKind kind,
                       std::string_view help) {
  name_ = name;
  absl::StrAppend(
      &text_, "# HELP ", name_, " ",
      absl::StrReplaceAll(View(help), {{"\\", "\\\\"}, {"\n", "\\n"}}),
      "\n# TYPE ", name_,
      kind == MetricKind::kCounter ? " counter\n" : " gauge\n");
}

void MetricText::Add(uint64_t value) {
  ACTORD_ASSERT(!name_.empty(), "metric_text.h: a metric has begun");
  absl::StrAppend(&text_, name_, " ", value, "\n");
}

void MetricText::Add(double value) {
  ACTORD_ASSERT(!name_.empty(), "metric_text.h: a metric has begun");
  // As many digits as the seconds since 1970 with milliseconds need.
  absl::StrAppendFormat(&text_, "%s %.13g\n", name_, value);
}

void MetricText::Add(std::string_view label, std::string_view label_value,
                     uint64_t value) {
  ACTORD_ASSERT(!name_.empty(), "metric_text.h: a metric has begun");
  absl::StrAppend(
      &text_, name_, "{", View(label), "=\"",
      absl::StrReplaceAll(View(label_value),
                          {{"\\", "\\\\"}, {"\"", "\\\""}, {"\n", "\\n"}}),
      "\"} ", value, "\n");
}

}  // namespace actord::daemon
