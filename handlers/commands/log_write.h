// log.write: writes a line to the daemon's log.
//
//   {"level": "debug" | "info" | "warning" | "error", "message": text}
//
// "message" is required; "level" is "info" by default. The line begins
// with the PID, the type and the name of the process. Completes with an empty
// result.
//
// Thread-safety: stateless.
#pragma once

#include <actord/handler.h>

namespace actord::handlers {

class LogWrite : public Handler {
 public:
  static constexpr const char* kCommand = "log.write";
  static constexpr const char* kDoc = "Writes a line to the daemon's log.";

  explicit LogWrite(Host host) : host_(host) {}
  Reply Handle(const Command& command) const;

 private:
  const Host host_;
};

}  // namespace actord::handlers
