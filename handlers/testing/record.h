// The data of a harness about a process, an event, and an outstanding yield.
//
// Thread-safety: none. Ownership: each owns its content, except the
// descriptors, which the plugin owns.
#pragma once

#include <actord/linked_failure.h>
#include <actord/testing.h>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <string>

namespace actord::testing {

inline OwnedPayload CopyOf(const actord_payload* payload) {
  return payload == nullptr ? OwnedPayload() : OwnedPayload(Payload(*payload));
}

// An event that owns its bytes.
struct OwnedEvent {
  uint32_t type = 0;
  Code status = Code::kOk;
  Tag tag = 0;
  Pid from;
  std::string topic;
  OwnedPayload payload;
  actord_completion call = 0;  // set for a message that wants an answer
  uint32_t reason = 0;         // set for an exit
  std::optional<detail::FirstFailure> cause = {};  // set for kLinkedEnd
};

// Event type for the end of a linked process. The event ends this process,
// which never sees the event.
inline constexpr uint32_t kLinkedEnd = UINT32_MAX;
// Event type for a terminate by another process. The event ends this process,
// which never sees the event.
inline constexpr uint32_t kTerminate = UINT32_MAX - 1;

// An effect of a step. The harness keeps it until the step has returned.
struct Effect {
  enum class Kind {
    kYield,
    kSend,
    kSpawn,
    kCall,
    kReply,
    kMonitor,
    kDemonitor,
    kLink,
    kUnlink,
    kCancelYield
  };

  Kind kind = Kind::kSend;
  // The other process: the receiver, the child, or the watched process.
  Pid to;
  // The tag of a yield, call or monitor; for a reply, the call that it answers.
  Tag tag = 0;
  // The status of a reply.
  Code status = Code::kOk;
  // The command of a yield; for every other effect, the topic.
  std::string name;
  // The name to call, for a call without `to`.
  std::string holder;
  OwnedPayload payload;
  // The timeout of a yield; 0: the step has given none.
  uint64_t timeout_ns = 0;
  // The work policy of a yield.
  WorkPolicy policy;
};

struct Freed {
  std::align_val_t alignment;
  void operator()(std::byte* memory) const {
    ::operator delete(memory, alignment);
  }
};

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
  OwnedPayload input;
  std::unique_ptr<std::byte, Freed> state{nullptr, Freed{}};
  // Completions and cancels are handled before messages.
  std::deque<OwnedEvent> urgent;
  std::deque<OwnedEvent> messages;
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
