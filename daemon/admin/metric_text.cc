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

const char* KindName(MetricKind kind) {
  switch (kind) {
    case MetricKind::kCounter:
      return "counter";
    case MetricKind::kGauge:
      return "gauge";
    case MetricKind::kHistogram:
      return "histogram";
  }
  return "untyped";
}

std::string LabelText(std::string_view label, std::string_view value) {
  return absl::StrCat(
      View(label), "=\"",
      absl::StrReplaceAll(View(value),
                          {{"\\", "\\\\"}, {"\"", "\\\""}, {"\n", "\\n"}}),
      "\"");
}

// As many digits as the seconds since 1970 with milliseconds need.
std::string DoubleText(double value) { return absl::StrFormat("%.13g", value); }

}  // namespace

void MetricText::Begin(std::string_view name, MetricKind kind,
                       std::string_view help) {
  name_ = name;
  absl::StrAppend(
      &text_, "# HELP ", name_, " ",
      absl::StrReplaceAll(View(help), {{"\\", "\\\\"}, {"\n", "\\n"}}),
      "\n# TYPE ", name_, " ", KindName(kind), "\n");
}

void MetricText::Add(uint64_t value) {
  ACTORD_ASSERT(!name_.empty(), "metric_text.h: a metric has begun");
  absl::StrAppend(&text_, name_, " ", value, "\n");
}

void MetricText::Add(double value) {
  ACTORD_ASSERT(!name_.empty(), "metric_text.h: a metric has begun");
  absl::StrAppend(&text_, name_, " ", DoubleText(value), "\n");
}

void MetricText::Add(std::string_view label, std::string_view label_value,
                     uint64_t value) {
  ACTORD_ASSERT(!name_.empty(), "metric_text.h: a metric has begun");
  AddPart("", LabelText(label, label_value), absl::StrCat(value));
}

void MetricText::AddPart(std::string_view suffix, std::string_view labels,
                         std::string_view value) {
  absl::StrAppend(&text_, name_, View(suffix), "{", View(labels), "} ",
                  View(value), "\n");
}

void MetricText::AddHistogram(std::string_view label,
                              std::string_view label_value,
                              std::span<const Bucket> buckets, uint64_t above,
                              double sum) {
  ACTORD_ASSERT(!name_.empty(), "metric_text.h: a metric has begun");
  const std::string labels = LabelText(label, label_value);
  uint64_t count = 0;
  for (const Bucket& bucket : buckets) {
    count += bucket.count;
    AddPart("_bucket",
            absl::StrCat(labels, ",le=\"", DoubleText(bucket.bound), "\""),
            absl::StrCat(count));
  }
  count += above;
  AddPart("_bucket", absl::StrCat(labels, ",le=\"+Inf\""), absl::StrCat(count));
  AddPart("_sum", labels, DoubleText(sum));
  AddPart("_count", labels, absl::StrCat(count));
}

}  // namespace actord::daemon
