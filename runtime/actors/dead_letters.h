// Keeps messages that could not be delivered, within limits of their number and
// of their memory. The oldest are dropped first. Dead letters can be listed,
// read and sent again.
//
// Messages that can be delivered never touch this class. A flood of dead
// letters from all workers shares one lock, so the critical sections are short:
// a letter is the message's own envelope, which is neither copied nor freed
// under the lock, and List and Get take the lock for one piece at a time.
//
// A letter whose message is also in the journal of a store has the position of
// that message. A log records the end of such a letter, so that the letter
// survives a restart.
//
// Thread-safety: any thread. Ownership: owns the envelopes that are added.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/statusor.h"
#include "runtime/process/envelope.h"
#include "runtime/process/owner.h"
#include "runtime/process/payload.h"
#include "runtime/process/pid.h"
#include "runtime/settings/limits.h"
#include "runtime/system/clock.h"
#include "runtime/system/mutex.h"

namespace actord::runtime {

class Delivery;
class Lane;
struct RuntimeStats;

// Why a message could not be delivered.
enum class DeadLetterReason : uint8_t {
  kUnknownProcess,  // the process never existed
  kEnded,           // the process had ended
  kMailboxFull,     // the process did not keep up
  kDroppedAtEnd,    // the process ended with the message in its mailbox
};

struct DeadLetter {
  // Flag in the id of a letter in the journal; the rest of the id is its
  // position.
  static constexpr uint64_t kLogged = uint64_t{1} << 63;

  uint64_t id = 0;       // never 0, never used again
  uint64_t unix_ns = 0;  // when it became a dead letter
  Pid from;              // empty: from outside
  Pid to;
  Message message;  // with at most `max_payload_bytes` of its payload
  uint64_t payload_bytes = 0;  // the full size of the payload
  DeadLetterReason reason = DeadLetterReason::kUnknownProcess;
  bool call = false;  // a call, whose caller got an error
  // The owner of the sender, if a process sent the message and its receiver
  // refused it; otherwise of the receiver.
  Owner owner = Owner::kNobody;
};

struct DeadLetterQuery {
  Pid to = {};  // empty: any
  std::optional<DeadLetterReason> reason = {};
  bool newest_first = false;
  // The beginning of the page: `next` of the previous page; 0: the first page.
  uint64_t first = 0;
  size_t page_size = 0;
  size_t max_payload_bytes = 0;  // of each letter
  Owner by = Owner::kAny;        // only the letters that `by` sees
};

struct DeadLetterPage {
  std::vector<DeadLetter> letters;
  uint64_t next = 0;  // where the next page begins; 0: this was the last
};

// Records the ends of letters in the journal. All functions are called without
// a lock. Thread-safety: any thread.
class LetterLog {
 public:
  virtual ~LetterLog() = default;
  // The letters at these positions are no longer kept. An error: the journal
  // has failed or is closed, and the next start may find them again.
  virtual absl::Status Forget(const std::vector<uint64_t>& positions) = 0;
  // Writes a message that a process has not taken into the journal, as a letter
  // of `owner`, and returns its position; 0: the journal takes no record, or
  // `to` is no durable process that has ended.
  virtual uint64_t Keep(const Envelope& message, const Pid& to,
                        Owner owner) = 0;
  // Sends a letter again, as DeadLetters::Resend does. `position`: the position
  // of the letter; 0: it is not in the journal. If the message is refused,
  // `position` may change.
  virtual absl::Status Resend(Owner by, const Pid& to, const Envelope& message,
                              uint64_t& position) = 0;
};

class DeadLetters {
 public:
  // The memory that a letter is charged beside its envelope.
  static constexpr size_t kOverheadBytes = 96;
  // One call of List examines at most this number of letters, so a page before
  // the last may be short or empty.
  static constexpr size_t kMaxLookedAt = 1 << 16;

  // `shared_lane` is for threads that are not workers. `log`: null without a
  // store.
  DeadLetters(const LiveLimits& limits, const Clock& clock, Delivery& delivery,
              Lane& shared_lane, LetterLog* log = nullptr);
  ~DeadLetters();
  DeadLetters(const DeadLetters&) = delete;
  DeadLetters& operator=(const DeadLetters&) = delete;

