// Runs commands of actorctl against a fake daemon.
//
// Thread-safety: none. Ownership: each test owns its daemon.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/client/cli/cli_run.h"
#include "tests/client/fake_daemon.h"

namespace actord::client {

class Commands : public testing::Test {
 protected:
  CliResult Run(std::vector<std::string> arguments, CliInput input = {}) {
    input.variables.emplace("ACTORD_ADDRESS", daemon_.address());
    return RunCli(arguments, input);
  }

  std::string Submitted(const std::string& type) {
    std::string pid = Run({"submit", type}).out;
    pid.pop_back();
    return pid;
  }

  FakeDaemon daemon_;
};

}  // namespace actord::client
