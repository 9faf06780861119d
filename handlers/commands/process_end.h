// process.cancel and process.terminate: ask a process to end, or force it to.
//
//   {"pid": PID text, "reason": text}
//
// "reason" is optional; the first 1,024 bytes are kept. Both complete with an
// empty result when the process is certain to receive the event. They complete
// with NOT_FOUND if there never was such a process, with FAILED_PRECONDITION if
// it has ended, and with RESOURCE_EXHAUSTED if its backlog is 15,000 cancels.
//
// Thread-safety: stateless.
#pragma once

#include <actord/handler.h>

namespace actord::handlers {

class ProcessCancel : public Handler {
 public:
  static constexpr const char* kCommand = "process.cancel";
  static constexpr const char* kDoc = "Asks a process to end.";

  explicit ProcessCancel(Host host) : host_(host) {}
  Reply Handle(const Command& command) const;

 private:
  const Host host_;
};

class ProcessTerminate : public Handler {
 public:
  static constexpr const char* kCommand = "process.terminate";
  static constexpr const char* kDoc = "Ends a process, after its step.";

  explicit ProcessTerminate(Host host) : host_(host) {}
  Reply Handle(const Command& command) const;

 private:
  const Host host_;
};

}  // namespace actord::handlers
