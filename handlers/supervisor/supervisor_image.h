// The image of a durable supervisor: what it knows between two steps, as JSON.
//
// Thread-safety: plain values and pure functions. Ownership: they own their
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
  // When it fires, on the monotonic clock of the process.
  std::optional<Duration> sleeps_until;
  std::map<Tag, Pid> terminates;  // process.terminate of these children
  std::vector<CallId> wait_for_start;
  // The next step ends the supervisor.
  bool has_said_all = false;
};

struct SupervisorImage {
  std::string input;
  SupervisorPlan::Memory plan;
  SupervisorWork work;
};

// `input`: what the supervisor was started with. Children that are in the input
// are not written again.
std::string EncodeImage(std::string_view input,
                        const SupervisorPlan::Memory& plan,
                        const SupervisorWork& work);
// DATA_LOSS: it is no such image, and the message says why.
Result<SupervisorImage> DecodeImage(std::string_view image);

}  // namespace actord::handlers
