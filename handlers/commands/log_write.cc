#include "handlers/commands/log_write.h"

#include <actord/excerpt.h>

#include <optional>
#include <string>
#include <string_view>

#include "handlers/commands/json_reader.h"

namespace actord::handlers {
namespace {

std::optional<LogLevel> ParseLevel(std::string_view text) {
  if (text == "debug") return LogLevel::kDebug;
  if (text == "info") return LogLevel::kInfo;
  if (text == "warning") return LogLevel::kWarning;
  if (text == "error") return LogLevel::kError;
  return std::nullopt;
}

}  // namespace

Reply LogWrite::Handle(const Command& command) const {
  JsonReader json(
      command.payload(),
      R"({"level": "debug", "info", "warning" or "error", "message": text})",
      {"level", "message"});
  const std::string level_text = json.TextOr("level", "info");
  const std::string message = json.Text("message");
  const std::optional<LogLevel> level = ParseLevel(level_text);
  if (!level) json.Refuse("level \"" + Excerpt(level_text) + "\" is not known");
  if (!json.status().ok()) return json.status();

  std::string process = "process " + host_.FormatPid(command.from());
  const std::optional<std::string> name =
      name_of_ ? name_of_(command.from()) : std::nullopt;
  if (name) process += " (@" + *name + ")";
  host_.Log(*level, process + ": " + message);
  return {};
}

}  // namespace actord::handlers
