#include "handlers/commands/names.h"

#include <actord/excerpt.h>
#include <actord/text.h>

#include <optional>
#include <string>

#include "handlers/commands/json_reader.h"

namespace actord::handlers {
namespace {

constexpr const char* kWantedName = R"({"name": text})";

}  // namespace

Reply NameRegister::Handle(const Command& command) const {
  JsonReader json(command.payload(), kWantedName, {"name"});
  const std::string name = json.Text("name");
  if (!json.status().ok()) return json.status();
  Pid holder;
  const Code code = host_.RegisterName(command.from(), name, &holder);
  switch (code) {
    case Code::kOk:
      return {};
    case Code::kAlreadyExists:
      return Status(
          code,
          "the name " + name + " is held by process " + host_.FormatPid(holder),
          holder);
    case Code::kInvalidArgument:
      return Status(code, "a name is " + std::string(kNameRule));
    case Code::kResourceExhausted:
      return Status(code, "the process holds 64 names, which is the limit");
    default:
      return Status(code, "the name could not be registered");
  }
}

Reply NameRelease::Handle(const Command& command) const {
  JsonReader json(command.payload(), kWantedName, {"name"});
  const std::string name = json.Text("name");
  if (!json.status().ok()) return json.status();
  const Code code = host_.ReleaseName(command.from(), name);
  if (code == Code::kOk) return {};
  return Status(code, "the process does not hold the name " + Excerpt(name));
}

Reply NameLookup::Handle(const Command& command) const {
  JsonReader json(command.payload(), kWantedName, {"name"});
  const std::string name = json.Text("name");
  if (!json.status().ok()) return json.status();
  const std::optional<Pid> holder = host_.LookUpName(name);
  if (!holder) {
    return Status(Code::kNotFound,
                  "no process holds the name " + Excerpt(name));
  }
  return Reply::Text(host_.FormatPid(*holder));
}

}  // namespace actord::handlers
