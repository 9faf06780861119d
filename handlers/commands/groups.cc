#include "handlers/commands/groups.h"

#include <actord/excerpt.h>
#include <actord/text.h>

#include <string>

#include "handlers/commands/json_reader.h"

namespace actord::handlers {
namespace {

constexpr const char* kWantedGroup = R"({"group": text})";

}  // namespace

Reply GroupJoin::Handle(const Command& command) const {
  JsonReader json(command.payload(), kWantedGroup, {"group"});
  const std::string group = json.Text("group");
  if (!json.status().ok()) return json.status();
  const Code code = host_.JoinGroup(command.from(), group);
  switch (code) {
    case Code::kOk:
      return {};
    case Code::kInvalidArgument:
      return Status(code, "the name of a group is " + std::string(kNameRule));
    case Code::kResourceExhausted:
      return Status(code, "the group " + group +
                              " has 4096 members, or the process is in 64 "
                              "groups, which are the limits");
    default:
      return Status(code, "the group could not be joined");
  }
}

Reply GroupLeave::Handle(const Command& command) const {
  JsonReader json(command.payload(), kWantedGroup, {"group"});
  const std::string group = json.Text("group");
  if (!json.status().ok()) return json.status();
  const Code code = host_.LeaveGroup(command.from(), group);
  if (code == Code::kOk) return {};
  return Status(code, "the process is not in the group " + Excerpt(group));
}

Reply GroupMembers::Handle(const Command& command) const {
  JsonReader json(command.payload(), kWantedGroup, {"group"});
  const std::string group = json.Text("group");
  if (!json.status().ok()) return json.status();
  std::string pids = "[";
  for (const Pid& pid : host_.GroupMembers(group)) {
    if (pids.size() > 1) pids += ',';
    pids += '"' + host_.FormatPid(pid) + '"';
  }
  return Reply::Json(pids + ']');
}

Reply GroupSend::Handle(const Command& command) const {
  JsonReader json(command.payload(),
                  R"({"group": text, "topic": text, "payload": any})",
                  {"group", "topic", "payload"});
  const std::string group = json.Text("group");
  const std::string topic = json.TextOr("topic", "");
  const OwnedPayload body = json.Body("payload");
  if (!json.status().ok()) return json.status();
  size_t delivered = 0;
  size_t refused = 0;
  for (const Pid& pid : host_.GroupMembers(group)) {
    if (pid == command.from()) continue;
    switch (host_.Send(command.from(), pid, topic, body)) {
      case Code::kOk:
        ++delivered;
        break;
      case Code::kResourceExhausted:
        ++refused;
        break;
      case Code::kInvalidArgument:
        return Status(Code::kInvalidArgument,
                      "the message is larger than the daemon's limit");
      default:
        // The member has ended meanwhile.
        break;
    }
  }
  return Reply::Json("{\"delivered\":" + std::to_string(delivered) +
                     ",\"refused\":" + std::to_string(refused) + '}');
}

}  // namespace actord::handlers
