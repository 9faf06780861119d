// One run of actorctl: where it reads and writes, its global options, and the
// connection to the daemon.
//
// Thread-safety: not thread-safe. Ownership: borrows streams and cancellation,
// which must outlive it; owns the connection.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/calls/cancellation.h"
#include "client/calls/client.h"
#include "client/output/exit_status.h"
#include "client/output/output.h"

namespace actord::client {

// What surrounds the program; main() fills it in from the system.
struct Environment {
  int stdin_fd;
  std::ostream& out;
  std::ostream& err;
  Cancellation& cancellation;
  bool out_is_terminal = false;
  bool err_is_terminal = false;
  int terminal_width = 80;  // unit: characters
  // The value of an environment variable, "" if there is none.
  std::function<std::string(const char*)> variable;
};

struct GlobalOptions {
  std::string address = "127.0.0.1:7600";
  std::optional<absl::Duration> timeout;  // of the whole command
  Format format = Format::kTable;
};

// Of each call whose answer does not wait for a process, unless --timeout says
// otherwise.
inline constexpr absl::Duration kDefaultCallTimeout = absl::Seconds(30);

class Invocation {
 public:
  Invocation(const Environment& environment, GlobalOptions options);

  [[nodiscard]] const Environment& environment() const { return environment_; }
  [[nodiscard]] const GlobalOptions& options() const { return options_; }
  [[nodiscard]] const OutputStyle& style() const { return style_; }
  [[nodiscard]] std::ostream& out() const { return environment_.out; }
  [[nodiscard]] std::ostream& err() const { return environment_.err; }
  [[nodiscard]] bool ForPeople() const;  // the format is table or wide
  [[nodiscard]] bool err_colour() const { return err_colour_; }

  Client& client();

  // For a call that answers at once: --timeout, or the default.
  [[nodiscard]] CallOptions Quick() const;
  // For a call that waits for a process: --timeout, or no limit.
  [[nodiscard]] CallOptions Waiting() const;
  [[nodiscard]] absl::Time deadline() const { return deadline_; }

  // Says on standard error what went wrong, `about` which thing ("" for none),
  // and returns what to exit with.
  ExitStatus Fail(const absl::Status& status, const std::string& about = "");
  // Says it as `program: text`, on one line and fit for a terminal.
  void Complain(const std::string& text);

 private:
  const Environment environment_;
  const GlobalOptions options_;
  const absl::Time deadline_;
  OutputStyle style_;
  bool err_colour_ = false;
  std::unique_ptr<Client> client_;
};

// The error in one line: message, reason, and how long to wait for a retry.
std::string Describe(const absl::Status& status);

}  // namespace actord::client
