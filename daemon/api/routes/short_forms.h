// The forms of the calls of the short routes (short_routes.h).
//
// Thread-safety: one thread at a time.
#pragma once

#include <google/protobuf/descriptor.h>

#include <memory>
#include <string>
#include <vector>

#include "daemon/api/call_form.h"

namespace actord::daemon {

// The texts of a request that its form needs.
struct ShortParts {
  const google::protobuf::ServiceDescriptor& service;
  // The decoded segments of the path after /v1/processes or /v1/yields.
  std::vector<std::string> segments;
  std::string query;
  std::string content_type;  // "": there is none
  // The values of all headers Idempotency-Key.
  std::vector<std::string> keys;
  // The client has said how long it is willing to wait.
  bool waits = false;
  // The client wants server-sent events, if the route has them.
  bool wants_events = false;
};

// Reads the outcome of the new process, too, if the client waits.
std::unique_ptr<CallForm> SubmitForm(ShortParts parts);
std::unique_ptr<CallForm> GetProcessForm(ShortParts parts);
std::unique_ptr<CallForm> ListProcessesForm(ShortParts parts);
std::unique_ptr<CallForm> OutcomeForm(ShortParts parts);
std::unique_ptr<CallForm> SendForm(ShortParts parts);
std::unique_ptr<CallForm> CallProcessForm(ShortParts parts);
std::unique_ptr<CallForm> CancelForm(ShortParts parts);
// The last segment is "result" or "error".
std::unique_ptr<CallForm> CompleteForm(ShortParts parts);
// Lists: each field of the request may be a parameter of the query.
std::unique_ptr<CallForm> ListYieldsForm(ShortParts parts);
std::unique_ptr<CallForm> ListCallsForm(ShortParts parts);

}  // namespace actord::daemon
