#include "runtime/actors/dead_letters.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/counters/stats.h"
#include "runtime/delivery/delivery.h"
#include "runtime/process/errors.h"
#include "runtime/scheduler/lane.h"

namespace actord::runtime {
namespace {

absl::Status NoSuchLetter(uint64_t id) {
  return Error(absl::StatusCode::kNotFound, reason::kDeadLetterNotFound,
               absl::StrCat("there is no dead letter ", id,
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
                         Delivery& delivery, Lane& shared_lane)
    : limits_(limits),
      clock_(clock),
      delivery_(delivery),
      shared_lane_(shared_lane) {}

DeadLetters::~DeadLetters() {
  for (auto& [id, kept] : letters_) shared_lane_.Free(kept.envelope);
}

void DeadLetters::Add(Envelope* envelope, const Pid& to,
                      DeadLetterReason reason, Owner owner, Lane& lane) {
  const size_t max_count = limits_.dead_letter_max_count();
  const size_t max_bytes = limits_.dead_letter_max_bytes();
  const size_t charge = ChargeOf(*envelope);
  if (max_count == 0 || charge > max_bytes) {
    lane.Free(envelope);
    lane.Count(&Counters::dead_letters_forgotten);
    lane.Count(&Counters::dead_letters);
    return;
  }
  const bool call = envelope->type == kEventCall;
  if (call) envelope = AsMessage(envelope, lane);
  const Kept kept{.envelope = envelope,
                  .to = to,
                  .unix_ns = clock_.UnixNs(),
                  .reason = reason,
                  .call = call,
                  .owner = owner};
  EnvelopeList forgotten;
  {
    const MutexLock lock(mutex_);
    Forget(max_count - 1, max_bytes - charge, forgotten);
    letters_.emplace_hint(letters_.end(), next_id_++, kept);
    bytes_ += ChargeOf(*envelope);
  }
  Free(forgotten, lane);
  // Counted last: a reader that sees the count finds the letter.
  lane.Count(&Counters::dead_letters);
}

void DeadLetters::Trim() {
  EnvelopeList forgotten;
  {
    const MutexLock lock(mutex_);
    const size_t max_bytes = limits_.dead_letter_max_bytes();
    Forget(limits_.dead_letter_max_count(), max_bytes, forgotten);
  }
  Free(forgotten, shared_lane_);
}

void DeadLetters::Forget(size_t max_count, size_t max_bytes,
                         EnvelopeList& forgotten) {
  while (letters_.size() > max_count || bytes_ > max_bytes) {
    forgotten.PushBack(Erase(letters_.begin()));
  }
}

void DeadLetters::Free(EnvelopeList& forgotten, Lane& lane) {
  while (Envelope* envelope = forgotten.PopFront()) {
    lane.Free(envelope);
    lane.Count(&Counters::dead_letters_forgotten);
  }
}

Envelope* DeadLetters::Erase(Letters::const_iterator letter) {
  Envelope* const envelope = letter->second.envelope;
  bytes_ -= ChargeOf(*envelope);
  letters_.erase(letter);
  return envelope;
}

DeadLetter DeadLetters::Read(const Letters::value_type& letter,
                             size_t max_payload_bytes) {
  const auto& [id, kept] = letter;
  const actord_payload payload = kept.envelope->payload();
  return {.id = id,
          .unix_ns = kept.unix_ns,
          .from = FromAbi(kept.envelope->from),
          .to = kept.to,
          .message = {.topic = std::string(kept.envelope->topic()),
                      .payload = {.bytes = std::string(
                                      View(payload.bytes)
                                          .substr(0, max_payload_bytes)),
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
  const auto& [id, kept] = letter;
  if (!Sees(query.by, kept.owner) ||
      (!query.to.empty() && query.to != kept.to) ||
      (query.reason && *query.reason != kept.reason)) {
    return true;
  }
  if (page.letters.size() == query.page_size) {
    page.next = id;
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
    // No letter has the id 0.
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
  const auto it = letters_.find(id);
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
    Envelope* const envelope = it->second.envelope;
    const size_t charge = ChargeOf(*envelope);
    result = delivery_.Send(sender, receiver, envelope, shared_lane_);
    if (result == Delivery::Result::kDelivered) {
      // The envelope may be freed by now.
      bytes_ -= charge;
      letters_.erase(it);
    }
  }
  if (result != Delivery::Result::kDelivered) {
    return delivery_.Explain(sender, receiver, result, shared_lane_);
  }
  shared_lane_.Count(&Counters::dead_letters_resent);
  return receiver;
}

absl::Status DeadLetters::Drop(uint64_t id, Owner by) {
  Envelope* envelope = nullptr;
  {
    const MutexLock lock(mutex_);
    const auto it = Find(id, by);
    if (it == letters_.end()) return NoSuchLetter(id);
    envelope = Erase(it);
  }
  shared_lane_.Free(envelope);
  shared_lane_.Count(&Counters::dead_letters_dropped);
  return absl::OkStatus();
}

void DeadLetters::AddTo(RuntimeStats& stats) const {
  const MutexLock lock(mutex_);
  stats.dead_letters_kept = letters_.size();
  stats.dead_letters_bytes = bytes_;
}

}  // namespace actord::runtime
