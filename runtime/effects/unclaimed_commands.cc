#include "runtime/effects/unclaimed_commands.h"

#include "absl/strings/str_cat.h"

namespace actord::runtime {

void UnclaimedCommands::Count(const std::vector<records::YieldImage>& yields) {
  for (const records::YieldImage& yield : yields) {
    if (yield.kind != records::YieldKind::kCommand || yield.cancelled ||
        yield.answer != 0 || tasks_.IsExternal(yield.command) ||
        catalog_.FindCommand(yield.command) != nullptr) {
      continue;
    }
    const auto known = yields_.find(yield.command);
    if (known != yields_.end()) {
      ++known->second;
    } else if (yields_.size() < kMaxNamed) {
      yields_.emplace(yield.command, 1);
    } else {
      ++other_yields_;
    }
  }
}

void UnclaimedCommands::Warn(const LogSink& log) const {
  for (const auto& [command, count] : yields_) {
    log(LogLevel::kWarning,
        absl::StrCat("the store has ", count,
                     " outstanding yields of the "
                     "command \"",
                     command,
                     "\", which has no handler and matches no pattern of "
                     "commands.external. They wait, and remote workers do not "
                     "get them. Add the command to commands.external "
                     "(--external), or load its plugin, and restart the "
                     "daemon; or answer each with \"actorctl complete\""));
  }
  if (other_yields_ == 0) return;
  log(LogLevel::kWarning,
      absl::StrCat("the store has ", other_yields_,
                   " more outstanding yields of other commands without a "
                   "handler and without a pattern of commands.external; "
                   "\"actorctl yields\" lists them"));
}

}  // namespace actord::runtime
