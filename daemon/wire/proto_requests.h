// Messages of actord.v1 into the runtime's terms.
//
// Every field of a request is checked here, before anything is done. An error
// is INVALID_ARGUMENT and names the field.
//
// Thread-safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "actord/v1/actor_service.pb.h"
#include "runtime/runtime.h"

namespace actord::daemon {

// Functions that take a request by pointer move the payloads out of it.

absl::StatusOr<runtime::SubmitRequest> ReadSubmit(
    v1::SubmitRequest* request, const runtime::PayloadLimit& payload_limit);
// Two requests with the same fingerprint would start the same process.
uint64_t Fingerprint(const runtime::SubmitRequest& request);

// Who is addressed: a PID, or whoever holds a name.
struct Address {
  runtime::Pid pid;
  std::string name;  // if `pid` is empty
};
uint64_t Fingerprint(const Address& to, const runtime::Message& message);
// A PID, or @ and a name. `field` names the field for the error.
absl::StatusOr<Address> ReadAddress(std::string_view field,
                                    const std::string& text);
// The process. NAME_NOT_FOUND.
absl::StatusOr<runtime::Pid> Resolve(const runtime::Runtime& runtime,
                                     const Address& address);
// Both in one.
absl::StatusOr<runtime::Pid> FindProcess(const runtime::Runtime& runtime,
                                         std::string_view field,
                                         const std::string& text);

// Fills `to` and `message`, whatever is in them. What was in `message` goes
// into the request where something is moved out of that, so memory is used
// again.
absl::Status ReadSend(v1::SendRequest* request,
                      const runtime::PayloadLimit& payload_limit, Address& to,
                      runtime::Message& message);
absl::Status ReadCall(v1::CallRequest* request,
                      const runtime::PayloadLimit& payload_limit, Address& to,
                      runtime::Message& message);
// Whether a request of a stream has no more items in `field` than it may.
absl::Status CheckBatch(std::string_view field, int items);
// Whether a conflict of names is to be answered by delivering.
absl::StatusOr<bool> ReadNameConflict(const v1::SubmitRequest& request);

// `field` names the field for the error.
absl::StatusOr<runtime::Pid> ReadPid(std::string_view field,
                                     const std::string& text);
// Zero if there is none.
absl::StatusOr<absl::Duration> ReadCancelDeadline(
    const v1::CancelRequest& request);
// `reason` of Cancel and Terminate.
absl::Status CheckReason(const std::string& reason);

struct Completion {
  runtime::TaskToken token;
  runtime::YieldResult result;
};
absl::StatusOr<Completion> ReadCompleteYield(
    v1::CompleteYieldRequest* request,
    const runtime::PayloadLimit& payload_limit);

// Where a list begins and how long a page is. `scope` makes the next page's
// token (page_token.h).
struct Paging {
  uint64_t position = 0;
  size_t page_size = 0;
  uint64_t scope = 0;
};
// Fills `paging`; `scope` is a hash over the list, its filter and the daemon's
// incarnation.
absl::Status ReadPaging(int32_t page_size, const std::string& page_token,
                        uint64_t scope, Paging& paging);
absl::Status ReadListProcesses(const v1::ListProcessesRequest& request,
                               uint32_t incarnation,
                               runtime::ProcessFilter& filter, Paging& paging);
absl::Status ReadListYields(const v1::ListYieldsRequest& request,
                            uint32_t incarnation, runtime::YieldFilter& filter,
                            Paging& paging);

absl::Status ReadListNames(const v1::ListNamesRequest& request,
                           uint32_t incarnation, Paging& paging);

struct ShutdownOrder {
  runtime::ShutdownMode mode = runtime::ShutdownMode::kDrain;
  absl::Duration timeout;
};
absl::StatusOr<ShutdownOrder> ReadShutdown(const v1::ShutdownRequest& request,
                                           absl::Duration default_timeout);

}  // namespace actord::daemon
