// An event and an effect, as a harness keeps them; the memory of a state.
//
// Thread-safety: none. Ownership: each owns its content.
#pragma once

#include <actord/linked_failure.h>
#include <actord/testing.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
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

inline OwnedEvent OwnedEventOf(const actord_event& event) {
  return {.type = event.type,
          .status = ToCode(event.status),
          .tag = event.tag,
          .from = event.from,
          .topic = std::string(detail::View(event.topic)),
          .payload = OwnedPayload(Payload(event.payload)),
          .call = event.call,
          .reason = event.reason,
          .cause = std::nullopt};
}

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
    kCancelYield,
    kPublish,
    kLog
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
  // The level of a line of the log.
  int32_t level = 0;
  // The priority of a spawn, whose type is `name`, method `holder` and input
  // `payload`.
  int priority = 0;
};

struct Freed {
  std::align_val_t alignment;
  void operator()(std::byte* memory) const {
    ::operator delete(memory, alignment);
  }
};

using StateMemory = std::unique_ptr<std::byte, Freed>;

}  // namespace actord::testing
