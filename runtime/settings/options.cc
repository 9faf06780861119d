#include "runtime/settings/options.h"

#include <initializer_list>

#include "absl/strings/str_cat.h"
#include "runtime/memory/slot_table.h"
#include "runtime/process/errors.h"
#include "runtime/process/process.h"
#include "runtime/settings/command_pattern.h"
#include "runtime/settings/limit_info.h"
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

absl::Status CheckDuration(std::string_view name, absl::Duration value,
                           const DurationRange& range) {
  if (range.Holds(value)) return absl::OkStatus();
  return InvalidField(
      name, reason::kInvalidField,
      absl::StrCat(absl::string_view(name.data(), name.size()), " is ",
                   absl::FormatDuration(value), "; it must ", range.rule));
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
  absl::Status status;
  for (const LimitRow& row : LimitRows()) {
    if (row.number != nullptr) {
      status.Update(CheckRange(row.name, limits.*row.number, row.min, row.max));
    }
  }
  // Room for the largest message or command and its name; otherwise it could
  // never be sent.
  status.Update(CheckRoom("max_mailbox_bytes", limits.max_mailbox_bytes,
                          limits.max_payload_bytes));
  status.Update(CheckRoom("max_external_yield_bytes",
                          limits.max_external_yield_bytes,
                          limits.max_payload_bytes));
  for (const LimitRow& row : LimitRows()) {
    if (row.duration != nullptr) {
      status.Update(CheckDuration(row.name, limits.*row.duration, row.range));
    }
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
                       "\" is not a pattern; it must be the name of one "
                       "command, or a prefix that ends in '*'")));
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
  status.Update(CheckDuration("stuck_after", options.stuck_after, kPositive));
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
