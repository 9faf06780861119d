// Brings the request ids, the message ids and the dead letters of the store
// back before the runtime serves.
#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "runtime/core.h"

namespace actord::runtime {
namespace {

// An id that waits for its turn to be remembered.
struct Found {
  uint64_t expires_ns = 0;
  RequestIds::Key key;
  RememberedIds::Entry entry;
};

}  // namespace

bool Runtime::Core::AwaitBegin(const StoredRequest& request) {
  if (!request.entry.is_submitted) return false;
  const FoundProcess process = processes.FindAwake(request.entry.pid);
  if (!process || !process->init_due) return false;
  const RequestIds::Key key = request_ids.KeyOf(request.owner, request.id);
  const RequestIds::Role role =
      request_ids.Begin(key, request.entry.fingerprint,
                        [](const absl::StatusOr<Pid>& /*answer*/) {});
  ACTORD_ASSERT(role == RequestIds::Role::kFirst,
                "recovery_ids.cc: the store has each id once");
  process->KeepAdmitted([this, key](const absl::StatusOr<Pid>& begun) {
    request_ids.End(key, begun);
  });
  return true;
}

absl::Status Runtime::Core::RecoverIds() {
  std::array<RequestIds*, 2> ids = {&message_ids, &request_ids};
  std::array<std::vector<Found>, 2> found;
  absl::Status status =
      durable->store().ForEachRequest([&](StoredRequest&& stored) {
        if (AwaitBegin(stored)) return;
        const size_t kind = stored.is_submit ? 1 : 0;
        found[kind].push_back({stored.entry.expires_ns,
                               ids[kind]->KeyOf(stored.owner, stored.id),
                               {stored.entry.fingerprint, stored.entry.pid}});
      });
  if (!status.ok()) return status;
  const uint64_t now_ns = durable->NowNs();
  for (size_t kind = 0; kind < ids.size(); ++kind) {
    std::sort(found[kind].begin(), found[kind].end(),
              [](const Found& a, const Found& b) {
                return a.expires_ns < b.expires_ns;
              });
    for (const Found& one : found[kind]) {
      const uint64_t left_ns =
          one.expires_ns > now_ns ? one.expires_ns - now_ns : 0;
      ids[kind]->Restore(one.key, one.entry, left_ns);
    }
  }
  return status;
}

absl::Status Runtime::Core::RecoverLetters() {
  const uint64_t now_ns = durable->NowNs();
  const uint64_t unix_ns = clock.UnixNs();
  return durable->store().ForEachLetter(
      [&](uint64_t position, Letter&& letter) {
        Envelope* const message =
            lane.NewEnvelope(ACTORD_EVENT_MESSAGE, letter.mail.body->topic,
                             ToAbi(letter.mail.body->payload));
        message->from = ToAbi(letter.mail.from);
        const uint64_t age_ns = now_ns - std::min(now_ns, letter.at_ns);
        dead_letters.Restore(
            message, letter.to, static_cast<DeadLetterReason>(letter.reason),
            letter.owner, position, unix_ns - std::min(unix_ns, age_ns));
      });
}

}  // namespace actord::runtime
