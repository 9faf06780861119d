// Runs actorctl's command line in this process and captures what it writes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "client/calls/cancellation.h"
#include "client/output/exit_status.h"

namespace actord::client {

struct CliInput {
  std::string stdin_text = {};
  std::map<std::string, std::string> variables = {};
  bool out_is_terminal = false;
  bool err_is_terminal = false;
  Cancellation* cancellation = nullptr;  // null: RunCli makes one
  int stdin_fd = -1;                     // instead of `stdin_text`
};

struct CliResult {
  ExitStatus status;
  std::string out;
  std::string err;
};

CliResult RunCli(const std::vector<std::string>& arguments,
                 const CliInput& input = {});

// A file that lives as long as this object.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& content);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] int fd() const { return fd_; }

 private:
  std::string path_;
  int fd_;
};

}  // namespace actord::client
