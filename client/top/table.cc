#include "client/top/table.h"

#include <array>
#include <cmath>
#include <cstdio>

#include "client/output/message_json.h"
#include "client/output/process_fields.h"
#include "client/output/text.h"

namespace actord::client::top {
namespace {

constexpr size_t kCountWidth = 9;
constexpr size_t kBytesWidth = 10;  // "1023.9 KiB"

std::string Scaled(double value) {
  static constexpr std::array kUnits = {"", "k", "M", "G", "T", "P", "E"};
  size_t unit = 0;
  while (value >= 999.5 && unit + 1 < kUnits.size()) {
    value /= 1000;
    ++unit;
  }
  std::array<char, 32> buffer;
  const int digits = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  std::snprintf(buffer.data(), buffer.size(), "%.*f%s", digits, value,
                kUnits[unit]);
  return buffer.data();
}

// "": it has none.
std::string NameOfRow(const ProcessRow& row) {
  return row.process.names_size() == 0 ? "" : row.process.names(0);
}

bool IsDurable(const ProcessRow& row) {
  return row.process.durability() == v1::DURABILITY_DURABLE;
}

std::string Count(uint64_t count) { return ShortCount(count, kCountWidth); }

// Processes in quarantine come first, because they wait for an operator. Then
// come running processes, ready processes, and all others.
int StateRank(const ProcessRow& row) {
  switch (row.process.state()) {
    case v1::PROCESS_STATE_QUARANTINED:
      return 0;
    case v1::PROCESS_STATE_RUNNING:
      return 1;
    case v1::PROCESS_STATE_READY:
      return 2;
    case v1::PROCESS_STATE_BLOCKED:
      return 3;
    case v1::PROCESS_STATE_IDLE:
      return 4;
    case v1::PROCESS_STATE_DORMANT:
      return 5;
    default:
      return 6;
  }
}

}  // namespace

const std::vector<Column<ProcessRow>>& ProcessColumns() {
  using Row = const ProcessRow&;
  static const auto& columns = *new std::vector<Column<ProcessRow>>{
      {"pid", "PID", 0, false, 100, [](Row row) { return row.process.pid(); },
       [](Row a, Row b) { return a.process.pid() < b.process.pid(); }},
      {"type", "TYPE", 0, false, 90,
       [](Row row) { return row.process.process_type(); },
       [](Row a, Row b) {
         return a.process.process_type() < b.process.process_type();
       }},
      {"name", "NAME", 0, false, 85, [](Row row) { return NameOfRow(row); },
       // Processes without a name come last.
       [](Row a, Row b) {
         if (NameOfRow(a).empty() || NameOfRow(b).empty()) {
           return !NameOfRow(a).empty();
         }
         return NameOfRow(a) < NameOfRow(b);
       },
       [](Row row) { return row.process.names_size() > 0; }},
      {"owner", "OWNER", 0, false, 65,
       [](Row row) { return row.process.owner(); },
       [](Row a, Row b) { return a.process.owner() < b.process.owner(); },
       [](Row row) { return !row.process.owner().empty(); }},
      {"state", "STATE", 8, false, 88,
       // A requested cancel is marked with a sign.
       [](Row row) {
         return EnumName(row.process.state()) +
                (row.process.cancel_requested() ? "!" : "");
       },
       [](Row a, Row b) { return StateRank(a) < StateRank(b); }},
      {"priority", "PRI", 3, true, 10,
       [](Row row) { return std::to_string(row.process.priority()); },
       [](Row a, Row b) {
         return a.process.priority() > b.process.priority();
       }},
      {"steps", "STEPS", kCountWidth, true, 50,
       [](Row row) { return Count(row.process.steps()); },
       [](Row a, Row b) { return a.process.steps() > b.process.steps(); }},
      {"rate", "STEPS/S", 7, true, 80,
       [](Row row) { return ShortRate(row.steps_rate); },
       [](Row a, Row b) { return a.steps_rate > b.steps_rate; }},
      {"mailbox", "MAILBOX", 7, true, 60,
       [](Row row) { return ShortCount(row.process.mailbox_messages(), 7); },
       [](Row a, Row b) {
         return a.process.mailbox_messages() > b.process.mailbox_messages();
       }},
      {"bytes", "BYTES", kBytesWidth, true, 40,
       [](Row row) { return ShortBytes(row.process.mailbox_bytes()); },
       [](Row a, Row b) {
         return a.process.mailbox_bytes() > b.process.mailbox_bytes();
       }},
      {"yields", "YIELDS", 6, true, 30,
       [](Row row) { return ShortCount(row.process.yields_outstanding(), 6); },
       [](Row a, Row b) {
         return a.process.yields_outstanding() > b.process.yields_outstanding();
       }},
      {"age", "AGE", 7, true, 20,
       [](Row row) { return ShortDuration(row.age); },
       [](Row a, Row b) { return a.age > b.age; }},
      {"durability", "DURABILITY", 10, false, 8,
       [](Row row) { return DurabilityText(row.process); },
       [](Row a, Row b) { return IsDurable(a) && !IsDurable(b); }, IsDurable},
  };
  return columns;
}

const std::vector<Column<TypeRow>>& TypeColumns() {
  using Row = const TypeRow&;
  static const auto& columns = *new std::vector<Column<TypeRow>>{
      {"type", "TYPE", 0, false, 100, [](Row row) { return row.type; },
       [](Row a, Row b) { return a.type < b.type; }},
      {"processes", "PROCESSES", kCountWidth, true, 90,
       [](Row row) { return Count(row.processes); },
       [](Row a, Row b) { return a.processes > b.processes; }},
      {"running", "RUNNING", 7, true, 45,
       [](Row row) { return ShortCount(row.running, 7); },
       [](Row a, Row b) { return a.running > b.running; }},
      {"ready", "READY", 7, true, 55,
       [](Row row) { return ShortCount(row.ready, 7); },
       [](Row a, Row b) { return a.ready > b.ready; }},
      {"blocked", "BLOCKED", 7, true, 50,
       [](Row row) { return ShortCount(row.blocked, 7); },
       [](Row a, Row b) { return a.blocked > b.blocked; }},
      {"idle", "IDLE", 7, true, 40,
       [](Row row) { return ShortCount(row.idle, 7); },
       [](Row a, Row b) { return a.idle > b.idle; }},
      {"durable", "DURABLE", 7, true, 38,
       [](Row row) { return ShortCount(row.durable, 7); },
       [](Row a, Row b) { return a.durable > b.durable; },
       [](Row row) { return row.durable > 0; }},
      {"steps", "STEPS", kCountWidth, true, 30,
       [](Row row) { return Count(row.steps); },
       [](Row a, Row b) { return a.steps > b.steps; }},
      {"rate", "STEPS/S", 7, true, 80,
       [](Row row) { return ShortRate(row.steps_rate); },
       [](Row a, Row b) { return a.steps_rate > b.steps_rate; }},
      {"mailbox", "MAILBOX", 7, true, 70,
       [](Row row) { return ShortCount(row.mailbox_messages, 7); },
       [](Row a, Row b) { return a.mailbox_messages > b.mailbox_messages; }},
      {"bytes", "BYTES", kBytesWidth, true, 35,
       [](Row row) { return ShortBytes(row.mailbox_bytes); },
       [](Row a, Row b) { return a.mailbox_bytes > b.mailbox_bytes; }},
      {"yields", "YIELDS", 7, true, 60,
       [](Row row) { return ShortCount(row.yields, 7); },
       [](Row a, Row b) { return a.yields > b.yields; }},
      {"age", "OLDEST", 7, true, 20,
       [](Row row) { return ShortDuration(row.oldest); },
       [](Row a, Row b) { return a.oldest > b.oldest; }},
  };
  return columns;
}

std::string ShortCount(uint64_t count, size_t width) {
  std::string text = WithThousands(count);
  return text.size() <= width ? text : Scaled(static_cast<double>(count));
}

std::string ShortRate(Rate rate) {
  if (!rate) return "-";
  if (*rate == 0) return "0";
  if (*rate >= 9999.5) return Scaled(*rate);
  if (*rate >= 9.95) return WithThousands(std::llround(*rate));
  std::array<char, 32> buffer;
  std::snprintf(buffer.data(), buffer.size(), "%.1f", *rate);
  return buffer.data();
}

}  // namespace actord::client::top
