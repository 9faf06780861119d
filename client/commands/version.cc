// actorctl version

#include <string>

#include "client/commands/commands.h"
#include "nlohmann/json.hpp"

namespace actord::client {
namespace {

ExitStatus RunVersion(Invocation& invocation) {
  WriteOne(invocation.out(), invocation.style(),
           Json{{"version", ACTORD_VERSION}}, ACTORD_VERSION,
           [&] { invocation.out() << "actorctl " ACTORD_VERSION << '\n'; });
  return ExitStatus::kDone;
}

}  // namespace

void AddVersion(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand(
      "version", "Print the version of actorctl; status has the daemon's");
  command->callback([&chosen] { chosen = RunVersion; });
}

}  // namespace actord::client
