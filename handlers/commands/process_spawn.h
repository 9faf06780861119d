// process.spawn: starts a process and reports the outcome.
//
//   {"type": text, "method": text, "input": any, "keep_result": bool,
//    "priority": 0 to 31, "name": text, "link": bool, "monitor": bool,
//    "volatile": bool}
//
// "type" is required. "method" is the type's first method by default, "input"
// is empty by default. A text as "input" is passed on as it is, any other value
// as JSON. "keep_result" (false) keeps the result for Await. "link" and
// "monitor" (false) tie the child to the process that yields, before the
// child's first step; the monitor's exit has the tag of the yield. "volatile"
// (false): the child of a durable process ends with the daemon. Completes
// with the text of the PID (text/plain) when Init has returned, or with the
// error that prevented the start.
//
// Thread-safety: stateless.
#pragma once

#include <actord/handler.h>

namespace actord::handlers {

class ProcessSpawn : public Handler {
 public:
  static constexpr const char* kCommand = "process.spawn";
  static constexpr const char* kDoc = "Starts a process; answers with its PID.";

  static void Handle(const Command& command, Completion done);
};

}  // namespace actord::handlers