  // LetterLog::Keep; 0 without a store.
  [[nodiscard]] uint64_t WriteToLog(const Envelope& message, const Pid& to,
                                    Owner owner) {
    return log_ == nullptr ? 0 : log_->Keep(message, to, owner);
  }
  // Counts a message or a call, and keeps it if the limits allow that. A
  // message that is larger than the limit of all letters is not kept, and
  // displaces no other letter. `owner`: see DeadLetter; `lane`: the caller's.
  // `position`: of the message in the journal; 0: it is not there.
  void Add(Envelope* envelope, const Pid& to, DeadLetterReason reason,
           Owner owner, Lane& lane, uint64_t position = 0);
  // Adds a letter from the store. `unix_ns`: the time when it became a dead
  // letter.
  void Restore(Envelope* envelope, const Pid& to, DeadLetterReason reason,
               Owner owner, uint64_t position, uint64_t unix_ns);
  // Drops the letters above the limits. Called when the limits have changed.
  void Trim();

  // These functions treat a letter that `by` does not see as not kept.
  //
  // A letter that is kept during the whole walk over all pages is listed
  // exactly once.
  [[nodiscard]] DeadLetterPage List(const DeadLetterQuery& query) const;
  // Returns the letter with its full payload, or DEAD_LETTER_NOT_FOUND.
  [[nodiscard]] absl::StatusOr<DeadLetter> Get(uint64_t id,
                                               Owner by = Owner::kAny) const;
  // Sends the letter again, to `to`, or to its first receiver if `to` is empty;
  // returns the receiver. When the message is in the mailbox, the letter is no
  // longer kept: of several concurrent calls one sends the letter, and the
  // others get DEAD_LETTER_NOT_FOUND. If the message is refused
  // (PROCESS_NOT_FOUND, PROCESS_ENDED, MAILBOX_FULL), the letter stays. A call
  // becomes a message, because its caller does not wait any more. `by` must see
  // `to`; the first receiver must be seen by the owner of the letter.
  absl::StatusOr<Pid> Resend(uint64_t id, const Pid& to,
                             Owner by = Owner::kAny);
  // Drops the letter, or returns DEAD_LETTER_NOT_FOUND. If the journal takes no
  // record of it (UNAVAILABLE), the letter stays.
  absl::Status Drop(uint64_t id, Owner by = Owner::kAny);

  // Writes the number and the memory of the kept letters.
  void AddTo(RuntimeStats& stats) const;

 private:
  // Limits of one critical section.
  static constexpr size_t kLookedAtOnce = 64;
  static constexpr size_t kCopiedAtOnce = 64 << 10;

  struct Kept {
    Envelope* envelope;  // ACTORD_EVENT_MESSAGE
    Pid to;
    uint64_t unix_ns;
    DeadLetterReason reason;
    bool call;
    Owner owner;
    uint64_t position;  // 0: it is not in the journal
  };
  // By age: the numbers grow from letter to letter.
  using Letters = absl::btree_map<uint64_t, Kept>;
  // The work on letters that runs without the lock.
  struct Removed {
    EnvelopeList envelopes;
    std::vector<uint64_t> positions;
  };

  static size_t ChargeOf(const Envelope& envelope) {
    return envelope.bytes() + kOverheadBytes;
  }
  static DeadLetter Read(const Letters::value_type& letter,
                         size_t max_payload_bytes);

  // Examines the next letters from `at` on and moves `at`. False: the page is
  // complete.
  bool ListSome(const DeadLetterQuery& query, uint64_t& at,
                DeadLetterPage& page) const;
  // Adds the letter to the page if it matches the query. False: the page is
  // full, and the letter is the first of the next page.
  static bool Show(const DeadLetterQuery& query,
                   const Letters::value_type& letter, DeadLetterPage& page);

  void AddKept(Kept kept, Lane& lane);
  // Sends a letter through the log.
  absl::StatusOr<Pid> ResendLogged(uint64_t number, Kept kept, const Pid& to,
                                   Owner by);
  void Put(uint64_t number, const Kept& kept)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // end(): no letter of this id that `by` sees is kept.
  [[nodiscard]] Letters::const_iterator Find(uint64_t id, Owner by) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Removes the letter; the caller owns its envelope.
  Envelope* Erase(Letters::const_iterator letter)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Removes the oldest letters until at most `max_count` letters and
  // `max_bytes` bytes are left.
  void Forget(size_t max_count, size_t max_bytes, Removed& forgotten)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Free(Removed& forgotten, Lane& lane);

  const LiveLimits& limits_;
  const Clock& clock_;
  Delivery& delivery_;
  Lane& shared_lane_;
  LetterLog* const log_;

  mutable Mutex mutex_;
  uint64_t next_number_ ABSL_GUARDED_BY(mutex_) = 1;
  Letters letters_ ABSL_GUARDED_BY(mutex_);
  // The numbers of the letters that are in the journal, by their positions.
  absl::btree_map<uint64_t, uint64_t> logged_ ABSL_GUARDED_BY(mutex_);
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace actord::runtime
