#include "client/commands/plugins/check_output.h"

#include <string>
#include <utility>

#include "absl/time/clock.h"
#include "client/output/json.h"
#include "client/output/text.h"
#include "nlohmann/json.hpp"

namespace actord::client {
namespace {

// Longest reason in a row. Unit: characters.
constexpr size_t kReasonWidth = 160;
// The widths of the columns are the same for this number of rows.
constexpr uint64_t kPageRows = 1000;

// Key in JSON and heading of each outcome's column.
constexpr std::array<std::pair<const char*, const char*>, kCheckOutcomes>
    kOutcomes = {{{"upgrade", "UPGRADE"},
                  {"stay", "STAY"},
                  {"diverge", "DIVERGE"},
                  {"fail", "FAIL"},
                  {"crash", "CRASH"},
                  {"time_out", "TIME OUT"},
                  {"not_tried", "NOT TRIED"}}};

const char* NameOfThen(runtime::TrialResult::Then then) {
  switch (then) {
    case runtime::TrialResult::Then::kNewVersion:
      return "NEW_VERSION";
    case runtime::TrialResult::Then::kOldVersion:
      return "OLD_VERSION";
    case runtime::TrialResult::Then::kQuarantine:
      return "QUARANTINE";
  }
  return "";
}

// For people: how a process goes on that does not upgrade.
std::string Consequence(const CheckedProcess& process) {
  if (!process.then) return "";
  switch (*process.then) {
    case runtime::TrialResult::Then::kNewVersion:
      return "";
    case runtime::TrialResult::Then::kOldVersion:
      return "; it stays in " +
             (process.from.empty() ? "its version" : process.from);
    case runtime::TrialResult::Then::kQuarantine:
      return "; it would be in quarantine";
  }
  return "";
}

Json ProcessJson(const CheckedProcess& process) {
  Json json = {{"kind", "process"},
               {"pid", runtime::FormatPid(process.pid)},
               {"process_type", process.process_type},
               {"from", process.from},
               {"outcome", NameOf(process.outcome)}};
  if (process.then) json["then"] = NameOfThen(*process.then);
  if (process.step) json["step"] = *process.step;
  json["why"] = process.why;
  return json;
}

Json TypeJson(const CheckedType& type) {
  Json json = {{"kind", "type"},
               {"process_type", type.name},
               {"durability", type.durability},
               {"processes", type.processes}};
  for (size_t i = 0; i < kCheckOutcomes; ++i) {
    json[kOutcomes[i].first] = type.outcomes[i];
  }
  return json;
}

std::string NoteOn(const CheckedType& type) {
  if (type.durability.empty()) return "the file has no such type";
  if (type.durability == "none") return "volatile: nothing to check";
  return type.processes == 0 ? "new: no process of it lives" : "-";
}

std::vector<Column> ColumnsOfRows() {
  return {{.heading = "PID"},
          {.heading = "TYPE"},
          {.heading = "FROM"},
          {.heading = "OUTCOME"},
          {.heading = "REASON"}};
}

}  // namespace

CheckOutput::CheckOutput(Invocation& invocation, std::optional<uint64_t> limit)
    : invocation_(invocation),
      limit_(limit),
      items_(invocation.out(), invocation.style(), {}),
      rows_(invocation.out(), invocation.style(), ColumnsOfRows()),
      progress_(invocation.err(), invocation.environment().err_is_terminal,
                invocation.environment().terminal_width) {}

void CheckOutput::BeginForPeople(const PluginCheck& check) {
  const PluginDescription& plugin = check.plugin;
  std::vector<std::pair<std::string, std::string>> fields = {
      {"Plugin",
       plugin.name + " " + plugin.version + ", SHA-256 " + plugin.sha256}};
  for (const PresentVersion& version : check.present) {
    fields.emplace_back("Present", version.name + " " + version.version +
                                       ", SHA-256 " + version.sha256 + ", " +
                                       WithThousands(version.processes) +
                                       " processes");
  }
  if (check.present.empty()) {
    fields.emplace_back("Present", "no process that has begun");
  }
  WriteFields(invocation_.out(), fields);
}

void CheckOutput::Begin(const PluginCheck& check) {
  total_ = check.processes;
  if (invocation_.ForPeople()) return BeginForPeople(check);
  if (invocation_.style().format == Format::kName) return;
  const PluginDescription& plugin = check.plugin;
  items_.Add({.json =
                  [&] {
                    return Json{{"kind", "plugin"},
                                {"name", plugin.name},
                                {"version", plugin.version},
                                {"sha256", plugin.sha256}};
                  },
              .name = nullptr,
              .cells = nullptr});
  for (const PresentVersion& version : check.present) {
    items_.Add({.json =
                    [&] {
                      return Json{{"kind", "present"},
                                  {"name", version.name},
                                  {"version", version.version},
                                  {"sha256", version.sha256},
                                  {"processes", version.processes}};
                    },
                .name = nullptr,
                .cells = nullptr});
  }
}

void CheckOutput::ShowProgress() {
  progress_.Update({.begun = total_,
                    .finished = done_,
                    .failed = not_fine_,
                    .fraction = total_ == 0 ? 1.0
                                            : static_cast<double>(done_) /
                                                  static_cast<double>(total_)},
                   absl::Now());
}

void CheckOutput::Add(CheckedProcess&& process) {
  ++done_;
  const bool is_fine = IsFine(process.outcome);
  if (!is_fine) ++not_fine_;
  const bool is_named = invocation_.style().format == Format::kName;
  if (!invocation_.ForPeople() && !(is_named && is_fine)) {
    items_.Add({.json = [&] { return ProcessJson(process); },
                .name = [&] { return runtime::FormatPid(process.pid); },
                .cells = nullptr});
  } else if (invocation_.ForPeople() && !is_fine &&
             (!limit_ || shown_ < *limit_)) {
    ++shown_;
    rows_.Add({.json = nullptr, .name = nullptr, .cells = [&] {
                 return std::vector<std::string>{
                     runtime::FormatPid(process.pid), process.process_type,
                     process.from.empty() ? "-" : process.from,
                     NameOf(process.outcome),
                     OneLine(process.why + Consequence(process), kReasonWidth)};
               }});
    if (!limit_ && shown_ % kPageRows == 0) {
      progress_.Clear();
      rows_.EndPage();
    }
  }
  ShowProgress();
}

void CheckOutput::WriteTypes(const PluginCheck& check) {
  std::vector<Column> columns = {{.heading = "TYPE"},
                                 {.heading = "DURABILITY"},
                                 {.heading = "PROCESSES", .number = true}};
  for (const auto& [key, heading] : kOutcomes) {
    columns.push_back({.heading = heading, .number = true});
  }
  columns.push_back({.heading = "NOTE"});
  ListWriter writer(invocation_.out(), invocation_.style(), columns);
  for (const CheckedType& type : check.types) {
    writer.Add({.json = nullptr, .name = nullptr, .cells = [&] {
                  std::vector<std::string> cells = {
                      type.name,
                      type.durability.empty() ? "-" : type.durability,
                      WithThousands(type.processes)};
                  for (const uint64_t count : type.outcomes) {
                    cells.push_back(WithThousands(count));
                  }
                  cells.push_back(NoteOn(type));
                  return cells;
                }});
  }
  writer.Finish();
}

void CheckOutput::EndForPeople(const PluginCheck& check) {
  if (!limit_) rows_.Finish();
  WriteTypes(check);
  if (!limit_) return;
  rows_.Finish();
  if (not_fine_ > shown_) {
    invocation_.out() << WithThousands(not_fine_ - shown_)
                      << " more are not fine; --all shows them\n";
  }
}

void CheckOutput::End(const PluginCheck& check) {
  progress_.Clear();
  for (const std::string& warning : check.warnings) {
    invocation_.Complain("warning: " + warning);
  }
  if (invocation_.ForPeople()) return EndForPeople(check);
  if (invocation_.style().format != Format::kName) {
    for (const CheckedType& type : check.types) {
      items_.Add({.json = [&] { return TypeJson(type); },
                  .name = nullptr,
                  .cells = nullptr});
    }
    items_.Add({.json =
                    [&] {
                      return Json{{"kind", "result"},
                                  {"fine", check.is_fine()},
                                  {"processes", check.processes},
                                  {"warnings", check.warnings}};
                    },
                .name = nullptr,
                .cells = nullptr});
  }
  items_.Finish();
}

}  // namespace actord::client
