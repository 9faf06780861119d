#include "tests/client/cli/cli_run.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>

#include "client/app.h"

namespace actord::client {

CliResult RunCli(const std::vector<std::string>& arguments,
                 const CliInput& input) {
  const TemporaryFile stdin_file(input.stdin_text);
  std::ostringstream out;
  std::ostringstream err;
  Cancellation own;
  const Environment environment = {
      .stdin_fd = input.stdin_fd >= 0 ? input.stdin_fd : stdin_file.fd(),
      .out = out,
      .err = err,
      .cancellation = input.cancellation ? *input.cancellation : own,
      .out_is_terminal = input.out_is_terminal,
      .err_is_terminal = input.err_is_terminal,
      .variable =
          [&input](const char* name) {
            const auto variable = input.variables.find(name);
            return variable == input.variables.end() ? "" : variable->second;
          },
  };
  const ExitStatus status = RunActorctl(arguments, environment);
  return {.status = status, .out = out.str(), .err = err.str()};
}

TemporaryFile::TemporaryFile(const std::string& content)
    : path_(testing::TempDir() + "actorctl_test_XXXXXX"),
      fd_(mkstemp(path_.data())) {
  EXPECT_GE(fd_, 0);
  EXPECT_EQ(write(fd_, content.data(), content.size()),
            static_cast<ssize_t>(content.size()));
  lseek(fd_, 0, SEEK_SET);
}

TemporaryFile::~TemporaryFile() {
  close(fd_);
  unlink(path_.c_str());
}

}  // namespace actord::client
