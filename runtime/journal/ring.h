// The records that wait for the disk, in their order: a ring of bytes that any
// thread appends to and one thread, the committer, takes from.
//
// A thread appends in two steps. Reserve draws the place of the records, and
// with it their order; Publish copies the records there. Between the two steps
// a thread does nothing else, because it holds up every record behind it.
//
// A position counts the bytes of all records since the store was made, so byte
// `lsn % size` of the ring belongs to position `lsn`. A record begins with its
// word (format.h, RecordWord).
//
// Invariants (tests/model/journal_ring.pml checks (1) to (4)):
//   (1) taken <= tail <= released + size. A thread moves `tail` only if that
//       leaves room for all of its records, so it never waits between Reserve
//       and Publish.
//   (2) A word at `taken` or behind it is 0 until its record is complete. The
//       store of the word publishes the record. The committer sets all taken
//       bytes to 0 before it gives them back.
//   (3) If records are published and not taken, the committer is awake, or will
//       be woken by the thread that has published them.
//   (4) If a thread waits for room, and there is room, the committer will wake
//       it.
//
// Records above kByPointerBytes stay where they are; the ring holds a pointer.
// They take as many positions as any other record, but only 16 bytes are
// written.
//
// Thread-safety: Reserve, Publish, tail, taken: any thread. Take and
// HasPublished: one thread at a time, the committer of that moment. Sleep: only
// the commit thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/journal/format.h"
#include "runtime/system/atomic.h"
#include "runtime/system/mutex.h"
#include "runtime/system/parker.h"
#include "runtime/system/thread.h"

namespace actord::runtime {

// A record to append. `flags`: kSkippable or 0.
struct Record {
  uint16_t kind = 0;
  uint16_t flags = 0;
  std::string_view payload;
};

class JournalRing {
 public:
  // A larger payload is not copied into the ring.
  static constexpr size_t kByPointerBytes = 64 << 10;

  // The place of records that are not published yet. It must be published:
  // a reservation that is dropped breaks an invariant, and the program aborts.
  class [[nodiscard]] Reservation {
   public:
    Reservation() = default;
    Reservation(Reservation&& other) noexcept
        : lsn_(other.lsn_), bytes_(std::exchange(other.bytes_, 0)) {}
    Reservation& operator=(Reservation&&) = delete;
    ~Reservation();

    // Position of the first record.
    [[nodiscard]] uint64_t lsn() const { return lsn_; }

   private:
    friend class JournalRing;
    Reservation(uint64_t lsn, uint64_t bytes) : lsn_(lsn), bytes_(bytes) {}

    uint64_t lsn_ = 0;
    uint64_t bytes_ = 0;
  };

  // `bytes`: a power of two. `first_lsn`: position of the first record. The
  // memory is touched here, and locked if the system permits it.
  JournalRing(uint64_t bytes, uint64_t first_lsn);
  ~JournalRing();
  JournalRing(const JournalRing&) = delete;
  JournalRing& operator=(const JournalRing&) = delete;

  // The bytes of the positions that these records take.
  static uint64_t BytesOf(std::span<const Record> records);

  // Draws `bytes` positions, at most half of the ring. If there is no room,
  // waits for it without holding a reservation. False: the ring is closed.
  bool Reserve(uint64_t bytes, Reservation& reservation);
  // Copies the records of `reservation`. `large` are the payloads above
  // kByPointerBytes, in their order: the ring takes them over.
  void Publish(Reservation reservation, std::span<const Record> records,
               std::span<std::unique_ptr<std::string>> large);
  // Copies of the payloads above kByPointerBytes, for Publish.
  static std::unique_ptr<std::string> Copy(const Record& record);

  // From now on Reserve fails. Threads that wait for room return.
  void Close();
  // From now on Reserve fails instead of waiting for room. Threads that wait
  // return.
  void RefuseWaits();

  // The position behind all reservations.
  [[nodiscard]] uint64_t tail() const {
    return tail_.load(std::memory_order_seq_cst);
  }
  // False: the memory is not locked, because of RLIMIT_MEMLOCK.
  [[nodiscard]] bool locked() const { return locked_; }
  // How often a thread has waited for room.
  [[nodiscard]] uint64_t room_waits() const {
    return room_waits_.load(std::memory_order_relaxed);
  }

  // ---- The committer's -------------------------------------------------

  struct Taken {
    uint32_t records = 0;
    uint64_t bytes = 0;
  };
  // Appends published records to `out`, as they will be on disk, until `out`
  // has `limit` bytes of them or the next one is not published. A record above
  // `limit` is taken alone. Gives their room back.
  Taken Take(uint64_t limit, std::string& out);
  // The position behind all records that were taken.
  [[nodiscard]] uint64_t taken() const {
    return taken_.load(std::memory_order_relaxed);
  }
  // True: a record is published and not taken.
  [[nodiscard]] bool HasPublished() const;
  // Sleeps until a record is reserved or Wake is called, for at most
  // `timeout_ns`. May return for no reason.
  void Sleep(uint64_t timeout_ns);
  // Ends a Sleep. Any thread.
  void Wake();

 private:
  [[nodiscard]] char* At(uint64_t lsn) const { return memory_ + (lsn & mask_); }
  [[nodiscard]] std::atomic_ref<uint64_t> WordAt(uint64_t lsn) const {
    return std::atomic_ref<uint64_t>(*reinterpret_cast<uint64_t*>(At(lsn)));
  }
  // The first `bytes` bytes at `lsn`, across the end of the ring.
  void CopyIn(uint64_t lsn, std::string_view bytes);
  void CopyOut(uint64_t lsn, uint64_t bytes, std::string& out) const;
  void Clear(uint64_t lsn, uint64_t bytes);
  bool WaitForRoom(uint64_t bytes);

  char* memory_;
  const uint64_t size_;
  const uint64_t mask_;
  bool locked_ = false;

  // Written by threads that reserve, seq_cst: (3) pairs it with sleeping_, (4)
  // with waiting_. A stale value only makes the compare-exchange fail.
  alignas(64) Atomic<uint64_t> tail_;
  // Written by the committer after it has cleared the bytes, seq_cst: (4) pairs
  // it with waiting_, (2) with the acquire in Reserve. A stale value is
  // smaller, so a thread sees less room than there is.
  alignas(64) Atomic<uint64_t> released_;
  // Written by the committer. The thread that is about to sleep reads it,
  // relaxed: with a stale value it does not sleep.
  Atomic<uint64_t> taken_;

  // Written by the committer, and by the thread that wakes it; seq_cst, (3).
  alignas(64) Atomic<bool> sleeping_{false};
  Parker parker_;

  // Threads that wait for room. Written under the mutex, read by the committer;
  // seq_cst, (4).
  Atomic<uint32_t> waiting_{0};
  Atomic<bool> closed_{false};
  // Written under the mutex, so that no thread that waits misses it.
  Atomic<bool> refuses_waits_{false};
  Atomic<uint64_t> room_waits_{0};
  Mutex mutex_;
  ConditionVariable room_;
};

}  // namespace actord::runtime
