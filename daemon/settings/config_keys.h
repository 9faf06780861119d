// The table of configuration keys.
//
// Thread-safety: constant after first use.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "daemon/settings/config.h"

namespace actord::daemon {

struct ConfigKey {
  std::string_view path;    // in the file: "section.name"
  std::string_view option;  // on the command line, without the dashes
  std::string_view value;   // what to call its value in --help
  std::string doc;          // one sentence, and what `reloads` adds
  bool is_list = false;
  bool reloads = false;  // SIGHUP changes it in a daemon that runs
  // Both are told of a list as a whole and of a single value as one text.
  std::function<absl::Status(const std::vector<std::string>& texts,
                             Config& config)>
      parse;
  std::function<std::string(const Config& config)> print;  // a TOML value
};

// In the order of --help; keys of one section stand together.
const std::vector<ConfigKey>& ConfigKeys();
// nullptr: there is none.
const ConfigKey* FindConfigKey(std::string_view path);
// "ACTORD_" and the option in upper case.
std::string EnvironmentName(const ConfigKey& key);

}  // namespace actord::daemon
