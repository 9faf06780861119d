// Descriptions of live processes, of processes in quarantine and of held names,
// and the pages that lists return.
//
// Thread-safety: plain values. Ownership: values own their contents.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/process/listed/labels.h"
#include "runtime/process/listed/outside_caller.h"
#include "runtime/process/owner.h"
#include "runtime/process/pid.h"
#include "runtime/process/priority.h"

namespace actord::runtime {

// One call of a list function looks at this many entries at most, so that no
// lock is held for long.
inline constexpr size_t kMaxLookedAt = 1 << 16;

// kDormant: idle, and only in the store.
enum class ProcessState {
  kReady,
  kRunning,
  kBlocked,
  kIdle,
  kDormant,
  kQuarantined
};

struct ProcessInfo {
  Pid pid;
  Pid parent;  // empty: submitted from outside
  Owner owner = Owner::kNobody;
  std::string process_type;
  std::string method;
  ProcessState state = ProcessState::kReady;
  int priority = kDefaultPriority;
  uint64_t started_unix_ns = 0;
  uint64_t steps = 0;
  uint64_t mailbox_messages = 0;
  uint64_t mailbox_bytes = 0;  // memory held, in buffers of 64 bytes
  uint64_t yields = 0;         // outstanding
  bool cancel_requested = false;
  // Why it is in quarantine; "": it is not. Set only by Describe.
  std::string quarantine_reason;
  SharedLabels labels = {};  // null: none
  // The name that it has held longest comes first. In a list: only that one.
  std::vector<std::string> names = {};
  // "": a built-in type, or the process is dormant or in quarantine.
  std::string plugin = {};
  std::string plugin_version = {};
  // Set only by Describe, at most kMaxDescribed items each. This bounds the
  // names, too.
  static constexpr size_t kMaxDescribed = 100;
  std::vector<Pid> links = {};
  std::vector<Pid> monitors = {};
  std::vector<Pid> monitored_by = {};
  // The page of a list that begins with this process.
  uint32_t place = 0;
};

struct ProcessFilter {
  std::string process_type;  // "": any
  std::optional<ProcessState> state;
  Pid parent;  // empty: any
  std::vector<LabelSelector> labels = {};
  Owner by = Owner::kAny;  // only the processes that `by` sees
};

struct ProcessPage {
  // In the order of their places: volatile processes first, then durable ones.
  std::vector<ProcessInfo> processes;
  // The place where the next page begins; 0: this was the last page.
  uint32_t next_slot = 0;
};

struct NamePage {
  struct Entry {
    std::string name;
    Pid pid;
    Owner owner = Owner::kNobody;
  };
  std::vector<Entry> names;  // the longest held first
  // The beginning of the next page; 0: this was the last page.
  uint64_t next_sequence = 0;
};

// A call to a process that has no answer yet.
struct PendingCall {
  // The process that waits for the answer. Empty: a program outside waits, and
  // the next five fields are not set.
  Pid caller = {};
  Owner owner = Owner::kNobody;
  std::string caller_type = {};
  std::string caller_name = {};  // one of its names; "": it has none
  ProcessState caller_state = ProcessState::kReady;
  uint64_t caller_yields = 0;  // outstanding, calls included
  // The program outside. nullopt: a process waits, or the program is not known,
  // or has an owner that the asker does not see.
  std::optional<OutsideCaller> outside = {};
  // The process that owes the answer. If the asker does not see the process, or
  // it has just ended, only its PID is set. Empty: a command owes the answer.
  Pid callee = {};
  std::string callee_type = {};
  std::string callee_name = {};
  std::optional<ProcessState> callee_state = {};
  // The command of a plugin, or of the daemon itself.
  std::string command = {};
  std::string plugin = {};
  uint64_t begun_unix_ns = 0;
  uint64_t deadline_unix_ns = 0;  // 0: none, or it is not known
};

struct CallFilter {
  Pid caller;  // empty: any
  Pid callee;  // empty: any
  // Only calls that began at this time or before.
  uint64_t begun_until_unix_ns = UINT64_MAX;
  // Also commands that run in the daemon. Those of the daemon itself, which are
  // mostly timers, only with a caller.
  bool with_commands = false;
  // Only calls of processes that `by` sees, and calls from outside to processes
  // that `by` sees.
  Owner by = Owner::kAny;
};

struct CallPage {
  std::vector<PendingCall> calls;  // in no order
  // The place where the next page begins; 0: this was the last page.
  uint64_t next_place = 0;
};

// Why a durable process is in quarantine.
enum class QuarantineCause : uint8_t {
  kNoType,       // no plugin has its type, or the type does not fit
  kNotRestored,  // its state could not be restored
  kCrashed,      // its steps have crashed the daemon
};

struct QuarantineEntry {
  Pid pid;
  std::string process_type;
  Owner owner = Owner::kNobody;
  QuarantineCause cause = QuarantineCause::kNotRestored;
  std::string why;
  uint64_t since_unix_ns = 0;
  // The plugin whose code could not restore the process, or has crashed. "":
  // there is none.
  std::string plugin;
  std::string version;
  // For kCrashed: "SIGSEGV", and the number of crashes.
  std::string signal;
  uint32_t crashes = 0;
  // The place in the list; 0: it has none yet.
  uint64_t sequence = 0;
  // The state at the time of the listing.
  std::string name = {};  // one of its names; "": it has none
  uint64_t mailbox_messages = 0;
};

struct QuarantineFilter {
  std::string process_type;  // "": any
  Owner by = Owner::kAny;    // only the processes that `by` sees
};

struct QuarantinePage {
  std::vector<QuarantineEntry> entries;  // longest in quarantine first
  // The beginning of the next page; 0: this was the last page.
  uint64_t next_sequence = 0;
};

}  // namespace actord::runtime
