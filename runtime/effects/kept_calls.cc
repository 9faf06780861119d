#include "runtime/effects/kept_calls.h"

#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/delivery/logged_events.h"
#include "runtime/delivery/traced_events.h"
#include "runtime/process/errors.h"
#include "runtime/store/state_values.h"
#include "runtime/system/assert.h"
#include "runtime/table/home_pid.h"

namespace actord::runtime {
namespace {

absl::Status Gone() {
  return Retryable(absl::StatusCode::kUnavailable, reason::kStopped,
                   "the answer of the call cannot be read now",
                   absl::Seconds(1));
}

// The reply to a repeat.
absl::StatusOr<CallReply> ReplyOf(std::optional<StoredAnswer>&& stored) {
  if (!stored) return Gone();
  CallAnswer& answer = stored->answer;
  if (answer.callee_ended) return CalleeEnded(stored->callee, nullptr);
  if (answer.status != ACTORD_OK) {
    return CallFailed(answer.status, answer.payload.bytes);
  }
  return CallReply{stored->callee, std::move(answer.payload), true};
}

}  // namespace

absl::Status CalleeEnded(const Pid& callee, const EndCause* how) {
  const std::string pid = FormatPid(callee);
  return how == nullptr ? CalleeEnded(pid, {}, {})
                        : CalleeEnded(pid, NameOf(how->kind), how->message);
}

absl::Status CallFailed(int32_t status, std::string_view text) {
  return Error(ErrorCodeFromAbi(status), reason::kCallFailed, text);
}

KeptCalls::KeptCalls(const Parts& parts, const RequestIds::Options& ids)
    : parts_(parts),
      ids_(ids.ids),
      max_(ids.durable.max),
      answered_(ids.durable) {}

bool KeptCalls::Knows(const RequestId& id) const {
  const Key key = RequestKeyOf(ids_, id.owner, id.id);
  const MutexLock lock(mutex_);
  return flights_.contains(key) || answered_.Find(key) != nullptr;
}

CallId KeptCalls::Begin(Owner by, const Pid& to, const Message& message,
                        const RequestId& id, Answered done) {
  ACTORD_ASSERT(message.topic.size() <= kMaxLabelBytes,
                "kept_calls.h: the topic is within its limit");
  const Key key = RequestKeyOf(ids_, id.owner, id.id);
  CallId call = 0;
  switch (Join(key, id.fingerprint, done, call)) {
    case Role::kWaits:
      return call;
    case Role::kHasAnswer:
      ReadAnswer(id, std::move(done));
      return 0;
    case Role::kReused:
      std::move(done)(InvalidField(
          "message_id", reason::kRequestIdReused,
          absl::StrCat("message_id '", id.id, "' belongs to another request")));
      return 0;
    case Role::kFull:
      std::move(done)(
          Retryable(absl::StatusCode::kResourceExhausted, reason::kMailboxFull,
                    absl::StrCat(max_,
                                 " calls with a message id have no answer yet, "
                                 "which is the limit (store.request_id_max)"),
                    absl::Seconds(1)));
      return 0;
    case Role::kFirst:
      break;
  }
  const Sent sent = Accept(by, to, message, id, key);
  if (sent.status.ok()) return call;
  if (sent.position == 0) {
    Refuse(key, sent.status);
  } else {
    parts_.durable.releases().After(
        sent.position, [this, key, why = sent.status] { Refuse(key, why); });
  }
  return call;
}

KeptCalls::Role KeptCalls::Join(const Key& key, const Fingerprint& content,
                                Answered& done, CallId& call) {
  const MutexLock lock(mutex_);
  answered_.ForgetOld(parts_.clock.MonotonicNs());
  if (const RememberedIds::Entry* const known = answered_.Find(key)) {
    return known->content == content ? Role::kHasAnswer : Role::kReused;
  }
  const auto known = flights_.find(key);
  if (known != flights_.end() && known->second.content != content) {
    return Role::kReused;
  }
  if (known == flights_.end() && flights_.size() >= max_) return Role::kFull;
  const bool is_first = known == flights_.end();
  Flight& flight = flights_[key];
  flight.content = content;
  // Never equal to an id of Calls, which has a bit below the number.
  call = next_++ << 32;
  flight.waiting.emplace(call, Waiting{std::move(done), !is_first});
  flight_of_.emplace(call, key);
  return is_first ? Role::kFirst : Role::kWaits;
}

Sent KeptCalls::Accept(Owner by, const Pid& to, const Message& message,
                       const RequestId& id, const Key& key) {
  if (!IsHomePid(to)) {
    return {Error(absl::StatusCode::kFailedPrecondition, reason::kNotDurable,
                  absl::StrCat("process ", FormatPid(to),
                               " is volatile: a call with a message id needs a "
                               "durable process"))};
  }
  const FoundProcess process = parts_.processes.Find(to, by);
  if (!process) return {parts_.processes.WhyNotFound(to, by)};
  absl::Status status = parts_.durable.CheckRoom();
  if (!status.ok()) return {status};
  Envelope* const envelope =
      Traced(NewLoggedCall({}, 0, message.topic, ToAbi(message.payload), 0,
                           parts_.lane),
             ActingTrace::Here(), parts_.lane);
  Run run(Run::Kind::kCall, envelope, by);
  if (!parts_.delivery.HasRoom(
          process->activity.load(std::memory_order_relaxed), 1, run.units)) {
    parts_.lane.Free(envelope);
    return {parts_.delivery.Explain(by, to, Posted::kMailboxFull, parts_.lane)};
  }
  records::Input input{
      .to = to,
      .kind = records::InputKind::kCall,
      .messages = {{.topic = message.topic, .payload = message.payload}},
      .request = {.id = id.id, .fingerprint = id.fingerprint},
      .owner = id.owner,
      .at_ns = parts_.durable.NowNs()};
  const absl::StatusOr<uint64_t> position = parts_.durable.Append(input);
  if (!position.ok()) {
    parts_.lane.Free(envelope);
    return {parts_.durable.OfRequest("payload", position.status())};
  }
  Register(*position, key, to);
  envelope->WriteHeader(LoggedCallHeader{*position, 0});
  const Posted posted = parts_.delivery.Post(to, run, parts_.lane);
  if (posted == Posted::kDelivered) return {absl::OkStatus(), *position};
  if (run.first == nullptr) {
    // The process has ended in the meantime, and the journal has that end, too.
    parts_.durable.releases().After(*position,
                                    [this, at = *position] { Fail(at); });
    return {absl::OkStatus(), *position};
  }
  parts_.lane.Free(run.first);
  Unregister(*position);
  return parts_.inputs.Refuse(
      to, *position, 1, posted,
      parts_.delivery.Explain(by, to, posted, parts_.lane),
      {.id = &id, .is_call = true});
}

void KeptCalls::Register(uint64_t position, const Key& key, const Pid& to) {
  const MutexLock lock(mutex_);
  by_position_.emplace(position, key);
  flights_[key].pid = to;
}

void KeptCalls::Unregister(uint64_t position) {
  const MutexLock lock(mutex_);
  by_position_.erase(position);
}

void KeptCalls::Refuse(const Key& key, const absl::Status& why) {
  End(key, why, /*remembers=*/false);
}

void KeptCalls::End(const Key& key, const absl::StatusOr<Payload>& answer,
                    bool remembers) {
  Flight flight;
  {
    const MutexLock lock(mutex_);
    const auto found = flights_.find(key);
    if (found == flights_.end()) return;
    flight = std::move(found->second);
    flights_.erase(found);
    for (const auto& [call, waiting] : flight.waiting) flight_of_.erase(call);
    if (remembers) {
      answered_.Remember(key, {flight.content, flight.pid},
                         parts_.clock.MonotonicNs());
    }
  }
  for (auto& [call, waiting] : flight.waiting) {
    if (answer.ok()) {
      std::move(waiting.done)(
          CallReply{flight.pid, *answer, waiting.is_repeat});
    } else {
      std::move(waiting.done)(answer.status());
    }
  }
}

void KeptCalls::Answer(uint64_t position,
                       const absl::StatusOr<Payload>& answer) {
  Key key;
  {
    const MutexLock lock(mutex_);
    const auto found = by_position_.find(position);
    if (found == by_position_.end()) return;
    key = found->second;
    by_position_.erase(found);
  }
  End(key, answer, /*remembers=*/true);
}

void KeptCalls::Fail(uint64_t position) {
  Pid callee;
  {
    const MutexLock lock(mutex_);
    const auto found = by_position_.find(position);
    if (found == by_position_.end()) return;
    callee = flights_[found->second].pid;
  }
  // Without the kind of the end: the store does not keep it, and a repeat must
  // get the same answer.
  Answer(position, CalleeEnded(callee, nullptr));
}

void KeptCalls::ReadAnswer(const RequestId& id, Answered done) {
  parts_.durable.store().ReadAnswerLater(
      id, [done = std::move(done)](std::optional<StoredAnswer> answer) mutable {
        std::move(done)(ReplyOf(std::move(answer)));
      });
}

bool KeptCalls::Cancel(CallId id) {
  Answered done;
  const MutexLock lock(mutex_);
  const auto found = flight_of_.find(id);
  if (found == flight_of_.end()) return false;
  const auto flight = flights_.find(found->second);
  ACTORD_ASSERT(flight != flights_.end(),
                "kept_calls.h: who waits, waits for a flight");
  const auto waiting = flight->second.waiting.find(id);
  // Destroyed without the lock.
  done = std::move(waiting->second.done);
  flight->second.waiting.erase(waiting);
  flight_of_.erase(found);
  return true;
}

void KeptCalls::AbandonAll(const absl::Status& status) {
  std::map<CallId, Waiting> all;
  {
    const MutexLock lock(mutex_);
    for (auto& [key, flight] : flights_) all.merge(flight.waiting);
    flight_of_.clear();
  }
  for (auto& [call, waiting] : all) std::move(waiting.done)(status);
}

void KeptCalls::Restore(Owner owner, std::string_view id,
                        const RequestEntry& entry, uint64_t left_ns) {
  const Key key = RequestKeyOf(ids_, owner, id);
  const MutexLock lock(mutex_);
  if (entry.is_open) {
    flights_.try_emplace(key, Flight{entry.fingerprint, entry.pid, {}});
    by_position_.emplace(entry.lsn, key);
  } else {
    answered_.Remember(key, {entry.fingerprint, entry.pid},
                       parts_.clock.MonotonicNs(), left_ns);
  }
}

}  // namespace actord::runtime
