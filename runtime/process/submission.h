// A request to start a process, and its answer.
//
// Thread-safety: plain values. Ownership: they own their contents.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/process/fingerprint.h"
#include "runtime/process/listed/labels.h"
#include "runtime/process/owner.h"
#include "runtime/process/payload.h"
#include "runtime/process/pid.h"
#include "runtime/process/priority.h"

namespace actord::runtime {

// The id with which a client marks a request, so that a repeat of the request
// does nothing (request_ids.h).
struct RequestId {
  std::string id = {};           // "": none
  Fingerprint fingerprint = {};  // of the request's content
  Owner owner = Owner::kNobody;  // of the id
};

struct RequestIdBounds {
  // How long an id is remembered. UINT64_MAX: for ever.
  uint64_t ttl_ns = 0;
  // Maximum number of remembered ids.
  size_t max = 0;
};

// How process.spawn of a durable process starts a durable child.
struct DurableSpawn {
  uint64_t yield = 0;  // tag of the parent's yield
  bool link = false;
  bool monitor = false;  // with the tag of the yield
  // Called in the turn of the parent when the child can be found, before it
  // begins.
  std::function<void(const Pid&)> begins = {};
};

struct SubmitRequest {
  std::string process_type;
  std::string method;  // "": the type's first
  Payload input;
  std::vector<Message> messages;  // put into the mailbox before the first step
  int priority = kDefaultPriority;  // 0 (lowest) to 31 (highest)
  std::string name = {};            // held from the beginning; "": none
  Labels labels = {};
  // The owner, if the process has no live parent; otherwise the owner is that
  // of the parent. Not kAny.
  Owner owner = Owner::kNobody;
  bool durable = false;  // survives the daemon; refused if impossible
  // Survives the daemon if there is a store, and the type can be durable.
  bool durable_if_possible = false;
  // The next two are empty for most processes, and then cost nothing. `spawn`:
  // for a durable process that process.spawn of a durable parent starts.
  std::optional<DurableSpawn> spawn = {};
  // Kept by the record of the request, if it has one.
  std::optional<RequestId> request_id = {};
  // Why the input was not copied, which refuses the request; OK: it was copied.
  absl::Status input_error = {};
};

// The result of a Submit.
struct Submitted {
  Pid pid;
  // True: no process was started, because `pid` holds the name; `pid` has the
  // messages.
  bool delivered = false;
};

}  // namespace actord::runtime
