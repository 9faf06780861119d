// Brings the request ids, the message ids, the dead letters, the labels and the
// results of the store back before the runtime serves.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/core.h"
#include "runtime/store/state_keys.h"

namespace actord::runtime {
namespace {

DeadLetterReason LetterReasonOf(records::DropReason reason) {
  switch (reason) {
    case records::DropReason::kUnknownProcess:
      return DeadLetterReason::kUnknownProcess;
    case records::DropReason::kEnded:
      return DeadLetterReason::kEnded;
    case records::DropReason::kMailboxFull:
      break;
    case records::DropReason::kDroppedAtEnd:
      return DeadLetterReason::kDroppedAtEnd;
    // Of calls, which become no dead letters; only a store that somebody has
    // made by hand has them here.
    case records::DropReason::kQuarantined:
    case records::DropReason::kYieldLimit:
      break;
  }
  return DeadLetterReason::kMailboxFull;
}

}  // namespace

bool Runtime::Core::AwaitBegin(const StoredRequest& request) {
  if (!request.entry.is_submitted) return false;
  const FoundProcess process = processes.FindAwake(request.entry.pid);
  // Init has returned before if the process has begun again.
  if (!process || !process->init_due || process->steps.load() != 0) {
    return false;
  }
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

void Runtime::Core::RestoreId(const StoredRequest& stored) {
  const uint64_t now_ns = durable->NowNs();
  const RequestEntry& entry = stored.entry;
  const uint64_t left_ns =
      entry.expires_ns > now_ns ? entry.expires_ns - now_ns : 0;
  if (stored.kind == kCallId) {
    kept_calls->Restore(stored.owner, stored.id, entry, left_ns);
    return;
  }
  if (stored.kind == kYieldId) {
    const uint64_t ttl_ns = durable->store().request_id_bounds().ttl_ns;
    tasks.RestoreAnswer(stored.yield,
                        {.fingerprint = entry.fingerprint,
                         .owner = stored.owner,
                         .worker = entry.worker_owner,
                         .attempts = entry.attempts},
                        ttl_ns - std::min(ttl_ns, left_ns));
    return;
  }
  RequestIds& ids = stored.kind == kSubmitId ? request_ids : message_ids;
  ids.Restore(ids.KeyOf(stored.owner, stored.id),
              {entry.fingerprint, entry.pid}, left_ns);
}

void Runtime::Core::ExpectTasks(const Pid& pid,
                                const records::RuntimeImage& image) {
  for (const records::YieldImage& yield : image.yields) {
    if (yield.kind != records::YieldKind::kCommand || yield.cancelled ||
        yield.answer != 0) {
      continue;
    }
    if (!tasks.IsExternal(yield.command) &&
        catalog.FindCommand(yield.command) != nullptr) {
      continue;
    }
    tasks.Expect(
        {pid, yield.tag},
        {.command = yield.command,
         .owner = image.owner,
         .worker = yield.attempts == 0 ? Owner::kAny : yield.worker_owner,
         .attempts = yield.attempts});
  }
}

absl::Status Runtime::Core::RecoverIds() {
  std::vector<StoredRequest> found;
  absl::Status status =
      durable->store().ForEachRequest([&](StoredRequest&& stored) {
        if (!AwaitBegin(stored)) found.push_back(std::move(stored));
      });
  if (!status.ok()) return status;
  std::sort(found.begin(), found.end(),
            [](const StoredRequest& a, const StoredRequest& b) {
              return a.entry.expires_ns < b.entry.expires_ns;
            });
  for (const StoredRequest& one : found) RestoreId(one);
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
        dead_letters.Restore(message, letter.to, LetterReasonOf(letter.reason),
                             letter.owner, position,
                             unix_ns - std::min(unix_ns, age_ns));
      });
}

bool Runtime::Core::HoldLabels(const StoredProcess& stored) {
  const records::RuntimeImage& image = stored.entry.runtime;
  absl::StatusOr<Labels> kept = Labels::OfTexts(image.labels);
  if (!kept.ok()) return false;
  // They were accepted before, so they are kept even above the quota.
  const bool is_counted =
      processes.mailbox_bytes_of().TakeAnyway(image.owner, kept->ChargeBytes());
  labels.Put(stored.pid, *std::move(kept),
             is_counted ? image.owner : Owner::kNobody);
  // A dormant process comes back with all bits.
  if (const FoundProcess awake = processes.FindAwake(stored.pid)) {
    awake->Want(Wanted::kLabelled);
  }
  return true;
}

Outcome Runtime::Core::FromStore(OutcomeEntry&& entry, uint16_t type) {
  EndedTags tags{.name = std::move(entry.name), .labels = nullptr};
  if (absl::StatusOr<Labels> kept = Labels::OfTexts(entry.labels);
      kept.ok() && !kept->empty()) {
    tags.labels = std::make_shared<const Labels>(*std::move(kept));
  }
  const bool has_tags = !tags.name.empty() || tags.labels != nullptr;
  return {.kind = static_cast<EndKind>(entry.end.reason),
          .result = std::move(entry.end.result),
          .code = static_cast<absl::StatusCode>(entry.end.code),
          .message = std::move(entry.end.message),
          .steps = entry.steps,
          .started_unix_ns = entry.started_unix_ns,
          .ended_unix_ns = entry.end.unix_ns,
          .owner = entry.owner,
          .type = type,
          .tags = has_tags ? std::make_shared<const EndedTags>(std::move(tags))
                           : nullptr};
}

absl::Status Runtime::Core::RecoverOutcomes() {
  using Ended = std::pair<Pid, Outcome>;
  std::vector<Ended> ended;
  size_t bytes = 0;
  // Sorts the newest to the end, and drops the oldest above the limit, which
  // would be dropped anyway.
  const auto sort_and_cut = [&] {
    std::sort(ended.begin(), ended.end(), [](const Ended& a, const Ended& b) {
      return a.second.ended_unix_ns < b.second.ended_unix_ns;
    });
    size_t dropped = 0;
    while (dropped < ended.size() && bytes > limits.result_max_bytes()) {
      bytes -= OutcomeTable::ChargeOf(ended[dropped++].second);
    }
    ended.erase(ended.begin(), ended.begin() + static_cast<ptrdiff_t>(dropped));
  };
  absl::Status status = durable->store().ForEachOutcome(
      [&](const Pid& pid, OutcomeEntry&& entry) {
        const uint16_t type = catalog.type_names().NumberOf(entry.process_type);
        ended.emplace_back(pid, FromStore(std::move(entry), type));
        bytes += OutcomeTable::ChargeOf(ended.back().second);
        if (bytes / 2 > limits.result_max_bytes()) sort_and_cut();
      });
  sort_and_cut();
  for (auto& [pid, outcome] : ended) {
    results.Put(pid, std::move(outcome), /*keep=*/true, [](const Outcome&) {});
  }
  return status;
}

}  // namespace actord::runtime
