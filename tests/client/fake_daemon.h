// An ActorService that does as a test says, served on a free loopback port.
//
// What it does is told by the process type of a submission:
//   echo      ends at once; its result is its input
//   fail      ends at once; it failed with INVALID_ARGUMENT and
//             `failure_message`
//   never     does not end
//   refuse    INVALID_ARGUMENT, INIT_REFUSED, with a violation of "input.data"
//   busy      RESOURCE_EXHAUSTED with a retry delay of 1 ms, the first
//             `busy_answers` times; then as echo
//   drain     UNAVAILABLE, DRAINING, with a retry delay
//   forbid    PERMISSION_DENIED
// anything else is NOT_FOUND, UNKNOWN_PROCESS_TYPE.
//
// Thread-safety: the members are set before the calls that they are about;
// what was recorded is read through functions that lock.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "actord/v1/dead_letter.pb.h"
#include "actord/v1/name.pb.h"
#include "actord/v1/outcome.pb.h"
#include "actord/v1/process.pb.h"
#include "actord/v1/status.pb.h"
#include "actord/v1/watch.pb.h"
#include "actord/v1/yield.pb.h"

namespace grpc {
class Server;
}

namespace actord::client {

class FakeDaemon {
 public:
  FakeDaemon();
  ~FakeDaemon();
  FakeDaemon(const FakeDaemon&) = delete;
  FakeDaemon& operator=(const FakeDaemon&) = delete;

  [[nodiscard]] const std::string& address() const { return address_; }
  void SetServing(bool serving);

  // Answers, to be set by the test.
  std::vector<v1::Process> processes;
  std::vector<v1::Yield> yields;
  std::vector<v1::Name> names;
  // What is answered to calls, by PID and topic; others are NOT_FOUND. Of
  // several answers one each, the last for ever.
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> calls;
  std::vector<v1::DeadLetter> dead_letters;
  v1::CompleteYieldResponse::Answer answer =
      v1::CompleteYieldResponse::ANSWER_ACCEPTED;
  v1::GetStatusResponse status;
  int busy_answers = 0;
  std::string failure_message = "as told";
  // What each call of WatchProcesses is told, before it ends with UNAVAILABLE,
  // DRAINING; the last stays open. If there are none: INVALID_ARGUMENT,
  // INVALID_RESUME_TOKEN. A client's calls begin with the first again when it
  // has seen the last.
  std::vector<std::vector<v1::WatchProcessesResponse>> watches;
  int watch_retry_ms = 1;  // that it asks for
  // Streams end after so many batches, with UNAVAILABLE, DRAINING or with OK;
  // negative: when the client has said all.
  int stream_batches = -1;
  bool streams_end_well = false;

  // What arrived, in the order of arrival.
  struct Log {
    std::vector<v1::SubmitRequest> submits;
    std::vector<v1::SendRequest> sends;
    std::vector<v1::CancelRequest> cancels;
    std::vector<v1::TerminateRequest> terminates;
    std::vector<v1::CompleteYieldRequest> completions;
    std::vector<v1::ShutdownRequest> shutdowns;
    std::vector<v1::ListProcessesRequest> process_lists;
    std::vector<v1::ListYieldsRequest> yield_lists;
    std::vector<v1::CallRequest> calls;
    std::vector<v1::ListDeadLettersRequest> dead_letter_lists;
    std::vector<v1::ResendDeadLetterRequest> resends;
    std::vector<v1::DropDeadLettersRequest> drops;
    std::vector<v1::WatchProcessesRequest> watches;
    size_t awaits_open = 0;  // of processes that do not end
    size_t awaits_cancelled = 0;
    size_t most_sends_to_one = 0;  // under way at a time for one PID
    std::vector<int> batch_items;  // of streams
  };
  [[nodiscard]] Log log() const;
  // Waits until so many awaits are open. False: not within a minute.
  [[nodiscard]] bool WaitForOpenAwaits(size_t count) const;

 private:
  class Service;
  std::unique_ptr<Service> service_;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
};

}  // namespace actord::client
