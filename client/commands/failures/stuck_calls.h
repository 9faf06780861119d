// The processes that have waited too long for an answer, and the processes that
// owe one, for actorctl stuck.
//
// Thread-safety: not thread-safe. Ownership: values own their contents.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/cli/invocation.h"
#include "client/commands/failures/pending_calls.h"

namespace actord::client {

// A process that waits, and why.
struct StuckProcess {
  std::string pid;
  std::string process_type;
  // "YIELD", "COMMAND", "CALL", "DEADLOCK", "OWES", "QUARANTINE", "MAILBOX",
  // "STEP" or "READY".
  std::string what;
  // When the waiting began. Infinite past: it is not known.
  absl::Time since = absl::InfinitePast();
  std::string why;  // a sentence
  // For CALL and DEADLOCK: the processes that it waits for, one behind another.
  std::vector<std::string> chain = {};
};

struct StuckQuery {
  absl::Time now;
  absl::Duration older_than;
  std::string type;  // "": any
};

// Adds the processes to `found`, the longest wait first, and all calls to
// `graph`. An older daemon knows no calls; then it adds nothing.
absl::Status FindStuckCalls(Invocation& invocation, const StuckQuery& query,
                            CallGraph& graph, std::vector<StuckProcess>& found);

// "1 message", "2 messages".
std::string CountedNoun(uint64_t count, const std::string& noun);

}  // namespace actord::client
