// process.cancel and process.terminate: ask a process to end, or end it.
//
//   {"pid": PID text, "reason": text}
//
// "reason" may be left out; 1,024 bytes of it are kept. Both complete with an
// empty result when the process will see it, and with NOT_FOUND if there never
// was such a process, FAILED_PRECONDITION if it has ended, RESOURCE_EXHAUSTED
// if it does not come to its turn and 15,000 cancels wait for it.
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
