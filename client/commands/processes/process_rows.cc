#include "client/commands/processes/process_rows.h"

#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "client/output/message_json.h"
#include "client/output/process_fields.h"
#include "client/output/text.h"
#include "nlohmann/json.hpp"

namespace actord::client {
namespace {

// "orders 2.1"; "": a built-in type, or the process is dormant.
std::string PluginText(const v1::Process& process) {
  return process.plugin_version().empty()
             ? process.plugin()
             : process.plugin() + " " + process.plugin_version();
}

std::string FirstName(const v1::Process& process) {
  return process.names().empty() ? "" : process.names(0);
}

}  // namespace

Item ProcessItem(const v1::Process& process) {
  return {.json = [&process] { return ToJson(process); },
          .name = [&process] { return process.pid(); },
          .cells =
              [&process] {
                return std::vector<std::string>{
                    process.pid(),
                    process.process_type(),
                    process.method(),
                    EnumName(process.state()),
                    ShortDuration(absl::Now() - ToTime(process.create_time())),
                    std::to_string(process.steps()),
                    std::to_string(process.mailbox_messages()),
                    std::to_string(process.yields_outstanding()),
                    FirstName(process),
                    std::to_string(process.mailbox_bytes()),
                    process.cancel_requested() ? "yes" : "no",
                    std::to_string(process.priority()),
                    process.parent_pid(),
                    LabelsText(process),
                    process.owner(),
                    DurabilityText(process),
                    PluginText(process)};
              }};
}

Item EndedItem(const v1::Process& process) {
  return {.json = [&process] { return ToJson(process); },
          .name = [&process] { return process.pid(); },
          .cells =
              [&process] {
                const absl::Time ended = ToTime(process.end_time());
                return std::vector<std::string>{
                    process.pid(),
                    process.process_type(),
                    EnumName(process.end()),
                    ShortDuration(absl::Now() - ended),
                    ShortDuration(ended - ToTime(process.create_time())),
                    std::to_string(process.steps()),
                    FirstName(process),
                    process.end_message(),
                    LabelsText(process),
                    process.owner(),
                    DurabilityText(process)};
              }};
}

std::vector<Column> LiveColumns() {
  return {{.heading = "PID"},
          {.heading = "TYPE"},
          {.heading = "METHOD"},
          {.heading = "STATE"},
          {.heading = "AGE", .number = true},
          {.heading = "STEPS", .number = true},
          {.heading = "MAILBOX", .number = true},
          {.heading = "YIELDS", .number = true},
          {.heading = "NAME", .if_filled = true},
          {.heading = "BYTES", .wide_only = true, .number = true},
          {.heading = "CANCELLED", .wide_only = true},
          {.heading = "PRIORITY", .wide_only = true, .number = true},
          {.heading = "PARENT", .wide_only = true},
          {.heading = "LABELS", .wide_only = true},
          {.heading = "OWNER", .wide_only = true},
          {.heading = "DURABILITY", .wide_only = true},
          {.heading = "PLUGIN", .wide_only = true}};
}

std::vector<Column> EndedColumns() {
  return {{.heading = "PID"},
          {.heading = "TYPE"},
          {.heading = "OUTCOME"},
          {.heading = "ENDED", .number = true},
          {.heading = "RAN", .number = true},
          {.heading = "STEPS", .number = true},
          {.heading = "NAME", .if_filled = true},
          {.heading = "MESSAGE", .wide_only = true},
          {.heading = "LABELS", .wide_only = true},
          {.heading = "OWNER", .wide_only = true},
          {.heading = "DURABILITY", .wide_only = true}};
}

}  // namespace actord::client
