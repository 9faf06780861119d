#include "client/commands/schedules/schedule_calls.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/output/output.h"
#include "client/output/text.h"
#include "nlohmann/json.hpp"

namespace actord::client {
namespace {

// A schedule answers at once, unless its process is in quarantine.
constexpr absl::Duration kAnswerTimeout = absl::Seconds(5);

}  // namespace

absl::StatusOr<Json> AskSchedule(Invocation& invocation, const std::string& pid,
                                 const std::string& topic) {
  v1::CallRequest request;
  request.set_pid(pid);
  request.set_topic(topic);
  CallOptions options = invocation.Quick();
  options.deadline = std::min(options.deadline, absl::Now() + kAnswerTimeout);
  const auto response = invocation.client().Call(request, options);
  if (!response.ok()) return response.status();
  Json state = Json::parse(response->result().data(), nullptr, false);
  if (!state.is_object() || !state.contains("when")) {
    return absl::FailedPreconditionError(
        absl::StrCat("process ", pid, " is not a schedule"));
  }
  return state;
}

std::string ScheduleField(const Json& state, const char* field) {
  const auto at = state.find(field);
  if (at == state.end()) return "-";
  return OneLine(at->is_string() ? at->get<std::string>() : Write(*at));
}

void WriteSchedule(Invocation& invocation, const std::string& name,
                   const Json& state) {
  Json json = {{"name", name}};
  json.update(state);
  constexpr std::pair<const char*, const char*> kFields[] = {
      {"PID", "pid"},
      {"Durability", "durability"},
      {"State", "state"},
      {"When", "when"},
      {"What", "what"},
      {"Next", "next"},
      {"Last due", "last_due"},
      {"Last run", "last_run"},
      {"Last PID", "last_pid"},
      {"Runs", "runs"},
      {"Under way", "under_way"},
      {"Failures", "failures"},
      {"Last error", "last_error"},
      {"At", "last_error_time"},
      {"Missed", "missed"},
      {"Catch-up", "catch_up"}};
  WriteOne(invocation.out(), invocation.style(), json, name, [&] {
    std::vector<std::pair<std::string, std::string>> rows = {
        {"Name", OneLine(name)},
        {"Process", OneLine("@" + (kSchedulePrefix + name))}};
    for (const auto& [heading, field] : kFields) {
      if (state.contains(field)) {
        rows.emplace_back(heading, ScheduleField(state, field));
      }
    }
    WriteFields(invocation.out(), rows);
  });
}

}  // namespace actord::client
