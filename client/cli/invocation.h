// One run of actorctl: its streams, its global options, and the connection to
// the daemon.
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
#include "client/calls/endpoint.h"
#include "client/output/exit_status.h"
#include "client/output/output.h"

namespace actord::client {

// The environment of the program; main() fills it in from the system.
struct Environment {
  int stdin_fd;
  std::ostream& out;
  std::ostream& err;
  Cancellation& cancellation;
  bool out_is_terminal = false;
  bool err_is_terminal = false;
  // Unit: characters.
  int terminal_width = 80;
  // The value of an environment variable; "" if it is not set.
  std::function<std::string(const char*)> variable;
};

struct GlobalOptions {
  std::string address = "127.0.0.1:7600";
  // A secret; "": none.
  std::string token;
  TlsOptions tls;
  // Deadline of the whole command.
  std::optional<absl::Duration> timeout;
  Format format = Format::kTable;
  // Why the token and the TLS files of the context in use do not count; "":
  // they count, or there are none.
  std::string left_out = {};

  [[nodiscard]] Endpoint endpoint() const { return {address, token, tls}; }
};

// Default deadline of each call that does not wait for a process.
inline constexpr absl::Duration kDefaultCallTimeout = absl::Seconds(30);

class Invocation {
 public:
  Invocation(const Environment& environment, GlobalOptions options);

  [[nodiscard]] const Environment& environment() const { return environment_; }
  [[nodiscard]] const GlobalOptions& options() const { return options_; }
  [[nodiscard]] const OutputStyle& style() const { return style_; }
  [[nodiscard]] std::ostream& out() const { return environment_.out; }
  [[nodiscard]] std::ostream& err() const { return environment_.err; }
  // The format is table or wide.
  [[nodiscard]] bool ForPeople() const;
  [[nodiscard]] bool err_colour() const { return err_colour_; }
  // A line of progress may be written to standard error: it is a terminal, and
  // not that of results for programs, which the line would garble.
  [[nodiscard]] bool wants_progress() const;

  Client& client();

  // Options of a call that answers at once: --timeout, or the default.
  [[nodiscard]] CallOptions Quick() const;
  // Options of a call that waits for a process: --timeout, or no deadline.
  [[nodiscard]] CallOptions Waiting() const;
  [[nodiscard]] absl::Time deadline() const { return deadline_; }
  // Waits for `pause`, at most until the deadline. False: the command is
  // interrupted.
  [[nodiscard]] bool Pause(absl::Duration pause) const;

  // Writes the error to standard error, with `about` as its subject ("" for
  // none), and returns the exit status for it.
  ExitStatus Fail(const absl::Status& status, const std::string& about = "");
  // Tells people, on standard error, why a list is empty.
  void SayEmpty(const ListWriter& list, const std::string& text);
  // Writes "program: text" on one line, with control characters replaced and
  // without the secrets of tokens.
  void Complain(const std::string& text);

 private:
  const Environment environment_;
  const GlobalOptions options_;
  const absl::Time deadline_;
  OutputStyle style_;
  bool err_colour_ = false;
  std::unique_ptr<Client> client_;
};

// The error on one line: message, reason, and the delay before a retry.
std::string Describe(const absl::Status& status);

}  // namespace actord::client
