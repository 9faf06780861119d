#include "runtime/settings/options.h"

#include <initializer_list>

#include "absl/strings/str_cat.h"
#include "runtime/memory/slot_table.h"
#include "runtime/process/activity.h"
#include "runtime/process/errors.h"
#include "runtime/process/payload.h"
#include "runtime/process/process.h"
#include "runtime/settings/command_pattern.h"
#include "runtime/system/cpu_latency.h"

namespace actord::runtime {
namespace {

absl::Status CheckRange(std::string_view name, uint64_t value, uint64_t min,
                        uint64_t max) {
  if (value >= min && value <= max) return absl::OkStatus();
  return InvalidField(
      name, reason::kInvalidField,
      absl::StrCat(absl::string_view(name.data(), name.size()), " is ", value,
                   "; it must be from ", min, " to ", max));
}

absl::Status CheckPositive(std::string_view name, absl::Duration value) {
  if (value > absl::ZeroDuration()) return absl::OkStatus();
  return InvalidField(
      name, reason::kInvalidField,
      absl::StrCat(absl::string_view(name.data(), name.size()), " is ",
                   absl::FormatDuration(value), "; it must be positive"));
}

absl::Status CheckRoom(std::string_view name, size_t bytes,
                       size_t max_payload_bytes) {
  if (bytes >= max_payload_bytes + 4096) return absl::OkStatus();
  return InvalidField(
      name, reason::kInvalidField,
      absl::StrCat(absl::string_view(name.data(), name.size()), " is ", bytes,
                   "; it must be at least max_payload_bytes + 4096, that is ",
                   max_payload_bytes + 4096));
}

struct Range {
  std::string_view name;
  uint64_t value, min, max;
};

absl::Status CheckRanges(std::initializer_list<Range> ranges) {
  absl::Status status;
  for (const Range& range : ranges) {
    status.Update(CheckRange(range.name, range.value, range.min, range.max));
  }
  return status;
}

}  // namespace

absl::Status ValidateLimits(const Limits& limits) {
  absl::Status status = CheckRanges({
      {"max_processes", limits.max_processes, 1, SlotTable<Process>::kMaxSlots},
      {"max_payload_bytes", limits.max_payload_bytes, 1, kPayloadLimitMaxBytes},
      {"max_mailbox_messages", limits.max_mailbox_messages, 1,
       Activity::kMessagesLimitMax},
      {"max_mailbox_bytes", limits.max_mailbox_bytes, 4096, 1u << 30},
      {"max_yields", limits.max_yields, 1, 16'000},
      {"max_external_yield_bytes", limits.max_external_yield_bytes, 4096,
       uint64_t{1} << 40},
      {"answered_yield_max", limits.answered_yield_max, 1, 100'000'000},
      {"dead_letter_max_count", limits.dead_letter_max_count, 0, 10'000'000},
      {"dead_letter_max_bytes", limits.dead_letter_max_bytes, 0,
       uint64_t{1} << 40},
      {"max_watches", limits.max_watches, 1, 1'000'000},
      {"watch_max_events", limits.watch_max_events, 1, 10'000'000},
      {"watch_max_bytes", limits.watch_max_bytes, 4096, uint64_t{1} << 40},
  });
  // Room for the largest message or command and its name; otherwise it could
  // never be sent.
  status.Update(CheckRoom("max_mailbox_bytes", limits.max_mailbox_bytes,
                          limits.max_payload_bytes));
  status.Update(CheckRoom("max_external_yield_bytes",
                          limits.max_external_yield_bytes,
                          limits.max_payload_bytes));
  status.Update(
      CheckPositive("default_yield_timeout", limits.default_yield_timeout));
  status.Update(CheckPositive("answered_yield_ttl", limits.answered_yield_ttl));
  status.Update(CheckPositive("result_ttl", limits.result_ttl));
  if (limits.watch_retention < absl::ZeroDuration()) {
    status.Update(
        InvalidField("watch_retention", reason::kInvalidField,
                     absl::StrCat("watch_retention is ",
                                  absl::FormatDuration(limits.watch_retention),
                                  "; it must not be negative")));
  }
  if (limits.max_lifetime < absl::Milliseconds(1)) {
    status.Update(
        InvalidField("max_lifetime", reason::kInvalidField,
                     absl::StrCat("max_lifetime is ",
                                  absl::FormatDuration(limits.max_lifetime),
                                  "; it must be at least 1ms")));
  }
  return status;
}

absl::Status ValidateOptions(const RuntimeOptions& options) {
  absl::Status status = CheckRanges({
      // A negative number becomes a huge number, which is out of range, too.
      {"workers", static_cast<uint64_t>(options.workers), 0, 256},
      {"blocking_threads", static_cast<uint64_t>(options.blocking_threads), 1,
       1024},
      {"max_blocked_threads",
       static_cast<uint64_t>(options.max_blocked_threads), 0, 10'000},
      {"blocking_queue", options.blocking_queue, 1, 10'000'000},
      {"node", options.node, 1, UINT32_MAX},
  });
  status.Update(ValidateLimits(options));
  for (const std::string& pattern : options.external_commands) {
    if (!IsPattern(pattern)) {
      status.Update(InvalidField(
          "external_commands", reason::kInvalidField,
          absl::StrCat("\"", pattern,
                       "\" is not a pattern; it must be a command's name, or "
                       "a prefix that ends in '*'")));
    }
  }
  status.Update(CheckRanges({{"work_policies (their count)",
                              options.work_policies.size(), 0, 1000}}));
  status.Update(CheckRanges(
      {{"type_limits (their count)", options.type_limits.size(), 0, 1000}}));
  for (const TypeLimit& limit : options.type_limits) {
    status.Update(CheckRange(
        absl::StrCat("the limit of processes of type ", limit.process_type),
        limit.max_processes, 1, SlotTable<Process>::kMaxSlots));
  }
  for (const WorkPolicy& policy : options.work_policies) {
    status.Update(ValidateWorkPolicy(policy));
  }
  status.Update(CheckPositive("stuck_after", options.stuck_after));
  if (options.cpu_latency != absl::InfiniteDuration() &&
      options.cpu_latency != absl::ZeroDuration() &&
      (options.cpu_latency < CpuLatency::kLeast ||
       options.cpu_latency > CpuLatency::kMost)) {
    status.Update(InvalidField(
        "cpu_latency", reason::kInvalidField,
        absl::StrCat("cpu_latency is ",
                     absl::FormatDuration(options.cpu_latency),
                     "; it must be 0s, or from 1us to 1s, or none")));
  }
  return status;
}

}  // namespace actord::runtime
