// The image of a durable supervisor: its whole state between two steps, as
// JSON.
//
// Thread-safety: plain values and pure functions. Ownership: values own their
// contents.
#pragma once

#include <actord/result.h>
#include <actord/values.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "handlers/supervisor/supervisor_plan.h"

namespace actord::handlers {

// The commands whose completions matter to a supervisor, and the calls that
// wait for its start.
struct SupervisorWork {
  Tag start = 0;                     // process.spawn of `starting`; 0: none
  SupervisorPlan::Key starting = 0;  // a child
  Tag sleep = 0;                     // timer.sleep; 0: none
  // Due time of the sleep, on the monotonic clock of the process.
  std::optional<Duration> sleeps_until;
  std::map<Tag, Pid> terminates;  // process.terminate of a child, by tag
  std::vector<CallId> wait_for_start;
  // The next step ends the supervisor.
  bool has_said_all = false;
};

struct SupervisorImage {
  std::string input;
  SupervisorPlan::Memory plan;
  SupervisorWork work;
};

// `input`: the input of the supervisor. Children of the input are not written a
// second time.
std::string EncodeImage(std::string_view input,
                        const SupervisorPlan::Memory& plan,
                        const SupervisorWork& work);
// DATA_LOSS: `image` is not such an image; the message gives the reason.
Result<SupervisorImage> DecodeImage(std::string_view image);

}  // namespace actord::handlers
