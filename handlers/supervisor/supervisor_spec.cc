#include "handlers/supervisor/supervisor_spec.h"

#include <actord/excerpt.h>
#include <actord/text.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "handlers/commands/json_reader.h"

namespace actord::handlers {
namespace {

using Json = nlohmann::json;
using std::chrono::milliseconds;

constexpr int kMaxIntensity = 1000;
// One day.
constexpr int kMaxSpecMs = 86'400'000;
constexpr int kDefaultStopMs = 5000;
constexpr std::string_view kSupervisorType = "supervisor";

constexpr std::string_view kWantedSpec =
    R"({"strategy": "one_for_one", "one_for_all" or "rest_for_one", )"
    R"("intensity": 0 to 1000, "period_ms": 1 to 86400000, )"
    R"("backoff": {"initial_ms", "max_ms", "jitter"}, )"
    R"("children": at most 1000})";
constexpr std::string_view kWantedBackoff =
    R"({"initial_ms": 1 to 86400000, "max_ms": "initial_ms" to 86400000, )"
    R"("jitter": 0 to 1})";

std::string WantedChild() {
  const std::string name(kNameRule);
  const std::string declared_name(kDeclaredNameRule);
  return R"({"id": )" + name + R"(, "type": )" + declared_name +
         R"(, "method": )" + declared_name +
         R"(, "input": any, "priority": 0 to 31, "name": )" + name +
         R"(, "restart": "permanent", "transient" or "temporary", )"
         R"("stop_timeout_ms": 0 to 86400000 or "infinity", )"
         R"("start_timeout_ms": 1 to 86400000 or "infinity", )"
         R"("final_codes": codes of errors, as ["INVALID_ARGUMENT"]})";
}

const std::initializer_list<std::string_view> kSpecFields = {
    "strategy", "intensity", "period_ms", "backoff", "children"};
const std::initializer_list<std::string_view> kChildFields = {
    "id",
    "type",
    "method",
    "input",
    "priority",
    "name",
    "restart",
    "stop_timeout_ms",
    "start_timeout_ms",
    "final_codes"};

// The place of a spec in the input. `level`: 1 for the supervisor of the input,
// 2 for supervisors that are its children, and so on.
struct Place {
  size_t max_spawn_bytes;
  int level = 1;
};

SupervisorSpec ReadSpec(JsonReader& reader, const Place& place);

Result<SupervisorSpec> ParseAt(std::string_view text, const Place& place) {
  // An empty input means a supervisor whose children are added by start_child.
  JsonReader reader(text.empty() ? "{}" : text, kWantedSpec, kSpecFields);
  SupervisorSpec spec = ReadSpec(reader, place);
  if (!reader.status().ok()) return reader.status();
  return spec;
}

// Errors name fields below `path`.
Status CheckNested(const Json& input, const std::string& path,
                   const Place& place) {
  if (place.level > SupervisorSpec::kMaxLevels) {
    return {Code::kInvalidArgument,
            "field \"" + path + "\" is the input of a supervisor below " +
                std::to_string(SupervisorSpec::kMaxLevels) +
                " others, which is the limit"};
  }
  if (input.is_string()) {
    const Status status = ParseAt(input.get<std::string>(), place).status();
    if (status.ok()) return {};
    return {status.code(), "field \"" + path + "\": " + status.message()};
  }
  JsonReader reader(input, path, kWantedSpec, kSpecFields);
  ReadSpec(reader, place);
  return reader.status();
}

std::optional<Duration> ReadStopTimeout(JsonReader& reader, bool nested) {
  constexpr const char* kField = "stop_timeout_ms";
  const Json* value = reader.Find(kField);
  if (value == nullptr) {
    if (nested) return std::nullopt;
    return milliseconds(kDefaultStopMs);
  }
  if (value->is_string()) {
    reader.ChoiceOr(kField, 0, {"infinity"});
    return std::nullopt;
  }
  return milliseconds(reader.IntegerOr(kField, kDefaultStopMs, 0, kMaxSpecMs));
}

std::optional<Duration> ReadStartTimeout(JsonReader& reader) {
  constexpr const char* kField = "start_timeout_ms";
  const Json* value = reader.Find(kField);
  if (value == nullptr) return std::nullopt;
  if (value->is_string()) {
    reader.ChoiceOr(kField, 0, {"infinity"});
    return std::nullopt;
  }
  return milliseconds(reader.IntegerOr(kField, 1, 1, kMaxSpecMs));
}

// The number of the code with this name; 0, which is OK, if no error has it.
uint32_t CodeOfName(std::string_view name) {
  for (uint32_t code = ACTORD_UNAUTHENTICATED; code != ACTORD_OK; --code) {
    if (CodeName(static_cast<Code>(code)) == name) return code;
  }
  return ACTORD_OK;
}

uint32_t ReadFinalCodes(JsonReader& reader) {
  constexpr const char* kField = "final_codes";
  const Json* value = reader.Find(kField);
  if (value == nullptr) return 0;
  const std::string path = reader.PathOf(kField);
  if (!value->is_array()) {
    reader.Refuse("field \"" + path + "\" is a JSON " + value->type_name());
    return 0;
  }
  uint32_t codes = 0;
  for (size_t i = 0; i < value->size(); ++i) {
    const Json& each = (*value)[i];
    const std::string at = "field \"" + path + "[" + std::to_string(i) + "]\"";
    if (!each.is_string()) {
      reader.Refuse(at + " is a JSON " + each.type_name());
      return 0;
    }
    const auto name = each.get<std::string>();
    const uint32_t code = CodeOfName(name);
    if (code == ACTORD_OK) {
      reader.Refuse(at + " is \"" + Excerpt(name) + "\"");
      return 0;
    }
    codes |= uint32_t{1} << code;
  }
  return codes;
}

// For a child that is only checked, `spawn` stays empty.
ChildSpec ReadChild(JsonReader& reader, const Place& place) {
  ChildSpec child;
  child.id = reader.Text("id");
  if (reader.status().ok() && !IsName(child.id)) {
    reader.RefuseValue("id", child.id);
  }
  child.type = reader.Text("type");
  if (reader.status().ok() && !IsDeclaredName(child.type)) {
    reader.RefuseValue("type", child.type);
  }
  const bool nested = child.type == kSupervisorType;
  child.restart = static_cast<Restart>(
      reader.ChoiceOr("restart", static_cast<size_t>(Restart::kPermanent),
                      {"permanent", "transient", "temporary"}));
  child.stop_timeout = ReadStopTimeout(reader, nested);
  child.start_timeout = ReadStartTimeout(reader);
  child.final_codes = ReadFinalCodes(reader);

  Json spawn = {{"type", child.type}, {"link", true}, {"monitor", true}};
  if (const std::string method = reader.TextOr("method", ""); !method.empty()) {
    if (!IsDeclaredName(method)) reader.RefuseValue("method", method);
    spawn["method"] = method;
  }
  if (const std::string name = reader.TextOr("name", ""); !name.empty()) {
    if (!IsName(name)) reader.RefuseValue("name", name);
    spawn["name"] = name;
  }
  spawn["priority"] =
      reader.IntegerOr("priority", ACTORD_PRIORITY_DEFAULT,
                       ACTORD_PRIORITY_LOWEST, ACTORD_PRIORITY_HIGHEST);
  if (const Json* input = reader.Find("input")) {
    if (nested) {
      reader.RefuseWith(CheckNested(*input, reader.PathOf("input"),
                                    {place.max_spawn_bytes, place.level + 1}));
    }
    if (place.level == 1) spawn["input"] = *input;
  }
  if (place.level != 1 || !reader.status().ok()) return child;
  child.spawn = spawn.dump();
  if (child.spawn.size() > place.max_spawn_bytes) {
    reader.Refuse("field \"" + reader.PathOf("input") +
                  "\" is too long: what starts the child has " +
                  std::to_string(child.spawn.size()) +
                  " bytes, and limits.max_payload_bytes is " +
                  std::to_string(place.max_spawn_bytes));
  }
  return child;
}

Backoff ReadBackoff(JsonReader& reader) {
  Backoff backoff;
  const Json* value = reader.Find("backoff");
  if (value == nullptr) return backoff;
  JsonReader own(*value, reader.PathOf("backoff"), kWantedBackoff,
                 {"initial_ms", "max_ms", "jitter"});
  const int initial = own.IntegerOr("initial_ms", 100, 1, kMaxSpecMs);
  const int max =
      own.IntegerOr("max_ms", std::max(initial, 30'000), 1, kMaxSpecMs);
  backoff.initial = milliseconds(initial);
  backoff.max = milliseconds(max);
  backoff.jitter = own.NumberOr("jitter", backoff.jitter, 0, 1);
  if (max < initial) {
    own.Refuse("field \"" + own.PathOf("max_ms") + "\" is below initial_ms");
  }
  reader.RefuseWith(own.status());
  return backoff;
}

SupervisorSpec ReadSpec(JsonReader& reader, const Place& place) {
  SupervisorSpec spec;
  spec.strategy = static_cast<Strategy>(
      reader.ChoiceOr("strategy", static_cast<size_t>(Strategy::kOneForOne),
                      {"one_for_one", "one_for_all", "rest_for_one"}));
  spec.intensity =
      reader.IntegerOr("intensity", spec.intensity, 0, kMaxIntensity);
  spec.period =
      milliseconds(reader.IntegerOr("period_ms", 5000, 1, kMaxSpecMs));
  spec.backoff = ReadBackoff(reader);
  const Json* children = reader.Find("children");
  if (children == nullptr) return spec;
  const std::string path = reader.PathOf("children");
  if (!children->is_array()) {
    reader.Refuse("field \"" + path + "\" is a JSON " + children->type_name());
    return spec;
  }
  if (children->size() > SupervisorSpec::kMaxChildren) {
    reader.Refuse("field \"" + path + "\" has " +
                  std::to_string(children->size()) + " children");
    return spec;
  }
  const std::string wanted = WantedChild();
  std::set<std::string> ids;
  for (size_t i = 0; i < children->size() && reader.status().ok(); ++i) {
    const std::string at = path + "[" + std::to_string(i) + "]";
    JsonReader own((*children)[i], at, wanted, kChildFields);
    spec.children.push_back(ReadChild(own, place));
    if (own.status().ok() && !ids.insert(spec.children.back().id).second) {
      own.Refuse("field \"" + at + ".id\" is \"" + spec.children.back().id +
                 "\", as that of another child");
    }
    reader.RefuseWith(own.status());
  }
  return spec;
}

}  // namespace

Result<SupervisorSpec> ParseSupervisorSpec(std::string_view text,
                                           size_t max_spawn_bytes) {
  return ParseAt(text, {max_spawn_bytes});
}

Result<ChildSpec> ParseChildSpec(std::string_view text,
                                 size_t max_spawn_bytes) {
  const std::string wanted = WantedChild();
  JsonReader reader(Payload(text), wanted, kChildFields);
  ChildSpec child = ReadChild(reader, {max_spawn_bytes});
  if (!reader.status().ok()) return reader.status();
  return child;
}

}  // namespace actord::handlers
