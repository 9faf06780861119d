// A yield of an external command as lists show it, and the pages of these
// lists.
//
// Thread-safety: plain values. Ownership: the values own their contents.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/process/owner.h"
#include "runtime/process/payload.h"
#include "runtime/process/pid.h"

namespace actord::runtime {

// A yield that waits for its completion.
struct ExternalYield {
  YieldToken token;
  std::string process_type;
  std::string command;
  Payload payload;
  uint64_t created_unix_ns = 0;
  uint64_t deadline_unix_ns = 0;  // 0: no deadline
  Owner owner = Owner::kNobody;   // of the process
  // The trace of the step that made it (runtime/tracing/); "": none.
  std::string traceparent = {};
  std::string tracestate = {};

  // The state of its task; lists fill it in.
  uint32_t attempts = 0;       // attempts handed out so far
  uint64_t lease_unix_ns = 0;  // end of the lease; 0: no worker holds it
  std::string worker;          // name of the worker that holds it
  std::string last_error;      // error of the last attempt that failed
  bool has_worker = false;     // a remote worker is subscribed to the command
};

struct YieldFilter {
  std::string command;     // a name, or a prefix that ends in '*'; "": any
  Pid pid;                 // empty: any
  Owner by = Owner::kAny;  // only the yields of processes that `by` sees
};

struct YieldPage {
  std::vector<ExternalYield> yields;  // oldest first
  // The sequence at which the next page begins; 0: this was the last page.
  uint64_t next_sequence = 0;
};

}  // namespace actord::runtime
