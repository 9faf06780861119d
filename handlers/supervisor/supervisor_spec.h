// The input of a supervisor: its children, and how and how often they are
// restarted.
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
#include <vector>

namespace actord::handlers {

// The children that the end of one child concerns.
enum class Strategy {
  kOneForOne,   // only that child
  kOneForAll,   // all children
  kRestForOne,  // that child and the children behind it
};

// The ends of a child after which it is restarted.
enum class Restart {
  kPermanent,  // each
  kTransient,  // each failure: neither Done nor cancelled
  kTemporary,  // none; the child is forgotten
};

struct ChildSpec {
  std::string id;
  std::string type;
  Restart restart = Restart::kPermanent;
  // Time from the cancel to the terminate. 0: terminated at once; nullopt:
  // never.
  std::optional<Duration> stop_timeout;
  std::string spawn;  // the payload of the process.spawn that starts it
  // Time from the start until Init has returned; nullopt: no limit. A start
  // that takes longer is given up and fails with DEADLINE_EXCEEDED.
  std::optional<Duration> start_timeout = std::nullopt;
  // Bit c: after an end or a failed start with the code c the child is not
  // restarted, with any value of `restart`.
  uint32_t final_codes = 0;
};

struct Backoff {
  Duration initial{std::chrono::milliseconds(100)};
  Duration max{std::chrono::seconds(30)};
  double jitter = 0.2;  // 0 to 1: up to this part of a pause is left out
};

struct SupervisorSpec {
  static constexpr size_t kMaxChildren = 1000;
  // Maximum depth of supervisors within each other in one input, the outer one
  // included.
  static constexpr int kMaxLevels = 16;

  Strategy strategy = Strategy::kOneForOne;
  // More restarts than this within `period` are too many. At most 1,000.
  int intensity = 3;
  Duration period{std::chrono::seconds(5)};
  Backoff backoff;
  std::vector<ChildSpec> children;  // in the order of their starts
};

// INVALID_ARGUMENT names the wrong field, and the right values. The input of a
// nested supervisor is checked by the same rules, down to kMaxLevels levels. A
// child whose `spawn` would have more than `max_spawn_bytes` is refused.
//
//   {"strategy": "one_for_one", "intensity": 3, "period_ms": 5000,
//    "backoff": {"initial_ms": 100, "max_ms": 30000, "jitter": 0.2},
//    "children": [
//      {"id": "db", "type": "database", "method": "run", "input": any,
//       "priority": 16, "name": "db", "restart": "permanent",
//       "stop_timeout_ms": 5000, "start_timeout_ms": "infinity",
//       "final_codes": []}]}
//
// A child needs "id" and "type". The other values shown are the defaults,
// except that "stop_timeout_ms" of a nested supervisor is "infinity".
Result<SupervisorSpec> ParseSupervisorSpec(std::string_view json,
                                           size_t max_spawn_bytes = SIZE_MAX);
Result<ChildSpec> ParseChildSpec(std::string_view json,
                                 size_t max_spawn_bytes = SIZE_MAX);

}  // namespace actord::handlers
