// An ActorService that a test controls, served on a free loopback port.
//
// The process type of a submission decides what the service does:
//   echo      the process ends at once; its result is its input
//   fail      the process fails at once, with INVALID_ARGUMENT and
//             `failure_message`
//   never     the process does not end
//   refuse    INVALID_ARGUMENT, INIT_REFUSED, with a violation of "input.data"
//   busy      RESOURCE_EXHAUSTED with a retry delay of 1 ms, the first
//             `busy_answers` times; then like echo
//   drain     UNAVAILABLE, DRAINING, with a retry delay
//   forbid    PERMISSION_DENIED
//   locked    UNAUTHENTICATED, TOKEN_MISSING
//   other     NOT_FOUND, UNKNOWN_PROCESS_TYPE
//
// Thread-safety: a test sets the members before the calls that use them. The
// functions that return records lock.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "actord/v1/call.pb.h"
#include "actord/v1/client.pb.h"
#include "actord/v1/dead_letter.pb.h"
#include "actord/v1/failure.pb.h"
#include "actord/v1/history.pb.h"
#include "actord/v1/log.pb.h"
#include "actord/v1/name.pb.h"
#include "actord/v1/outcome.pb.h"
#include "actord/v1/plugin.pb.h"
#include "actord/v1/process.pb.h"
#include "actord/v1/quarantine.pb.h"
#include "actord/v1/status.pb.h"
#include "actord/v1/topic.pb.h"
#include "actord/v1/watch.pb.h"
#include "actord/v1/work.pb.h"
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

  // The answers; the test sets them.
  std::vector<v1::Process> processes;
  // PIDs of processes that GetProcess answers with PROCESS_ENDED.
  std::set<std::string> ended;
  std::vector<v1::Yield> yields;
  std::vector<v1::Name> names;
  // The answers to calls, by PID and topic; other calls are NOT_FOUND. Each
  // call takes the next answer; the last answer is repeated for ever.
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> calls;
  std::vector<v1::DeadLetter> dead_letters;
  std::vector<v1::Client> clients;
  // The whole answers to other calls, whatever the request.
  struct Operations {
    v1::ListFailuresResponse failures;
    v1::ListCallsResponse calls;  // without calls: UNIMPLEMENTED
    v1::ListQuarantineResponse quarantine;
    v1::RetryQuarantineResponse tried;
    v1::ListLogLinesResponse log;
    v1::ListWorkersResponse workers;
    v1::ListPluginsResponse plugins;
    v1::LoadPluginResponse loaded;
    v1::ReadHistoryResponse history;
    v1::SubscribeResponse publications;  // the second response
  };
  Operations operations;
  v1::CompleteYieldResponse::Answer answer =
      v1::CompleteYieldResponse::ANSWER_ACCEPTED;
  v1::GetStatusResponse status;
  int busy_answers = 0;
  std::string failure_message = "as told";
  // The responses to each call of WatchProcesses. A call then ends with
  // UNAVAILABLE, DRAINING; only the last call stays open. After the last list
  // the calls begin with the first again. No lists: INVALID_ARGUMENT,
  // INVALID_RESUME_TOKEN.
  std::vector<std::vector<v1::WatchProcessesResponse>> watches;
  int watch_retry_ms = 1;  // the retry delay of that UNAVAILABLE
  // The number of batches after which a stream ends, with UNAVAILABLE, DRAINING
  // or with OK. Negative: the stream ends when the client has half-closed it.
  int stream_batches = -1;
  bool streams_end_well = false;
  // The number of responses of a stream; it stays open after the last one.
  // Negative: each request has one.
  int stream_answers = -1;
  // Calls of Submit are not answered.
  bool submits_hang = false;
  // SubmitStream is UNIMPLEMENTED.
  bool refuses_submit_streams = false;
  // SendStream answers as a daemon that knows seen_count, and holds receivers.
  bool streams_keep_order = false;
  // Number of items to each PID that SendStream refuses with MAILBOX_FULL,
  // besides the items that are refused because the PID is held. Negative: all.
  std::map<std::string, int> full_answers;
  int full_retry_ms = 1;  // the retry delay of these refusals

  // The requests, in the order of their arrival.
  struct Log {
    std::vector<v1::SubmitRequest> submits;
    std::vector<v1::SendRequest> sends;
    size_t full = 0;  // refused with MAILBOX_FULL, and not in `sends`
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
    size_t awaits_open = 0;  // awaits of processes that do not end
    size_t awaits_cancelled = 0;
    size_t submit_streams = 0;
    size_t most_sends_to_one = 0;  // most in flight at a time for one PID
    std::vector<int> batch_items;  // items in each batch of a stream
  };
  [[nodiscard]] Log log() const;
  // Waits until `count` awaits are open. False: a minute has passed.
  [[nodiscard]] bool WaitForOpenAwaits(size_t count) const;

 private:
  class Service;
  std::unique_ptr<Service> service_;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
};

}  // namespace actord::client
