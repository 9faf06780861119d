// A request to start a process, and its answer.
//
// Thread-safety: plain values. Ownership: they own their contents.
#pragma once

#include <string>
#include <vector>

#include "runtime/process/payload.h"
#include "runtime/process/pid.h"
#include "runtime/process/priority.h"

namespace actord::runtime {

struct SubmitRequest {
  std::string process_type;
  std::string method;  // "": the type's first
  Payload input;
  std::vector<Message> messages;  // put into the mailbox before the first step
  int priority = kDefaultPriority;  // 0 (lowest) to 31 (highest)
  std::string name = {};  // that it holds from the beginning; "": none
};

// What a Submit has come to.
struct Submitted {
  Pid pid;
  // Nothing was started: that process holds the name, and has the messages.
  bool delivered = false;
};

}  // namespace actord::runtime
