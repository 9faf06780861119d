// A harness with one of the example plugins.
#pragma once

#include <actord/testing.h>

#include <string>

namespace actord::testing {

class Plugged : public Harness {
 public:
  explicit Plugged(const std::string& plugin,
                   const HarnessOptions& options = {})
      : Harness((std::string(ACTORD_TEST_PLUGIN_DIR) + "/" + plugin + ".so")
                    .c_str(),
                options) {}
};

}  // namespace actord::testing
