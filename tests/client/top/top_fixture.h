// Samples of a daemon for the tests of "actorctl top".
//
// Thread-safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "client/output/message_json.h"
#include "client/top/model.h"

namespace actord::client::top {

// The daemon of the tests was started at this time, by its own clock.
inline const absl::Time kStart = absl::FromCivil(
    absl::CivilSecond(2026, 1, 31, 8, 0, 0), absl::UTCTimeZone());

inline google::protobuf::Timestamp At(absl::Duration uptime) {
  google::protobuf::Timestamp time;
  time.set_seconds(absl::ToUnixSeconds(kStart + uptime));
  return time;
}

// A process that was started when the daemon had been up for `born`.
inline v1::Process MakeProcess(const std::string& pid, const std::string& type,
                               uint64_t steps,
                               absl::Duration born = absl::ZeroDuration()) {
  v1::Process process;
  process.set_pid(pid);
  process.set_process_type(type);
  process.set_method("run");
  process.set_state(v1::PROCESS_STATE_IDLE);
  process.set_priority(16);
  process.set_steps(steps);
  *process.mutable_create_time() = At(born);
  return process;
}

inline Sample MakeSample(absl::Duration uptime,
                         std::vector<v1::Process> processes = {}) {
  Sample sample;
  sample.status.set_version("0.1.0");
  sample.status.set_incarnation("run1");
  sample.status.set_state(v1::DAEMON_STATE_SERVING);
  sample.status.set_workers(4);
  *sample.status.mutable_start_time() = At(absl::ZeroDuration());
  *sample.status.mutable_uptime() = FromDuration(uptime);
  for (const char* name : {"counter", "order", "order.line"}) {
    sample.status.add_process_types()->set_name(name);
  }
  sample.status.mutable_counters()->set_processes_live(processes.size());
  sample.processes = std::move(processes);
  sample.complete = true;
  return sample;
}

}  // namespace actord::client::top
