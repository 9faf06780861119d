// The notes about a step: its events, its effects, and the way in which it
// returned. Without contents: topics, commands, sizes and PIDs.
//
// Thread-safety: plain values. Ownership: values own their contents.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/process/listed/history_kind.h"
#include "runtime/process/pid.h"

namespace actord::runtime {

// An event or an effect of a step.
struct NotedItem {
  HistoryKind kind = HistoryKind::kMessage;
  int32_t code = 0;       // of a completion, an exit or a reply; ACTORD_*
  Pid peer = {};          // sender or receiver; empty: there is none
  uint64_t tag = 0;       // of a yield, a call or a monitor
  uint64_t bytes = 0;     // of the payload
  std::string name = {};  // topic, command or level; cut to kMaxNameBytes
};

struct NotedStep {
  // Further events and effects are counted only.
  static constexpr size_t kMaxEvents = 16;
  static constexpr size_t kMaxEffects = 16;
  static constexpr size_t kMaxNameBytes = 64;

  uint64_t step = 0;         // its number, from 1 on
  uint64_t unix_ns = 0;      // when it began; 0: not noted
  uint64_t took_ns = 0;      // 0: not noted
  const char* verdict = "";  // as in a history; lives as long as the program
  // The events, and then the effects.
  std::vector<NotedItem> items = {};
  uint64_t events_left_out = 0;
  uint64_t effects_left_out = 0;

  // Its memory.
  [[nodiscard]] size_t ChargeBytes() const {
    size_t bytes = sizeof(NotedStep);
    for (const NotedItem& item : items) {
      bytes += sizeof(NotedItem) + item.name.size();
    }
    return bytes;
  }
};

}  // namespace actord::runtime
