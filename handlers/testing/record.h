// The data of a harness about a process and an outstanding yield.
//
// Thread-safety: none. Ownership: each owns its content, except the
// descriptors, which the plugin owns.
#pragma once

#include <actord/linked_failure.h>
#include <actord/testing.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "handlers/testing/effect.h"
#include "handlers/testing/history.h"

namespace actord::testing {

struct Record {
  enum class Phase {
    // The step of the parent has not ended.
    kReserved,
    // The Init of the process is next.
    kStarting,
    kLive,
    kEnded,
    // A PID of the test. The record keeps its messages for the test.
    kProbe
  };

  Pid pid;
  Pid parent;
  Phase phase = Phase::kReserved;
  // Null for a probe, or for an unknown type (`outcome.status` then says so).
  const actord_process_type* type = nullptr;
  uint32_t method = 0;
  int priority = ACTORD_PRIORITY_DEFAULT;
  // The spawn has said that the process is not durable.
  bool is_volatile = false;
  OwnedPayload input;
  StateMemory state{nullptr, Freed{}};
  // Data for the checks of a durable type; null: no check has begun.
  std::unique_ptr<History> history;
  // Completions and cancels are handled before messages.
  std::deque<OwnedEvent> urgent;
  std::deque<OwnedEvent> messages;
  // The events that the former life of the process has handed on, and that the
  // first step gets.
  std::vector<OwnedEvent> unseen;
  // The calls that steps have got.
  std::set<actord_completion> calls_seen;
  Tag next_tag = 1;
  // The processes that this process monitors, by tag.
  std::map<Tag, Pid> monitors;
  std::set<Pid> links;
  // Outstanding yields by tag, with the handle that completes each.
  std::map<Tag, actord_completion> yields;
  bool blocked = false;
  bool step_due = false;
  bool cancel_seen = false;
  bool cancel_requested = false;
  // The process.spawn to complete when Init has returned; 0: none.
  actord_completion admitted = 0;
  // How that process.spawn ties the child to its parent.
  bool admitted_link = false;
  bool admitted_monitor = false;
  uint64_t steps = 0;
  std::optional<Outcome> outcome;
  // The first failure, if a link has ended this process.
  std::optional<detail::FirstFailure> cause;

  [[nodiscard]] bool IsLive() const {
    return phase == Phase::kStarting || phase == Phase::kLive;
  }
  [[nodiscard]] bool IsReady() const {
    if (phase == Phase::kStarting) return true;
    if (phase != Phase::kLive) return false;
    return step_due || !urgent.empty() || (!blocked && !messages.empty());
  }
  // True if an urgent event asks the process to end or ends it.
  [[nodiscard]] bool IsAskedToEnd() const {
    return std::any_of(urgent.begin(), urgent.end(),
                       [](const OwnedEvent& event) {
                         return event.type != ACTORD_EVENT_COMPLETION;
                       });
  }
  // True if there is an urgent event that a step will see, even if other events
  // arrive. The end of a linked process does not count, because the step may
  // have unlinked that process.
  [[nodiscard]] bool HasUrgentForStep() const {
    return std::any_of(
        urgent.begin(), urgent.end(),
        [](const OwnedEvent& event) { return event.type != kLinkedEnd; });
  }
  // True if `tag` is the tag of a yield whose completion no step has seen.
  [[nodiscard]] bool HasOutstanding(Tag tag) const {
    return yields.contains(tag) ||
           std::any_of(urgent.begin(), urgent.end(),
                       [tag](const OwnedEvent& event) {
                         return event.type == ACTORD_EVENT_COMPLETION &&
                                event.tag == tag;
                       });
  }
  [[nodiscard]] std::string_view type_name() const {
    return type == nullptr ? std::string_view("?") : type->name;
  }
};

// An outstanding yield.
struct Outstanding {
  HeldYield yield;
  // True if the test completes the yield.
  bool held = false;
  // The called process, if the yield is a call.
  Pid callee;
};

}  // namespace actord::testing
