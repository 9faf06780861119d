#include "daemon/admin/heartbeat.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace actord::daemon {

void Heartbeat::Look() {
  const Beat beat = read_();
  const bool moved = std::exchange(turns_, beat.turns) != beat.turns;
  still_looks_ = moved || !beat.has_ready ? 0 : still_looks_ + 1;
}

std::string Heartbeat::Problem() const {
  if (still_looks_ < kStillLooks) return "";
  return absl::StrCat("no process has had a turn for ",
                      still_looks_ * kSecondsBetweenLooks,
                      " s, although processes are ready: all workers are in "
                      "steps that do not return (scheduler.max_blocked_threads "
                      "bounds the threads that take over)");
}

}  // namespace actord::daemon
