#include "handlers/schedule/schedule_spec.h"

#include <actord/text.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "handlers/commands/json_reader.h"

namespace actord::handlers {
namespace {

using Json = nlohmann::json;
using std::chrono::milliseconds;

constexpr double kMinEveryMs = 1'000;
constexpr double kMaxEveryMs = 366.0 * 24 * 3600 * 1000;
constexpr int kDefaultGraceMs = 60'000;
constexpr int kMinGraceMs = 1'000;
constexpr int kMaxGraceMs = 86'400'000;

constexpr std::string_view kWantedSchedule =
    R"({"cron": "minute hour day month weekday" or )"
    R"("every_ms": 1000 to 31622400000, )"
    R"("submit": {"type", "method", "input", "name", "priority", )"
    R"("keep_result"} or "send": {"to", "topic", "payload"}, )"
    R"("catch_up": "skip", "once" or "all", "grace_ms": 1000 to 86400000, )"
    R"("paused": bool})";
constexpr std::string_view kWantedSend =
    R"({"to": PID text or "@NAME", "topic": text, "payload": any})";

std::string WantedSubmit() {
  const std::string declared_name(kDeclaredNameRule);
  return R"({"type": )" + declared_name + R"(, "method": )" + declared_name +
         R"(, "input": any, "name": )" + std::string(kNameRule) +
         R"(, "priority": 0 to 31, "keep_result": bool})";
}

// "90s" for 90,000: the largest unit that divides it.
std::string IntervalText(int64_t ms) {
  constexpr std::pair<int64_t, const char*> kUnits[] = {
      {86'400'000, "d"}, {3'600'000, "h"}, {60'000, "m"}, {1'000, "s"}};
  for (const auto& [unit, name] : kUnits) {
    if (ms % unit == 0) return std::to_string(ms / unit) + name;
  }
  return std::to_string(ms) + "ms";
}

void ReadWhen(JsonReader& reader, ScheduleSpec& spec) {
  const bool has_cron = reader.Find("cron") != nullptr;
  const bool has_every = reader.Find("every_ms") != nullptr;
  if (has_cron == has_every) {
    return reader.Refuse(has_cron
                             ? "\"cron\" and \"every_ms\" exclude each other"
                             : "\"cron\" or \"every_ms\" is missing");
  }
  if (has_every) {
    const double ms = reader.NumberOr("every_ms", 0, kMinEveryMs, kMaxEveryMs);
    spec.every = milliseconds(std::llround(ms));
    spec.when = "every " + IntervalText(std::llround(ms));
    return;
  }
  spec.when = reader.Text("cron");
  if (!reader.status().ok()) return;
  Result<CronExpression> cron = CronExpression::Parse(spec.when);
  if (cron.ok()) {
    spec.cron = *std::move(cron);
  } else {
    reader.RefuseWith(cron.status());
  }
}

void ReadSubmit(JsonReader& reader, const Json& value, ScheduleSpec& spec) {
  const std::string wanted = WantedSubmit();
  JsonReader own(
      value, "submit", wanted,
      {"type", "method", "input", "name", "priority", "keep_result"});
  const std::string type = own.Text("type");
  if (own.status().ok() && !IsDeclaredName(type)) {
    own.RefuseValue("type", type);
  }
  Json spawn = {{"type", type},
                {"keep_result", own.FlagOr("keep_result", false)},
                {"priority", own.IntegerOr("priority", ACTORD_PRIORITY_DEFAULT,
                                           ACTORD_PRIORITY_LOWEST,
                                           ACTORD_PRIORITY_HIGHEST)}};
  if (const std::string method = own.TextOr("method", ""); !method.empty()) {
    if (!IsDeclaredName(method)) own.RefuseValue("method", method);
    spawn["method"] = method;
  }
  if (const std::string name = own.TextOr("name", ""); !name.empty()) {
    if (!IsName(name)) own.RefuseValue("name", name);
    spawn["name"] = name;
  }
  if (const Json* const input = own.Find("input")) spawn["input"] = *input;
  reader.RefuseWith(own.status());
  spec.command = "process.spawn";
  spec.what = "submit " + type;
  if (reader.status().ok()) spec.payload = spawn.dump();
}

void ReadSend(JsonReader& reader, const Json& value, ScheduleSpec& spec) {
  JsonReader own(value, "send", kWantedSend, {"to", "topic", "payload"});
  spec.send_to = own.Text("to");
  const std::string topic = own.TextOr("topic", "");
  if (own.status().ok() && spec.send_to.starts_with('@') &&
      !IsName(std::string_view(spec.send_to).substr(1))) {
    own.RefuseValue("to", spec.send_to);
  }
  if (topic.size() > kMaxLabelBytes) {
    own.Refuse("field \"send.topic\" has " + std::to_string(topic.size()) +
               " bytes; the limit is " + std::to_string(kMaxLabelBytes));
  }
  Json send = {{"to", spec.send_to}, {"topic", topic}};
  if (const Json* const payload = own.Find("payload")) {
    send["payload"] = *payload;
  }
  reader.RefuseWith(own.status());
  spec.command = "process.send";
  spec.what = "send to " + spec.send_to;
  if (reader.status().ok()) spec.payload = send.dump();
}

void ReadWhat(JsonReader& reader, size_t max_payload_bytes,
              ScheduleSpec& spec) {
  const Json* const submit = reader.Find("submit");
  const Json* const send = reader.Find("send");
  if ((submit == nullptr) == (send == nullptr)) {
    return reader.Refuse(submit != nullptr
                             ? "\"submit\" and \"send\" exclude each other"
                             : "\"submit\" or \"send\" is missing");
  }
  if (submit != nullptr) {
    ReadSubmit(reader, *submit, spec);
  } else {
    ReadSend(reader, *send, spec);
  }
  const size_t most =
      std::min(max_payload_bytes, ScheduleSpec::kMaxCommandBytes);
  if (spec.payload.size() > most) {
    reader.Refuse("what the schedule does has " +
                  std::to_string(spec.payload.size()) +
                  " bytes; the limit is " + std::to_string(most));
  }
}

}  // namespace

Result<ScheduleSpec> ParseScheduleSpec(std::string_view json,
                                       size_t max_payload_bytes) {
  JsonReader reader(
      Payload(json), kWantedSchedule,
      {"cron", "every_ms", "submit", "send", "catch_up", "grace_ms", "paused"});
  ScheduleSpec spec;
  ReadWhen(reader, spec);
  ReadWhat(reader, max_payload_bytes, spec);
  spec.catch_up = static_cast<CatchUp>(
      reader.ChoiceOr("catch_up", static_cast<size_t>(CatchUp::kSkip),
                      {"skip", "once", "all"}));
  spec.grace = milliseconds(
      reader.IntegerOr("grace_ms", kDefaultGraceMs, kMinGraceMs, kMaxGraceMs));
  spec.paused = reader.FlagOr("paused", false);
  if (!reader.status().ok()) return reader.status();
  return spec;
}

}  // namespace actord::handlers
