// Translates the requests of actord.v1 for the runtime.
//
// Every field of a request is checked here, before the request has any effect.
// An error is INVALID_ARGUMENT and names the field.
//
// Thread-safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "actord/v1/actor_service.pb.h"
#include "daemon/wire/proto_check.h"
#include "runtime/process/fingerprint.h"
#include "runtime/runtime.h"
#include "runtime/system/sip_hash.h"

namespace actord::daemon {

// A function that takes a pointer to a request moves the payloads out of the
// request.

absl::StatusOr<runtime::SubmitRequest> ReadSubmit(
    v1::SubmitRequest* request, const runtime::PayloadLimit& payload_limit);
// Returns a hash of the request. Requests with the same fingerprint count as
// the same request, which would start the same process. The store keeps
// fingerprints, so the hashed fields and their order must never change.
runtime::Fingerprint Fingerprint(const runtime::SipKey& key,
                                 const runtime::SubmitRequest& request);
runtime::Fingerprint Fingerprint(const runtime::SipKey& key, const Address& to,
                                 const runtime::Message& message);

// Fill `to`, which is a new Address, and `message`, regardless of its old
// contents. Where a text moves out of the request, the old text of `message`
// moves in, so that its memory is reused. A message to a group has no id.
absl::Status ReadSend(v1::SendRequest* request,
                      const runtime::PayloadLimit& payload_limit, Address& to,
                      runtime::Message& message);
absl::Status ReadCall(v1::CallRequest* request,
                      const runtime::PayloadLimit& payload_limit, Address& to,
                      runtime::Message& message);
// Reads the process that a call to `to` starts if no process holds the name.
// Precondition: the request has it. `has_id`: the call has a message_id, so the
// process must be durable. The owner is not set.
absl::StatusOr<runtime::SubmitRequest> ReadStartIfAbsent(
    v1::CallRequest* request, const runtime::PayloadLimit& payload_limit,
    const Address& to, bool has_id);
// Checks that a stream request does not have too many items in `field`.
absl::Status CheckBatch(std::string_view field, int items);
// Returns true if the messages of the request are to be delivered to the holder
// of the name when the name is taken.
absl::StatusOr<bool> ReadNameConflict(const v1::SubmitRequest& request);

// Returns zero if the request has no deadline.
absl::StatusOr<absl::Duration> ReadCancelDeadline(
    const v1::CancelRequest& request);
// Checks the field `reason` of Cancel and Terminate.
absl::Status CheckReason(const std::string& reason);

struct Completion {
  runtime::TaskToken token;
  runtime::YieldResult result;
};
absl::StatusOr<Completion> ReadCompleteYield(
    v1::CompleteYieldRequest* request,
    const runtime::PayloadLimit& payload_limit);

// The position where a page of a list begins, and the number of its items. The
// token of the next page is made with `scope` (page_token.h).
struct Paging {
  uint64_t position = 0;
  size_t page_size = 0;
  uint64_t scope = 0;
};
// Fills `paging`. `scope` is a hash over the list, its filter and the daemon's
// incarnation. The `by` of a filter is part of the filter, and is set by the
// caller: a token of another owner is refused.
absl::Status ReadPaging(int32_t page_size, const std::string& page_token,
                        uint64_t scope, Paging& paging);
// Fills `selectors` with the field `labels` of a list or a watch.
absl::Status ReadLabelSelectors(
    const google::protobuf::RepeatedPtrField<std::string>& labels,
    std::vector<runtime::LabelSelector>& selectors);
// True: the request lists ended processes, for ReadListEnded.
inline bool IsForEnded(const v1::ListProcessesRequest& request) {
  return request.state() == v1::PROCESS_STATE_ENDED;
}
// Fills all but the `owner` and the `by` of the filter, which are set before.
absl::Status ReadListEnded(const v1::ListProcessesRequest& request,
                           uint32_t incarnation, runtime::EndedFilter& filter,
                           Paging& paging);
absl::Status ReadListProcesses(const v1::ListProcessesRequest& request,
                               uint32_t incarnation,
                               runtime::ProcessFilter& filter, Paging& paging);

absl::Status ReadListYields(const v1::ListYieldsRequest& request,
                            uint32_t incarnation, runtime::YieldFilter& filter,
                            Paging& paging);

// `by`: the list has the names that `by` sees.
absl::Status ReadListNames(const v1::ListNamesRequest& request,
                           uint32_t incarnation, runtime::Owner by,
                           Paging& paging);

struct ShutdownOrder {
  runtime::ShutdownMode mode = runtime::ShutdownMode::kDrain;
  absl::Duration timeout;
  runtime::DurableAtEnd durable = runtime::DurableAtEnd::kKeep;
};
absl::StatusOr<ShutdownOrder> ReadShutdown(const v1::ShutdownRequest& request,
                                           absl::Duration default_timeout);

}  // namespace actord::daemon
