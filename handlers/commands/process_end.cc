#include "handlers/commands/process_end.h"

#include <optional>
#include <string>
#include <string_view>

#include "handlers/commands/json_reader.h"

namespace actord::handlers {
namespace {

Status ToldOf(Code code, const std::string& pid) {
  switch (code) {
    case Code::kOk:
      return {};
    case Code::kNotFound:
      return {code, "there is no process " + pid};
    case Code::kFailedPrecondition:
      return {code, "process " + pid + " has ended"};
    case Code::kResourceExhausted:
      return {code, "too many cancels wait for process " + pid};
    default:
      return {code, "process " + pid + " could not be told"};
  }
}

template <typename Tell>
Reply TellToEnd(const Host& host, const Command& command, const Tell& tell) {
  JsonReader json(command.payload(), R"({"pid": PID text, "reason": text})",
                  {"pid", "reason"});
  const std::string text = json.Text("pid");
  const std::string reason = json.TextOr("reason", "");
  const std::optional<Pid> pid = host.ParsePid(text);
  if (!pid) json.Refuse("field \"pid\" is not the text of a PID");
  if (!json.status().ok()) return json.status();
  const Status told = ToldOf(tell(*pid, reason), text);
  return told.ok() ? Reply() : Reply(told);
}

}  // namespace

Reply ProcessCancel::Handle(const Command& command) const {
  return TellToEnd(host_, command, [&](const Pid& pid, std::string_view why) {
    return host_.Cancel(pid, why);
  });
}

Reply ProcessTerminate::Handle(const Command& command) const {
  return TellToEnd(host_, command, [&](const Pid& pid, std::string_view why) {
    return host_.Terminate(pid, why);
  });
}

}  // namespace actord::handlers
