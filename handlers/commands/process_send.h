// process.send: sends a message and reports its delivery.
//
//   {"to": PID text or "@NAME", "topic": text, "payload": any}
//
// "to" is required. A text as "payload" is sent as it is, any other value as
// JSON. Completes with {"delivered":true} when the message is in the mailbox;
// otherwise with INVALID_ARGUMENT (not a PID, too large), NOT_FOUND (no such
// process, or nobody holds the name), FAILED_PRECONDITION (the process has
// ended) or RESOURCE_EXHAUSTED (its mailbox is full).
//
// Thread-safety: stateless.
#pragma once

#include <actord/handler.h>

namespace actord::handlers {

class ProcessSend : public Handler {
 public:
  static constexpr const char* kCommand = "process.send";
  static constexpr const char* kDoc =
      "Sends a message; answers whether it is in the mailbox.";

  explicit ProcessSend(Host host) : host_(host) {}
  Reply Handle(const Command& command) const;

 private:
  const Host host_;
};

}  // namespace actord::handlers
