#include "client/commands/processes/sorted_processes.h"

#include <algorithm>
#include <utility>

#include "client/output/message_json.h"

namespace actord::client {
namespace {

using P = const v1::Process&;

const std::string& SortName(P process) {
  static const auto& none = *new std::string;
  return process.names_size() == 0 ? none : process.names(0);
}

// Processes without a name come last.
bool IsNameAbove(P a, P b) {
  const std::string& first = SortName(a);
  const std::string& second = SortName(b);
  if (first.empty() != second.empty()) return second.empty();
  return first < second;
}

absl::Duration RunTime(P process) {
  return ToTime(process.end_time()) - ToTime(process.create_time());
}

}  // namespace

const std::vector<SortField>& SortFields() {
  static const auto& fields = *new std::vector<SortField>{
      {"pid", [](P a, P b) { return a.pid() < b.pid(); }},
      {"type", [](P a, P b) { return a.process_type() < b.process_type(); }},
      {"name", IsNameAbove},
      {"owner", [](P a, P b) { return a.owner() < b.owner(); }},
      {"steps", [](P a, P b) { return a.steps() > b.steps(); }},
      {.name = "state",
       .is_above =
           [](P a, P b) { return EnumName(a.state()) < EnumName(b.state()); },
       .is_ended = false},
      {.name = "age",
       .is_above =
           [](P a, P b) {
             return ToTime(a.create_time()) < ToTime(b.create_time());
           },
       .is_ended = false},
      {.name = "mailbox",
       .is_above =
           [](P a, P b) { return a.mailbox_messages() > b.mailbox_messages(); },
       .is_ended = false},
      {.name = "bytes",
       .is_above = [](P a,
                      P b) { return a.mailbox_bytes() > b.mailbox_bytes(); },
       .is_ended = false},
      {.name = "yields",
       .is_above =
           [](P a, P b) {
             return a.yields_outstanding() > b.yields_outstanding();
           },
       .is_ended = false},
      {.name = "priority",
       .is_above = [](P a, P b) { return a.priority() > b.priority(); },
       .is_ended = false},
      {.name = "outcome",
       .is_above = [](P a,
                      P b) { return EnumName(a.end()) < EnumName(b.end()); },
       .is_live = false},
      {.name = "ran",
       .is_above = [](P a, P b) { return RunTime(a) > RunTime(b); },
       .is_live = false}};
  return fields;
}

SortedProcesses::SortedProcesses(IsAbove is_above, size_t limit)
    : is_above_(is_above), limit_(std::min(limit, kMost)) {}

bool SortedProcesses::Precedes(const Kept& a, const Kept& b) const {
  if (is_above_(a.process, b.process)) return true;
  return !is_above_(b.process, a.process) && a.number < b.number;
}

void SortedProcesses::Add(const v1::Process& process) {
  if (++added_ > kMost && limit_ == 0) return;
  kept_.push_back({.number = added_, .process = process});
  if (limit_ == 0 || kept_.size() < 2 * limit_) return;
  std::nth_element(
      kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(limit_),
      kept_.end(),
      [this](const Kept& a, const Kept& b) { return Precedes(a, b); });
  kept_.resize(limit_);
}

absl::Status SortedProcesses::status() const {
  if (limit_ != 0 || added_ <= kMost) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      "--sort-by: more than 100,000 processes match; --limit N prints the "
      "first N of all");
}

std::vector<v1::Process> SortedProcesses::Take() {
  std::sort(kept_.begin(), kept_.end(),
            [this](const Kept& a, const Kept& b) { return Precedes(a, b); });
  if (limit_ != 0 && kept_.size() > limit_) kept_.resize(limit_);
  std::vector<v1::Process> processes;
  processes.reserve(kept_.size());
  for (Kept& each : kept_) processes.push_back(std::move(each.process));
  return processes;
}

}  // namespace actord::client
