#include "runtime/actors/dead_letters.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/counters/stats.h"
#include "runtime/delivery/delivery.h"
#include "runtime/process/errors.h"
#include "runtime/scheduler/lane.h"
#include "runtime/table/home_pid.h"

namespace actord::runtime {
namespace {

absl::Status NoSuchLetter(uint64_t id) {
  return Error(
      absl::StatusCode::kNotFound, reason::kDeadLetterNotFound,
      absl::StrCat("there is no dead letter ", id & ~DeadLetter::kLogged,
                   ": it was sent again, dropped or forgotten, or "
                   "never was one"));
}

// Turns a call into a message, which needs no answer.
Envelope* AsMessage(Envelope* call, Lane& lane) {
  Envelope* const message = lane.NewEnvelope(
      ACTORD_EVENT_MESSAGE, call->topic().substr(sizeof(CallHeader)),
      call->payload());
  message->from = call->from;
  lane.Free(call);
  return message;
}

}  // namespace

DeadLetters::DeadLetters(const LiveLimits& limits, const Clock& clock,
                         Delivery& delivery, Lane& shared_lane, LetterLog* log)
    : limits_(limits),
      clock_(clock),
      delivery_(delivery),
      shared_lane_(shared_lane),
      log_(log) {}

DeadLetters::~DeadLetters() {
  for (auto& [id, kept] : letters_) shared_lane_.Free(kept.envelope);
}

void DeadLetters::Add(Envelope* envelope, const Pid& to,
                      DeadLetterReason reason, Owner owner, Lane& lane,
                      uint64_t position) {
  AddKept({.envelope = envelope,
           .to = to,
           .unix_ns = clock_.UnixNs(),
           .reason = reason,
           .call = envelope->type == kEventCall,
           .owner = owner,
           .position = position},
          lane);
}

void DeadLetters::Restore(Envelope* envelope, const Pid& to,
                          DeadLetterReason reason, Owner owner,
                          uint64_t position, uint64_t unix_ns) {
  AddKept({.envelope = envelope,
           .to = to,
           .unix_ns = unix_ns,
           .reason = reason,
           .call = false,
           .owner = owner,
           .position = position},
          shared_lane_);
}

void DeadLetters::AddKept(Kept kept, Lane& lane) {
  const size_t max_count = limits_.dead_letter_max_count();
  const size_t max_bytes = limits_.dead_letter_max_bytes();
  const size_t charge = ChargeOf(*kept.envelope);
  if (max_count == 0 || charge > max_bytes) {
    lane.Free(kept.envelope);
    // Nobody is told: if the journal takes no more, the daemon is about to end.
    if (kept.position != 0 && log_ != nullptr) {
      log_->Forget({kept.position}).IgnoreError();
    }
    lane.Count(&Counters::dead_letters_forgotten);
    lane.Count(&Counters::dead_letters);
    return;
  }
  if (kept.call) kept.envelope = AsMessage(kept.envelope, lane);
  Removed forgotten;
  {
    const MutexLock lock(mutex_);
    Forget(max_count - 1, max_bytes - charge, forgotten);
    Put(next_number_++, kept);
  }
  Free(forgotten, lane);
  // Counted last: a reader that sees the count finds the letter.
  lane.Count(&Counters::dead_letters);
}

void DeadLetters::Put(uint64_t number, const Kept& kept) {
  letters_.emplace_hint(letters_.end(), number, kept);
  if (kept.position != 0) logged_.emplace(kept.position, number);
  bytes_ += ChargeOf(*kept.envelope);
}

void DeadLetters::Trim() {
  Removed forgotten;
  {
    const MutexLock lock(mutex_);
    const size_t max_bytes = limits_.dead_letter_max_bytes();
    Forget(limits_.dead_letter_max_count(), max_bytes, forgotten);
  }
  Free(forgotten, shared_lane_);
}

void DeadLetters::Forget(size_t max_count, size_t max_bytes,
                         Removed& forgotten) {
  while (letters_.size() > max_count || bytes_ > max_bytes) {
    const auto oldest = letters_.begin();
    if (const uint64_t position = oldest->second.position; position != 0) {
      forgotten.positions.push_back(position);
    }
    forgotten.envelopes.PushBack(Erase(oldest));
  }
}

void DeadLetters::Free(Removed& forgotten, Lane& lane) {
  if (!forgotten.positions.empty() && log_ != nullptr) {
    // As in AddKept.
    log_->Forget(forgotten.positions).IgnoreError();
  }
  while (Envelope* envelope = forgotten.envelopes.PopFront()) {
    lane.Free(envelope);
    lane.Count(&Counters::dead_letters_forgotten);
  }
}

Envelope* DeadLetters::Erase(Letters::const_iterator letter) {
  Envelope* const envelope = letter->second.envelope;
  bytes_ -= ChargeOf(*envelope);
  if (letter->second.position != 0) logged_.erase(letter->second.position);
  letters_.erase(letter);
  return envelope;
}

DeadLetter DeadLetters::Read(const Letters::value_type& letter,
                             size_t max_payload_bytes) {
  const auto& [number, kept] = letter;
  const actord_payload payload = kept.envelope->payload();
  return {
      .id = kept.position == 0 ? number : kept.position | DeadLetter::kLogged,
      .unix_ns = kept.unix_ns,
      .from = FromAbi(kept.envelope->from),
      .to = kept.to,
      .message =
          {.topic = std::string(kept.envelope->topic()),
           .payload = {.bytes = std::string(
                           View(payload.bytes).substr(0, max_payload_bytes)),
                       .content_type =
                           std::string(View(payload.content_type))}},
      .payload_bytes = payload.bytes.size,
      .reason = kept.reason,
      .call = kept.call,
      .owner = kept.owner};
}

bool DeadLetters::Show(const DeadLetterQuery& query,
                       const Letters::value_type& letter,
                       DeadLetterPage& page) {
  const auto& [number, kept] = letter;
  if (!Sees(query.by, kept.owner) ||
      (!query.to.empty() && query.to != kept.to) ||
      (query.reason && *query.reason != kept.reason)) {
    return true;
  }
  if (page.letters.size() == query.page_size) {
    page.next = number;
    return false;
  }
  page.letters.push_back(Read(letter, query.max_payload_bytes));
  return true;
}

bool DeadLetters::ListSome(const DeadLetterQuery& query, uint64_t& at,
                           DeadLetterPage& page) const {
  const MutexLock lock(mutex_);
  auto it =
      query.newest_first ? letters_.upper_bound(at) : letters_.lower_bound(at);
  for (size_t looked = 0; looked < kLookedAtOnce; ++looked) {
    if (query.newest_first) {
      if (it == letters_.begin()) return false;
      --it;
    } else if (it == letters_.end()) {
      return false;
    }
    if (!Show(query, *it, page)) return false;
    // No letter has the number 0.
    at = query.newest_first ? it->first - 1 : it->first + 1;
    if (!query.newest_first) ++it;
  }
  return true;
}

DeadLetterPage DeadLetters::List(const DeadLetterQuery& query) const {
  DeadLetterPage page;
  uint64_t at = query.first;
  if (at == 0 && query.newest_first) at = UINT64_MAX;
  for (size_t looked = 0; looked < kMaxLookedAt; looked += kLookedAtOnce) {
    if (!ListSome(query, at, page)) return page;
  }
  page.next = at;
  return page;
}

DeadLetters::Letters::const_iterator DeadLetters::Find(uint64_t id,
                                                       Owner by) const {
  auto it = letters_.end();
  if ((id & DeadLetter::kLogged) == 0) {
    it = letters_.find(id);
    // A letter has only one id.
    if (it != letters_.end() && it->second.position != 0) return letters_.end();
  } else if (const auto logged = logged_.find(id & ~DeadLetter::kLogged);
             logged != logged_.end()) {
    it = letters_.find(logged->second);
  }
  return it == letters_.end() || Sees(by, it->second.owner) ? it
                                                            : letters_.end();
}

absl::StatusOr<DeadLetter> DeadLetters::Get(uint64_t id, Owner by) const {
  absl::StatusOr<DeadLetter> letter = NoSuchLetter(id);
  do {
    {
      const MutexLock lock(mutex_);
      const auto it = Find(id, by);
      if (it == letters_.end()) return NoSuchLetter(id);
      if (!letter.ok()) {
        letter = Read(*it, kCopiedAtOnce);
      } else {
        std::string& bytes = letter->message.payload.bytes;
        bytes.append(View(it->second.envelope->payload().bytes)
                         .substr(bytes.size(), kCopiedAtOnce));
      }
    }
    // Reserved without the lock, so that no bytes are moved under the lock.
    letter->message.payload.bytes.reserve(letter->payload_bytes);
  } while (letter->message.payload.bytes.size() < letter->payload_bytes);
  return letter;
}

absl::StatusOr<Pid> DeadLetters::Resend(uint64_t id, const Pid& to, Owner by) {
  Pid receiver = to;
  Owner sender = by;
  Delivery::Result result = Delivery::Result::kDelivered;
  std::optional<std::pair<uint64_t, Kept>> logged;
  {
    // The message is sent under the lock, so that only this call sends it. The
    // envelope exists already, so a send is a few instructions. A send may take
    // the scheduler's locks, and no code calls this class under those locks.
    const MutexLock lock(mutex_);
    const auto it = Find(id, by);
    if (it == letters_.end()) return NoSuchLetter(id);
    if (receiver.empty()) {
      receiver = it->second.to;
      sender = it->second.owner;
    }
    if (log_ != nullptr && (it->second.position != 0 || IsHomePid(receiver))) {
      // During the send only this call has the letter.
      logged = {it->first, it->second};
      Erase(it);
    } else {
      Envelope* const envelope = it->second.envelope;
      const size_t charge = ChargeOf(*envelope);
      result = delivery_.Send(sender, receiver, envelope, shared_lane_);
      if (result == Delivery::Result::kDelivered) {
        // The envelope may be freed by now.
        bytes_ -= charge;
        letters_.erase(it);
      }
    }
  }
  if (logged) {
    return ResendLogged(logged->first, logged->second, receiver, sender);
  }
  if (result != Delivery::Result::kDelivered) {
    return delivery_.Explain(sender, receiver, result, shared_lane_);
  }
  shared_lane_.Count(&Counters::dead_letters_resent);
  return receiver;
}

absl::StatusOr<Pid> DeadLetters::ResendLogged(uint64_t number, Kept kept,
                                              const Pid& to, Owner by) {
  absl::Status status = log_->Resend(by, to, *kept.envelope, kept.position);
  if (!status.ok()) {
    const MutexLock lock(mutex_);
    Put(number, kept);
    return status;
  }
  shared_lane_.Free(kept.envelope);
  shared_lane_.Count(&Counters::dead_letters_resent);
  return to;
}

absl::Status DeadLetters::Drop(uint64_t id, Owner by) {
  uint64_t number = 0;
  Kept kept{};
  {
    const MutexLock lock(mutex_);
    const auto it = Find(id, by);
    if (it == letters_.end()) return NoSuchLetter(id);
    number = it->first;
    kept = it->second;
    Erase(it);
  }
  if (kept.position != 0 && log_ != nullptr) {
    absl::Status status = log_->Forget({kept.position});
    if (!status.ok()) {
      const MutexLock lock(mutex_);
      Put(number, kept);
      return status;
    }
  }
  shared_lane_.Free(kept.envelope);
  shared_lane_.Count(&Counters::dead_letters_dropped);
  return absl::OkStatus();
}

void DeadLetters::AddTo(RuntimeStats& stats) const {
  const MutexLock lock(mutex_);
  stats.dead_letters_kept = letters_.size();
  stats.dead_letters_bytes = bytes_;
}

}  // namespace actord::runtime
