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
  // In the file: "section.name".
  std::string_view path;
  // On the command line, without the dashes.
  std::string_view option;
  // The name of its value in --help.
  std::string_view value;
  // Its effect, its range, and the sentence that `reloads` adds.
  std::string doc;
  bool is_list = false;
  // True or false; the option alone means true.
  bool is_flag = false;
  // SIGHUP changes it in a running daemon.
  bool reloads = false;
  // `parse` and `print` take a list as a whole, and a single value as one text.
  std::function<absl::Status(const std::vector<std::string>& texts,
                             Config& config)>
      parse;
  // A TOML value.
  std::function<std::string(const Config& config)> print;
};

// In the order of --help; keys of one section stand together.
const std::vector<ConfigKey>& ConfigKeys();
// nullptr: there is no such key.
const ConfigKey* FindConfigKey(std::string_view path);
// "ACTORD_" and the option in upper case.
std::string EnvironmentName(const ConfigKey& key);

}  // namespace actord::daemon
