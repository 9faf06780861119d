// The kinds of lines in the history of a process (history_item.h), and in the
// notes about its steps (noted_step.h).
//
// Thread-safety: a plain value.
#pragma once

#include <cstdint>

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

}  // namespace actord::runtime
