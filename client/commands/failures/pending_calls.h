// Sentences about calls that have no answer yet: who waits for whom, along the
// whole chain.
//
// Thread-safety: not thread-safe. Ownership: the graph owns copies of the
// calls.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "actord/v1/call.pb.h"
#include "client/cli/invocation.h"
#include "client/output/json.h"

namespace actord::client {

// "1.2b.7.1 (ledger @acme)".
std::string CallerText(const v1::PendingCall& call);
std::string CalleeText(const v1::PendingCall& call);
// "the answer of 1.2b.7.1 (ledger @acme)", or "the command report of plugin
// reports".
std::string AnswerText(const v1::PendingCall& call);
// The program outside that waits: "billing, 127.0.0.1:4711, connection 3"; ""
// if it is not known.
std::string OutsideText(const v1::PendingCall& call);
// "; the call fails in 42s"; "" without a deadline.
std::string CallDeadlineText(const v1::PendingCall& call, absl::Time now);

// The fields of describe for the calls that the process waits for, and for the
// calls that wait for the process. Sets `waiting` to the number of the former.
// An older daemon knows no calls; then there are no fields.
absl::Status AddCallFields(
    Invocation& invocation, const std::string& pid,
    std::vector<std::pair<std::string, std::string>>& fields, Json& json,
    size_t& waiting);

// The calls of all processes.
class CallGraph {
 public:
  // Maximum number of calls; Add ignores further ones.
  static constexpr size_t kMaxCalls = 100'000;

  void Add(const v1::PendingCall& call);
  // Says what the process waits for at the end of a chain: "payment.charge".
  // `text` must be fit for a terminal.
  void AddCommand(const std::string& pid, std::string text);

  struct Chain {
    // The callee, the process whose answer the callee waits for, and so on.
    std::vector<std::string> pids;
    // The last process waits for the caller.
    bool is_cycle = false;
    // A cycle in which no process can take a step before another one does.
    bool is_deadlock = false;
    std::string why;  // a sentence
  };
  // Precondition: the call is of a process.
  [[nodiscard]] Chain ChainOf(const v1::PendingCall& call,
                              absl::Time now) const;
  // What the callee waits for: ", which waits for the answer of ..."; "": it is
  // not known.
  [[nodiscard]] std::string BehindText(const v1::PendingCall& call) const;

 private:
  // Maximum number of processes of a chain, and of processes that the search
  // for a cycle examines.
  static constexpr size_t kMaxChain = 16;
  static constexpr size_t kMaxVisited = 256;

  using Links = std::vector<const v1::PendingCall*>;
  // The calls from the callee of `call` back to its caller, along the shortest
  // way; empty: none was found.
  [[nodiscard]] Links WayBack(const v1::PendingCall& call) const;
  // The calls behind `call`: of each process the oldest.
  [[nodiscard]] Links Behind(const v1::PendingCall& call) const;
  // Begins with ", which"; "": it is not known.
  [[nodiscard]] std::string EndOf(const v1::PendingCall& last,
                                  bool is_cut) const;

  size_t size_ = 0;
  // By caller, the oldest call first. The calls have stable addresses.
  absl::flat_hash_map<std::string,
                      std::vector<std::unique_ptr<v1::PendingCall>>>
      calls_;
  absl::flat_hash_map<std::string, std::string> commands_;
};

}  // namespace actord::client
