// The pages of the manual, from the tables behind --help, so that they say the
// same.
//
// Thread-safety: pure functions.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace actord::manual {

struct Edition {
  std::string date;     // "2026-11-27"
  std::string version;  // "0.1.0"
};

// actord(8).
std::string DaemonPage(const Edition& edition);
// actord.toml(5).
std::string ConfigurationPage(const Edition& edition);
// actorctl(1), which has all commands.
std::string ClientPage(const Edition& edition);
// A page for each command: {"actorctl-submit.1", text}. The commands below a
// command, such as those of "store", are on its page.
std::vector<std::pair<std::string, std::string>> CommandPages(
    const Edition& edition);

// The file /etc/actord/actord.toml of the Debian package: every setting with
// its meaning. Settings with the daemon's default are commented out.
std::string PackagedConfiguration();

}  // namespace actord::manual
