// A yield of an external command as lists show it, and the pages of such lists.
//
// Thread-safety: plain values. Ownership: they own their contents.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

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
  uint64_t deadline_unix_ns = 0;  // 0: none

  // As a task; filled in by lists.
  uint32_t attempts = 0;       // handed out so far
  uint64_t lease_unix_ns = 0;  // until when it is held; 0: it is not
  std::string worker;          // who holds it
  std::string last_error;      // of the last attempt that failed
};

struct YieldFilter {
  std::string command;  // "": any; a name, or a prefix that ends in '*'
  Pid pid;              // empty: any
};

struct YieldPage {
  std::vector<ExternalYield> yields;  // oldest first
  uint64_t next_sequence =
      0;  // where the next page begins; 0: this was the last
};

}  // namespace actord::runtime
