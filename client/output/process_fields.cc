#include "client/output/process_fields.h"

#include <map>

#include "client/output/message_json.h"
#include "client/output/text.h"

namespace actord::client {

std::string DurabilityText(const v1::Process& process) {
  return process.durability() == v1::DURABILITY_UNSPECIFIED
             ? "-"
             : EnumName(process.durability());
}

std::string LabelsText(const v1::Process& process) {
  const std::map<std::string, std::string> sorted(process.labels().begin(),
                                                  process.labels().end());
  std::string text;
  for (const auto& [key, value] : sorted) {
    text += (text.empty() ? "" : ",") + key;
    text += "=" + value;
  }
  return text;
}

std::vector<std::pair<std::string, std::string>> ProcessFields(
    const v1::Process& process, absl::Time now) {
  const absl::Time created = ToTime(process.create_time());
  std::vector<std::pair<std::string, std::string>> fields = {
      {"PID", process.pid()},
      {"Type", process.process_type()},
      {"Method", process.method()},
      {"State", EnumName(process.state())},
      {"Durability", DurabilityText(process)},
      {"Priority", std::to_string(process.priority())},
      {"Parent", process.parent_pid().empty() ? "-" : process.parent_pid()},
      {"Created",
       Rfc3339(created) + " (" + ShortDuration(now - created) + " ago)"},
      {"Steps", WithThousands(process.steps())},
      {"Mailbox", WithThousands(process.mailbox_messages()) + " events, " +
                      ShortBytes(process.mailbox_bytes())},
      {"Yields", WithThousands(process.yields_outstanding()) + " outstanding"},
      {"Cancel requested", process.cancel_requested() ? "yes" : "no"}};
  if (!process.quarantine_reason().empty()) {
    fields.emplace_back("Quarantine", OneLine(process.quarantine_reason()));
  }
  const auto add = [&fields](const char* name, const auto& texts) {
    if (texts.empty()) return;
    std::string joined;
    for (const std::string& text : texts) {
      joined += (joined.empty() ? "" : ", ") + OneLine(text);
    }
    fields.emplace_back(name, std::move(joined));
  };
  add("Names", process.names());
  if (!process.labels().empty()) {
    fields.emplace_back("Labels", OneLine(LabelsText(process)));
  }
  if (!process.plugin().empty()) {
    fields.emplace_back(
        "Plugin", OneLine(process.plugin() + " " + process.plugin_version()));
  }
  add("Links", process.linked_pids());
  add("Monitors", process.monitored_pids());
  add("Monitored by", process.monitor_pids());
  if (!process.owner().empty()) fields.emplace_back("Owner", process.owner());
  return fields;
}

}  // namespace actord::client
