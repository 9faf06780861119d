// One line of the history of a durable process: an event, a step, an effect, or
// an outstanding wait of the process.
//
// Thread-safety: plain values. Ownership: values own their contents.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/process/payload.h"
#include "runtime/process/pid.h"

namespace actord::runtime {

// The comments name the fields with a special meaning.
enum class HistoryKind : uint8_t {
  // The records before `position` are gone; `step` was the last step in them.
  kBegins,
  // The records up to `position` were removed while the history was read.
  kGap,
  kSubmitted,      // name: type, detail: method, peer: parent, payload: input
  kSpawned,        // the same for a child that a step has spawned
  kStarted,        // Init has returned OK
  kDaemonStarted,  // detail: the incarnation
  // detail: verdict; code and message: why it failed. If the process begins
  // again, detail also has the method, and payload has the input
  kStep,
  // Events of the step before them. Their time is that of their arrival.
  kMessage,  // name: topic, peer: sender
  kCall,     // the same, with an answer expected
  kCompletion,
  kExit,  // peer has ended; code and message: how
  kCancelSeen,
  // Effects of the step in front of them.
  kSend,   // name: topic, peer: receiver
  kSpawn,  // peer: child, name: type, detail: method
  kYield,  // name: command
  kCallOut,
  kReply,
  kMonitor,
  kDemonitor,
  kLink,
  kUnlink,
  kCancelYield,
  // Between steps.
  kCommandDone,  // a built-in command was carried out or refused
  kAttempt,      // a worker gets the task
  kDropped,      // detail: why messages to the process were dropped
  kCancelled,    // a cancel was requested; message: the reason
  kTerminated,
  kUpgraded,  // detail: the old and the new plugin
  kEnded,     // detail: how, payload: result
  // Outstanding work of the process at `position`.
  kPendingYield,
  kPendingCall,  // it has called peer
  kOwedCall,     // it owes peer an answer
  kWaiting,      // a message or another event in the mailbox
  kMoreWaiting,  // there are more events than are shown
  kUpToHere,     // everything before `position` was shown
  // An effect, as kSend.
  kPublish,  // name: topic
  kLog,      // name: level, payload: text
};

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
