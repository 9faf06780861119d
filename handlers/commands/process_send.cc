#include "handlers/commands/process_send.h"

#include <actord/excerpt.h>

#include <optional>
#include <string>

#include "handlers/commands/json_reader.h"

namespace actord::handlers {
namespace {

std::string Describe(Code code, const std::string& to) {
  switch (code) {
    case Code::kNotFound:
      return "there is no process " + to;
    case Code::kFailedPrecondition:
      return "process " + to + " has ended";
    case Code::kResourceExhausted:
      return "the mailbox of process " + to + " is full";
    case Code::kInvalidArgument:
      return "the message is larger than the daemon's limit";
    default:
      return "the message to process " + to + " could not be delivered";
  }
}

}  // namespace

Reply ProcessSend::Handle(const Command& command) const {
  JsonReader json(command.payload(),
                  R"({"to": PID text or "@NAME", "topic": text, )"
                  R"("payload": any})",
                  {"to", "topic", "payload"});
  const std::string to_text = json.Text("to");
  const std::string topic = json.TextOr("topic", "");
  const OwnedPayload body = json.Body("payload");
  const bool is_name = to_text.starts_with('@');
  const std::optional<Pid> to =
      is_name ? host_.LookUpName(to_text.substr(1)) : host_.ParsePid(to_text);
  if (!to && !is_name) json.Refuse("field \"to\" is not the text of a PID");
  if (!json.status().ok()) return json.status();
  if (!to) {
    return Status(Code::kNotFound,
                  "no process holds the name " + Excerpt(to_text.substr(1)));
  }

  const Code code = host_.Send(command.from(), *to, topic, body);
  if (code != Code::kOk) return Status(code, Describe(code, to_text));
  return Reply::Json(R"({"delivered":true})");
}

}  // namespace actord::handlers
