// A configuration is refused with the file's name, or it prints as itself.
#include <cstdint>
#include <string>

#include "daemon/settings/config.h"
#include "daemon/settings/config_file.h"
#include "daemon/settings/config_keys.h"
#include "tests/fuzz/input.h"

namespace actord::daemon {
namespace {

void ReadAndPrint(std::string_view text) {
  const auto values = ParseConfigText(text, "f");
  if (!values.ok()) {
    fuzz::Require(values.status().message().substr(0, 2) == "f:",
                  "an error names the file");
    return;
  }
  Config config;
  if (!ApplyConfigValues(*values, config).ok()) return;
  const std::string printed = PrintConfig(config);
  const auto again = ParseConfigText(printed, "printed");
  fuzz::Require(again.ok(), "a printed configuration is TOML");
  Config same;
  fuzz::Require(ApplyConfigValues(*again, same).ok(),
                "a printed configuration is a configuration");
  fuzz::Require(PrintConfig(same) == printed, "it prints as itself");
}

}  // namespace
}  // namespace actord::daemon

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  actord::daemon::ReadAndPrint({reinterpret_cast<const char*>(data), size});
  return 0;
}
