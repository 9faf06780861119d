// The requests of "actorctl bench": starts the processes that they are for,
// makes them, and ends every process that it has started.
//
// Thread-safety: Begin may be called from any thread; the other functions from
// one thread, and Open first. Ownership: owns its connections; borrows the
// invocation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "actord/v1/process.pb.h"
#include "client/bench/load.h"
#include "client/bulk/bulk.h"
#include "client/calls/client.h"
#include "client/calls/mutex.h"
#include "client/cli/invocation.h"

namespace actord::client::bench {

enum class Mode {
  // A call to a process, until its answer.
  kCall,
  // A message to a process, until the message is in its mailbox.
  kSend,
  // The start of a process, until its result.
  kSubmit,
};

struct RequestOptions {
  Mode mode = Mode::kCall;
  // Type, method and durability of the processes. In kSubmit also their input.
  v1::SubmitRequest start = {};
  std::string topic = {};
  v1::Payload payload = {};
  // Processes that take the calls and messages in turn. None in kSubmit.
  size_t processes = 1;
  size_t connections = 1;
  size_t in_flight = 1;
};

class Requests {
 public:
  Requests(Invocation& invocation, const RequestOptions& options);
  // As CancelAll.
  ~Requests();
  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;

  // Connects, and starts the processes for calls and messages; in kSubmit one
  // process, so a wrong type or input is an error here.
  absl::Status Open();
  // True if the processes survive the daemon.
  [[nodiscard]] bool is_durable() const;

  // See Load::Begin.
  void Begin(uint64_t index, Load::Finished finished);

  // Cancels the processes that have not ended. They end within `deadline`, or
  // the daemon terminates them. Requests that are open then end with an error.
  // Works also if the command was interrupted. Returns the first error.
  absl::Status CancelProcesses(absl::Duration deadline);
  // Waits until the cancelled processes have ended.
  absl::Status AwaitProcesses(absl::Duration deadline);
  // Ends all open requests with CANCELLED, and waits for them.
  void CancelAll();

 private:
  absl::Status StartProcess(Client& client);
  void BeginSubmit(Bulk& bulk, Load::Finished finished);
  void AwaitEnd(Bulk& bulk, const std::string& pid, Load::Finished finished);
  void Note(const v1::SubmitResponse& started);
  [[nodiscard]] std::vector<std::string> Live() const;

  Invocation& invocation_;
  const RequestOptions options_;
  std::vector<std::unique_ptr<Client>> clients_;
  // One for each client.
  std::vector<std::unique_ptr<Bulk>> bulks_;
  // The processes of calls and messages.
  std::vector<std::string> pids_;
  mutable Mutex mutex_;
  // Started, and not known to have ended.
  std::unordered_set<std::string> live_ ABSL_GUARDED_BY(mutex_);
  bool is_durable_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_cancelling_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace actord::client::bench
