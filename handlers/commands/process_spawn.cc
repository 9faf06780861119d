#include "handlers/commands/process_spawn.h"

#include <string>

#include "handlers/commands/json_reader.h"

namespace actord::handlers {

void ProcessSpawn::Handle(const Command& command, Completion done) {
  JsonReader json(
      command.payload(),
      R"({"type": text, "method": text, "input": any, "keep_result": bool, )"
      R"("priority": 0 to 31, "name": text, "link": bool, "monitor": bool, )"
      R"("volatile": bool})",
      {"type", "method", "input", "keep_result", "priority", "name", "link",
       "monitor", "volatile"});
  const std::string type = json.Text("type");
  const std::string method = json.TextOr("method", "");
  const OwnedPayload input = json.Body("input");
  const std::string name = json.TextOr("name", "");
  const SpawnOptions options = {
      .keep_result = json.FlagOr("keep_result", false),
      .priority =
          json.IntegerOr("priority", ACTORD_PRIORITY_DEFAULT,
                         ACTORD_PRIORITY_LOWEST, ACTORD_PRIORITY_HIGHEST),
      .link = json.FlagOr("link", false),
      .monitor = json.FlagOr("monitor", false),
      .is_volatile = json.FlagOr("volatile", false),
      .name = name};
  if (!json.status().ok()) {
    done.Fail(json.status());
    return;
  }
  done.CompleteWithSpawn(command.from(), type, method, input, options);
}

}  // namespace actord::handlers
