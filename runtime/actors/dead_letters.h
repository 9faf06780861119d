// Messages that reached nobody, kept for a while within limits of their number
// and of their memory, the oldest forgotten first: to be looked at, and to be
// sent again.
//
// Only what cannot be delivered comes here; a message on its way touches
// nothing of this. A flood of dead letters from all workers shares one lock, so
// what is done under it is short: a letter is the message's own envelope, which
// is neither copied nor freed there, and whoever lists or reads takes the lock
// for a piece at a time.
//
// Thread-safety: any thread. Ownership: owns the envelopes that it is given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/statusor.h"
#include "runtime/process/envelope.h"
#include "runtime/process/payload.h"
#include "runtime/process/pid.h"
#include "runtime/settings/limits.h"
#include "runtime/system/clock.h"
#include "runtime/system/mutex.h"

namespace actord::runtime {

class Delivery;
class Lane;
struct RuntimeStats;

// Why a message reached nobody.
enum class DeadLetterReason : uint8_t {
  kUnknownProcess,  // there never was such a process
  kEnded,           // it had ended
  kMailboxFull,     // it did not keep up
  kDroppedAtEnd,    // it ended with the message in its mailbox
};

struct DeadLetter {
  uint64_t id = 0;  // grows from letter to letter; never 0, never used again
  uint64_t unix_ns = 0;  // when it became one
  Pid from;              // empty: from outside
  Pid to;
  Message message;             // its bytes perhaps only in part
  uint64_t payload_bytes = 0;  // all of them
  DeadLetterReason reason = DeadLetterReason::kUnknownProcess;
  bool call = false;  // its sender waited for an answer, and was told
};

struct DeadLetterQuery {
  Pid to = {};  // empty: any
  std::optional<DeadLetterReason> reason = {};
  bool newest_first = false;
  // Where the page begins: `next` of the one before; 0: at the beginning.
  uint64_t first = 0;
  size_t page_size = 0;
  size_t max_payload_bytes = 0;  // of each letter
};

struct DeadLetterPage {
  std::vector<DeadLetter> letters;
  uint64_t next = 0;  // where the next page begins; 0: this was the last
};

class DeadLetters {
 public:
  // What a letter takes beside its envelope.
  static constexpr size_t kOverheadBytes = 96;
  // One call of List looks at so many letters, so a page may be short, even
  // empty, before the last.
  static constexpr size_t kMaxLookedAt = 1 << 16;

  // `shared_lane` is for whoever is no worker.
  DeadLetters(const LiveLimits& limits, const Clock& clock, Delivery& delivery,
              Lane& shared_lane);
  ~DeadLetters();
  DeadLetters(const DeadLetters&) = delete;
  DeadLetters& operator=(const DeadLetters&) = delete;

  // Counts a message or a call, and keeps it if there may be room. One that is
  // larger than all the room there is, is not kept, and displaces no other.
  // `lane` is the caller's.
  void Add(Envelope* envelope, const Pid& to, DeadLetterReason reason,
           Lane& lane);
  // The limits have changed: what is above them is forgotten.
  void Trim();

  // A letter that is kept during the whole walk over all pages is listed
  // exactly once.
  [[nodiscard]] DeadLetterPage List(const DeadLetterQuery& query) const;
  // With all of its bytes. DEAD_LETTER_NOT_FOUND.
  [[nodiscard]] absl::StatusOr<DeadLetter> Get(uint64_t id) const;
  // Sends it again, to `to`, or, if that is empty, to whom it was for; returns
  // to whom. When it is in the mailbox it is not kept any more: of several
  // calls at once one sends it, and the others are told DEAD_LETTER_NOT_FOUND.
  // Refused (PROCESS_NOT_FOUND, PROCESS_ENDED, MAILBOX_FULL), it stays. A call
  // becomes a message: nobody waits for its answer any more.
  absl::StatusOr<Pid> Resend(uint64_t id, const Pid& to);
  // DEAD_LETTER_NOT_FOUND.
  absl::Status Drop(uint64_t id);

  // Writes how many are kept and what they take.
  void AddTo(RuntimeStats& stats) const;

 private:
  // Under one lock.
  static constexpr size_t kLookedAtOnce = 64;
  static constexpr size_t kCopiedAtOnce = 64 << 10;

  struct Kept {
    Envelope* envelope;  // ACTORD_EVENT_MESSAGE
    Pid to;
    uint64_t unix_ns;
    DeadLetterReason reason;
    bool call;
  };
  // Ordered by id, that is by age.
  using Letters = absl::btree_map<uint64_t, Kept>;

  static size_t ChargeOf(const Envelope& envelope) {
    return envelope.bytes() + kOverheadBytes;
  }
  static DeadLetter Read(const Letters::value_type& letter,
                         size_t max_payload_bytes);

  // Looks at the next letters from `at` on and moves that. False: the page is
  // complete.
  bool ListSome(const DeadLetterQuery& query, uint64_t& at,
                DeadLetterPage& page) const;
  // Adds it to the page, if it is one for it. False: it is full, and this one
  // is the first of the next.
  static bool Show(const DeadLetterQuery& query,
                   const Letters::value_type& letter, DeadLetterPage& page);

  // Takes it out; its envelope is the caller's.
  Envelope* Erase(Letters::iterator letter)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes the oldest out until there are at most so many, with so many bytes.
  void Forget(size_t max_count, size_t max_bytes, EnvelopeList& forgotten)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static void Free(EnvelopeList& forgotten, Lane& lane);

  const LiveLimits& limits_;
  const Clock& clock_;
  Delivery& delivery_;
  Lane& shared_lane_;

  mutable Mutex mutex_;
  uint64_t next_id_ ABSL_GUARDED_BY(mutex_) = 1;
  Letters letters_ ABSL_GUARDED_BY(mutex_);
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace actord::runtime
