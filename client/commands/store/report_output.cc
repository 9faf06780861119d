#include "client/commands/store/report_output.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "client/output/output.h"
#include "client/output/text.h"
#include "nlohmann/json.hpp"

namespace actord::client {
namespace {

using runtime::StoreReport;

// In tables, and in JSON.
constexpr char kReplay[] = "replay";
constexpr char kImage[] = "image";

std::string DurabilityOf(const StoreReport::ProcessType& type) {
  return type.is_replay ? kReplay : kImage;
}

Json StateJson(const StoreReport& report) {
  const StoreReport::State& state = report.state;
  Json types = Json::array();
  for (const StoreReport::ProcessType& type : report.types) {
    types.push_back({{"process_type", type.name},
                     {"durability", DurabilityOf(type)},
                     {"processes", type.processes}});
  }
  Json owners = Json::array();
  for (const StoreReport::OwnerOf& owner : report.owners) {
    owners.push_back({{"number", owner.number},
                      {"name", owner.name},
                      {"processes", owner.processes}});
  }
  Json plugins = Json::array();
  for (const StoreReport::PluginVersion& plugin : report.plugins) {
    plugins.push_back({{"number", plugin.number},
                       {"sha256", plugin.sha256},
                       {"name", plugin.name},
                       {"version", plugin.version},
                       {"processes", plugin.processes},
                       {"is_kept", plugin.is_kept}});
  }
  return {{"applied", state.applied},
          {"trim", state.trim},
          {"processes", state.processes},
          {"messages", state.messages},
          {"dead_letters", state.dead_letters},
          {"outcomes", state.outcomes},
          {"request_ids", state.request_ids},
          {"message_ids", state.message_ids},
          {"call_ids", state.call_ids},
          {"yield_answers", state.yield_answers},
          {"names", state.names},
          {"groups", state.groups},
          {"yields", state.yields},
          {"history_steps", state.history_steps},
          {"types", types},
          {"owners", owners},
          {"plugins", plugins}};
}

// Tables below each other, with an empty line before each.
void WriteList(const Invocation& invocation, std::vector<Column> columns,
               const std::vector<std::vector<std::string>>& rows) {
  if (rows.empty()) return;
  invocation.out() << '\n';
  ListWriter writer(invocation.out(), invocation.style(), std::move(columns));
  for (const std::vector<std::string>& row : rows) {
    writer.Add({.json = [] { return Json(); },
                .name = [] { return std::string(); },
                .cells = [&row] { return row; }});
  }
  writer.EndPage();
  writer.Finish();
}

std::string OrDash(const std::string& text) {
  return text.empty() ? "-" : OneLine(text);
}

void WriteLists(const Invocation& invocation, const StoreReport& report) {
  std::vector<std::vector<std::string>> rows;
  for (const StoreReport::ProcessType& type : report.types) {
    rows.push_back({OneLine(type.name), DurabilityOf(type),
                    WithThousands(type.processes)});
  }
  WriteList(invocation,
            {{.heading = "TYPE"},
             {.heading = "DURABILITY"},
             {.heading = "PROCESSES", .number = true}},
            rows);
  rows.clear();
  for (const StoreReport::OwnerOf& owner : report.owners) {
    if (owner.number == 0) continue;  // of nobody
    rows.push_back({OrDash(owner.name), WithThousands(owner.processes)});
  }
  WriteList(invocation,
            {{.heading = "OWNER"}, {.heading = "PROCESSES", .number = true}},
            rows);
  rows.clear();
  for (const StoreReport::PluginVersion& plugin : report.plugins) {
    rows.push_back({OrDash(plugin.name), OrDash(plugin.version), plugin.sha256,
                    WithThousands(plugin.processes)});
  }
  WriteList(invocation,
            {{.heading = "PLUGIN"},
             {.heading = "VERSION"},
             {.heading = "SHA256"},
             {.heading = "PROCESSES", .number = true}},
            rows);
}

}  // namespace

Json ToJson(const StoreReport& report) {
  const StoreReport::Journal& journal = report.journal;
  Json findings = Json::array();
  for (const StoreReport::Finding& finding : report.findings) {
    findings.push_back(
        {{"damage", finding.is_damage}, {"message", finding.text}});
  }
  return {{"directory", report.directory},
          {"intact", !report.is_damaged()},
          {"findings", findings},
          {"more_damage", report.more_damage},
          {"journal",
           {{"format", journal.format},
            {"incarnation", journal.incarnation},
            {"first", journal.first},
            {"end", journal.end},
            {"groups", journal.groups},
            {"segments", journal.segments},
            {"spare_segments", journal.spare_segments},
            {"bytes", journal.bytes}}},
          {"state", StateJson(report)}};
}

void WriteReport(const Invocation& invocation, const StoreReport& report) {
  const StoreReport::Journal& journal = report.journal;
  const StoreReport::State& state = report.state;
  WriteFields(
      invocation.out(),
      {{"Store", OneLine(report.directory)},
       {"Format", std::to_string(journal.format)},
       {"Incarnation", std::to_string(journal.incarnation)},
       {"Positions", "first " + WithThousands(journal.first) + ", applied " +
                         WithThousands(state.applied) + ", end " +
                         WithThousands(journal.end)},
       {"Journal", WithThousands(journal.segments) + " segments (" +
                       WithThousands(journal.spare_segments) + " spare), " +
                       ShortBytes(journal.bytes) + ", " +
                       WithThousands(journal.groups) + " groups"},
       {"Processes", WithThousands(state.processes)},
       {"Yields", WithThousands(state.yields)},
       {"Mailboxes", WithThousands(state.messages)},
       {"Dead letters", WithThousands(state.dead_letters)},
       {"Outcomes", WithThousands(state.outcomes)},
       {"Request ids", WithThousands(state.request_ids) + ", message ids " +
                           WithThousands(state.message_ids)},
       {"Names", WithThousands(state.names) + ", in groups " +
                     WithThousands(state.groups)},
       {"History", WithThousands(state.history_steps) + " steps"}});
  WriteLists(invocation, report);
}

void WriteVerdict(const Invocation& invocation, const StoreReport& report) {
  std::ostream& out = invocation.out();
  const bool is_damaged = report.is_damaged();
  out << OneLine(report.directory) << ": "
      << (is_damaged
              ? "damaged; actord refuses this store, or serves it without the "
                "damaged parts"
              : "intact")
      << '\n';
  if (!is_damaged) {
    out << "Positions " << WithThousands(report.journal.first) << " to "
        << WithThousands(report.journal.end) << ", "
        << WithThousands(report.journal.groups) << " groups, "
        << WithThousands(report.state.processes) << " processes, "
        << WithThousands(report.state.messages) << " events in mailboxes\n";
  }
  for (const StoreReport::Finding& finding : report.findings) {
    out << (finding.is_damage ? "damage: " : "note: ") << OneLine(finding.text)
        << '\n';
  }
  if (report.more_damage != 0) {
    out << "damage: " << WithThousands(report.more_damage) << " more\n";
  }
}

}  // namespace actord::client
