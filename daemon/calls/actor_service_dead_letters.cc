// Dead letters (undelivered messages): listing, reading, resending and dropping
// them.
#include <utility>

#include "daemon/calls/actor_service.h"
#include "daemon/operations/find_process.h"
#include "daemon/wire/page_token.h"
#include "daemon/wire/proto_dead_letters.h"
#include "daemon/wire/proto_responses.h"

namespace actord::daemon {

absl::Status ActorService::ListDeadLetters(
    const Caller& caller, v1::ListDeadLettersRequest& request,
    v1::ListDeadLettersResponse& response) {
  const uint32_t incarnation = runtime_.options().incarnation;
  runtime::DeadLetterQuery query;
  query.by = caller.access().sees();
  uint64_t scope = 0;
  absl::Status status = ResolveName(runtime_, caller.access(), "to_pid",
                                    request.mutable_to_pid());
  if (status.ok()) {
    status = ReadListDeadLetters(request, incarnation, query, scope);
  }
  if (!status.ok()) return status;
  runtime::DeadLetterPage page = runtime_.dead_letters().List(query);
  const bool hides_payloads = caller.access().HidesPayloads();
  const OwnerLabels owner_labels = caller.access().owner_labels();
  for (runtime::DeadLetter& letter : page.letters) {
    if (hides_payloads) letter.message.payload = {};
    v1::DeadLetter* const proto = response.add_dead_letters();
    owner_labels.Write(letter.owner, proto);
    WriteDeadLetter(std::move(letter), incarnation, proto);
  }
  if (page.next != 0) {
    response.set_next_page_token(MakePageToken(page.next, scope));
  }
  return absl::OkStatus();
}

absl::Status ActorService::GetDeadLetter(const Caller& caller,
                                         v1::GetDeadLetterRequest& request,
                                         v1::GetDeadLetterResponse& response) {
  const uint32_t incarnation = runtime_.options().incarnation;
  const auto number = ReadDeadLetterId("id", request.id(), incarnation);
  if (!number.ok()) return number.status();
  auto letter = runtime_.dead_letters().Get(*number, caller.access().sees());
  if (!letter.ok()) return letter.status();
  if (caller.access().HidesPayloads()) letter->message.payload = {};
  caller.access().owner_labels().Write(letter->owner,
                                       response.mutable_dead_letter());
  WriteDeadLetter(*std::move(letter), incarnation,
                  response.mutable_dead_letter());
  return absl::OkStatus();
}

absl::Status ActorService::ResendDeadLetter(
    const Caller& caller, v1::ResendDeadLetterRequest& request,
    v1::ResendDeadLetterResponse& response) {
  const auto number =
      ReadDeadLetterId("id", request.id(), runtime_.options().incarnation);
  if (!number.ok()) return number.status();
  runtime::Pid to;
  if (!request.to().empty()) {
    const auto found =
        FindProcess(runtime_, caller.access(), "to", request.to());
    if (!found.ok()) return found.status();
    to = *found;
  }
  const auto pid =
      runtime_.dead_letters().Resend(*number, to, caller.access().sees());
  if (!pid.ok()) return pid.status();
  response.set_pid(runtime::FormatPid(*pid));
  response.set_receipt(ReceiptOf(*pid));
  return absl::OkStatus();
}

absl::Status ActorService::DropDeadLetters(
    const Caller& caller, v1::DropDeadLettersRequest& request,
    v1::DropDeadLettersResponse& response) {
  const auto numbers =
      ReadDropDeadLetters(request, runtime_.options().incarnation);
  if (!numbers.ok()) return numbers.status();
  uint64_t dropped = 0;
  for (const uint64_t number : *numbers) {
    absl::Status status =
        runtime_.dead_letters().Drop(number, caller.access().sees());
    // A letter that is no longer kept is no error.
    if (!status.ok() && !absl::IsNotFound(status)) return status;
    dropped += status.ok();
  }
  response.set_dropped_count(dropped);
  return absl::OkStatus();
}

}  // namespace actord::daemon
