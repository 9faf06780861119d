// What a harness keeps of a process, of an event, and of an outstanding yield.
//
// Thread-safety: none. Ownership: each owns what it holds, but for the
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

// An event with its bytes.
struct OwnedEvent {
  uint32_t type = 0;
  Code status = Code::kOk;
  Tag tag = 0;
  Pid from;
  std::string topic;
  OwnedPayload payload;
  actord_completion call = 0;  // of a message that wants an answer
  uint32_t reason = 0;         // of an exit
  std::optional<detail::FirstFailure> cause = {};  // of kLinkedEnd
};

// The end of a linked process; the process that it ends never sees it.
inline constexpr uint32_t kLinkedEnd = UINT32_MAX;
// A terminate of another process, likewise.
inline constexpr uint32_t kTerminate = UINT32_MAX - 1;

// An effect of a step, until the step has returned.
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
  Pid to;       // whom it is about: the receiver, the child, the watched one
  Tag tag = 0;  // of a yield, call or monitor; of a reply: the call
  Code status = Code::kOk;  // of a reply
  std::string name;         // of a yield: the command; otherwise: the topic
  std::string holder;       // of a call without `to`: the name
  OwnedPayload payload;
  uint64_t timeout_ns = 0;  // of a yield; 0: none given
  WorkPolicy policy;        // of a yield
};

struct Freed {
  std::align_val_t alignment;
  void operator()(std::byte* memory) const {
    ::operator delete(memory, alignment);
  }
};

struct Record {
  enum class Phase {
    kReserved,  // its parent's step has not ended
    kStarting,  // its Init comes first
    kLive,
    kEnded,
    kProbe  // of the test's own; keeps what it is sent
  };

  Pid pid;
  Pid parent;
  Phase phase = Phase::kReserved;
  // Null: of a probe, or unknown (then `outcome.status` says so).
  const actord_process_type* type = nullptr;
  uint32_t method = 0;
  int priority = ACTORD_PRIORITY_DEFAULT;
  OwnedPayload input;
  std::unique_ptr<std::byte, Freed> state{nullptr, Freed{}};
  // Completions and cancels come before messages.
  std::deque<OwnedEvent> urgent;
  std::deque<OwnedEvent> messages;
  Tag next_tag = 1;
  std::map<Tag, Pid> monitors;  // what it watches
  std::set<Pid> links;
  // Outstanding: by tag, what the completion is told by.
  std::map<Tag, actord_completion> yields;
  bool blocked = false;
  bool step_due = false;
  bool cancel_seen = false;
  bool cancel_requested = false;
  // Whom to tell that Init has returned: a process.spawn; 0: nobody.
  actord_completion admitted = 0;
  // How that ties it to its parent, from then on.
  bool admitted_link = false;
  bool admitted_monitor = false;
  uint64_t steps = 0;
  std::optional<Outcome> outcome;
  // What has ended it, if that came along a link.
  std::optional<detail::FirstFailure> cause;

  [[nodiscard]] bool IsLive() const {
    return phase == Phase::kStarting || phase == Phase::kLive;
  }
  [[nodiscard]] bool IsReady() const {
    if (phase == Phase::kStarting) return true;
    if (phase != Phase::kLive) return false;
    return step_due || !urgent.empty() || (!blocked && !messages.empty());
  }
  // By something that its next turn will see.
  [[nodiscard]] bool IsAskedToEnd() const {
    return std::any_of(urgent.begin(), urgent.end(),
                       [](const OwnedEvent& event) {
                         return event.type != ACTORD_EVENT_COMPLETION;
                       });
  }
  // Events that a step will see, whatever else comes. The end of a linked
  // process is none: the step may have unlinked that process.
  [[nodiscard]] bool HasUrgentForStep() const {
    return std::any_of(
        urgent.begin(), urgent.end(),
        [](const OwnedEvent& event) { return event.type != kLinkedEnd; });
  }
  // A yield whose completion no step has seen.
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
  bool held = false;  // for the test
  Pid callee;         // of a call
};

}  // namespace actord::testing
