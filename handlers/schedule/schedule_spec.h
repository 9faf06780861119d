// The input of a schedule: its due times, its action, and the treatment of
// missed times.
//
// Thread-safety: plain values and pure functions.
#pragma once

#include <actord/result.h>
#include <actord/values.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "handlers/schedule/cron_expression.h"

namespace actord::handlers {

// How a schedule treats the due times that it has missed. A due time is missed
// if it has passed by more than `grace`, or if another due time has followed
// it.
enum class CatchUp {
  kSkip,  // runs nothing for them
  kOnce,  // runs once for all of them
  kAll,   // runs once for each of the last 1,000
};

struct ScheduleSpec {
  // Maximum size of the command of a run. The image of a schedule contains it.
  static constexpr size_t kMaxCommandBytes = size_t{64} * 1024;

  // nullopt: `every` is set.
  std::optional<CronExpression> cron = std::nullopt;
  Duration every{0};
  CatchUp catch_up = CatchUp::kSkip;
  Duration grace{std::chrono::minutes(1)};
  bool paused = false;
  // The command of a run, process.spawn or process.send, and its payload.
  std::string command;
  std::string payload;
  // The receiver of process.send: the text of a PID, or @ and a name.
  std::string send_to;
  // For people: the cron expression or the interval; the process type or the
  // receiver.
  std::string when;
  std::string what;
};

// INVALID_ARGUMENT names the wrong field, and the right values.
//
//   {"cron": "*/5 * * * *", "catch_up": "skip", "grace_ms": 60000,
//    "paused": false,
//    "submit": {"type": "report", "method": "run", "input": any,
//               "name": "nightly", "priority": 16, "keep_result": false}}
//
// or "every_ms": 1000 to 31622400000 (366 days) instead of "cron", and "send":
// {"to": PID or "@NAME", "topic": text, "payload": any} instead of "submit".
// The example shows the defaults of all optional fields except "input" and
// "name", which have none.
Result<ScheduleSpec> ParseScheduleSpec(std::string_view json,
                                       size_t max_payload_bytes = SIZE_MAX);

}  // namespace actord::handlers
