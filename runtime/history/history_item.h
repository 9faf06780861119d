// One line of the history of a durable process: an event, a step, an effect, or
// an outstanding wait of the process.
//
// Thread-safety: plain values. Ownership: values own their contents.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/process/listed/history_kind.h"
#include "runtime/process/payload.h"
#include "runtime/process/pid.h"

namespace actord::runtime {

struct HistoryItem {
  HistoryKind kind = HistoryKind::kBegins;
  uint64_t position = 0;
  uint64_t unix_ns = 0;  // 0: unknown
  uint64_t step = 0;
  Pid peer = {};
  uint64_t tag = 0;
  std::string name = {};
  std::string detail = {};
  Payload payload = {};
  uint64_t payload_bytes = 0;  // before it was cut
  int32_t code = 0;            // an ACTORD_* status; 0: no failure
  std::string message = {};
  uint64_t deadline_unix_ns = 0;  // 0: none
  uint32_t attempts = 0;
  std::string worker = {};
};

}  // namespace actord::runtime
