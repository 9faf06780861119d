#include "runtime/journal/ring.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

#include "runtime/system/assert.h"
#include "runtime/system/fail_point.h"
#include "runtime/system/fresh_memory.h"

namespace actord::runtime {

namespace {

// Only in the ring, never on disk: the payload is a pointer to a string.
constexpr uint16_t kByPointerFlag = 1 << 15;

}  // namespace

JournalRing::Reservation::~Reservation() {
  ACTORD_ASSERT(bytes_ == 0, "ring.h: a reservation is published");
}

JournalRing::JournalRing(uint64_t bytes, uint64_t first_lsn)
    : size_(bytes),
      mask_(bytes - 1),
      tail_(first_lsn),
      released_(first_lsn),
      taken_(first_lsn) {
  ACTORD_ASSERT(std::has_single_bit(bytes) && bytes >= kBlockBytes,
                "ring.h: the size is a power of two");
  // Anonymous memory is zero, as (2) requires.
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  // As operator new does: the program ends with a line that says so.
  const std::new_handler refused = std::get_new_handler();
  if (memory == MAP_FAILED && refused != nullptr) refused();
  ACTORD_ASSERT(memory != MAP_FAILED, "ring.h: there is memory for the ring");
  memory_ = static_cast<char*>(memory);
  BringPages(memory_, bytes);
  locked_ = mlock(memory_, bytes) == 0;
}

JournalRing::~JournalRing() {
  // Payloads that nobody has taken, after an error.
  std::string rest;
  while (Take(UINT32_MAX, rest).records != 0) rest.clear();
  (void)munmap(memory_, size_);
}

uint64_t JournalRing::BytesOf(std::span<const Record> records) {
  uint64_t bytes = 0;
  for (const Record& record : records) {
    bytes += RecordBytes(record.payload.size());
  }
  return bytes;
}

bool JournalRing::Reserve(uint64_t bytes, Reservation& reservation) {
  ACTORD_ASSERT(bytes > 0 && bytes % 8 == 0 && bytes <= size_ / 2,
                "ring.h: a reservation takes at most half of the ring");
  uint64_t tail = tail_.load(std::memory_order_relaxed);
  for (;;) {
    if (closed_.load(std::memory_order_relaxed)) return false;
    FailPoint();
    if (tail + bytes > released_.load(std::memory_order_acquire) + size_) {
      if (!WaitForRoom(bytes)) return false;
      tail = tail_.load(std::memory_order_relaxed);
      continue;
    }
    FailPoint();
    // (1)
    if (tail_.compare_exchange_weak(tail, tail + bytes,
                                    std::memory_order_seq_cst,
                                    std::memory_order_relaxed)) {
      break;
    }
  }
  ACTORD_ASSERT_HOT(tail + bytes <= released_.load() + size_, "ring.h (1)");
  reservation.lsn_ = tail;
  reservation.bytes_ = bytes;
  return true;
}

bool JournalRing::WaitForRoom(uint64_t bytes) {
  room_waits_.fetch_add(1, std::memory_order_relaxed);
  const MutexLock lock(mutex_);
  // (4): the committer stores `released_` and then loads `waiting_`.
  waiting_.fetch_add(1, std::memory_order_seq_cst);
  bool is_refused = false;
  while (!closed_.load(std::memory_order_relaxed) &&
         tail_.load(std::memory_order_seq_cst) + bytes >
             released_.load(std::memory_order_seq_cst) + size_) {
    is_refused = refuses_waits_.load(std::memory_order_relaxed);
    if (is_refused) break;
    room_.wait(mutex_);
  }
  waiting_.fetch_sub(1, std::memory_order_seq_cst);
  return !is_refused && !closed_.load(std::memory_order_relaxed);
}

std::unique_ptr<std::string> JournalRing::Copy(const Record& record) {
  return std::make_unique<std::string>(record.payload);
}

void JournalRing::Publish(Reservation reservation,
                          std::span<const Record> records,
                          std::span<std::unique_ptr<std::string>> large) {
  ACTORD_ASSERT(BytesOf(records) == reservation.bytes_,
                "ring.h: what was reserved is published");
  uint64_t lsn = reservation.lsn_ + reservation.bytes_;
  size_t next_large = large.size();
  // Backwards: the word of the first record is stored last and publishes all
  // records.
  for (size_t i = records.size(); i-- > 0;) {
    const Record& record = records[i];
    uint16_t flags = record.flags;
    lsn -= RecordBytes(record.payload.size());
    FailPoint();
    if (record.payload.size() > kByPointerBytes) {
      const auto address =
          reinterpret_cast<uintptr_t>(large[--next_large].release());
      WordAt(lsn + kRecordHeaderBytes)
          .store(address, std::memory_order_relaxed);
      flags |= kByPointerFlag;
    } else {
      CopyIn(lsn + kRecordHeaderBytes, record.payload);
    }
    FailPoint();
    ACTORD_ASSERT_HOT(WordAt(lsn).load(std::memory_order_relaxed) == 0,
                      "ring.h (2)");
    // (2); release: a thread that loads the word sees the payload, and the
    // later records of this reservation.
    WordAt(lsn).store(RecordWord(record.payload.size(), record.kind, flags),
                      std::memory_order_release);
  }
  reservation.bytes_ = 0;
  FailPoint();
  // (3): `tail_` was moved before, and the committer reads it after it has set
  // `sleeping_`.
  if (sleeping_.load(std::memory_order_seq_cst)) Wake();
}

void JournalRing::Wake() {
  if (sleeping_.exchange(false, std::memory_order_seq_cst)) parker_.Notify();
}

void JournalRing::Sleep(uint64_t timeout_ns) {
  sleeping_.store(true, std::memory_order_seq_cst);
  FailPoint();
  // (3)
  if (tail_.load(std::memory_order_seq_cst) == taken() &&
      !closed_.load(std::memory_order_relaxed)) {
    (void)parker_.Wait(timeout_ns);
  }
  sleeping_.store(false, std::memory_order_seq_cst);
}

void JournalRing::Close() {
  closed_.store(true, std::memory_order_seq_cst);
  {
    const MutexLock lock(mutex_);
    room_.notify_all();
  }
  Wake();
}

void JournalRing::RefuseWaits() {
  const MutexLock lock(mutex_);
  refuses_waits_.store(true, std::memory_order_relaxed);
  room_.notify_all();
}

bool JournalRing::HasPublished() const {
  return WordAt(taken()).load(std::memory_order_acquire) != 0;
}

JournalRing::Taken JournalRing::Take(uint64_t limit, std::string& out) {
  Taken result;
  uint64_t at = taken();
  for (;;) {
    // (2); pairs with the release in Publish.
    const uint64_t word = WordAt(at).load(std::memory_order_acquire);
    if (word == 0) break;
    const uint64_t length = word & UINT32_MAX;
    const uint64_t bytes = AlignUp(length, 8);
    if (result.records > 0 && result.bytes + bytes > limit) break;
    const uint64_t payload_bytes = length - kRecordHeaderBytes;
    const auto flags = static_cast<uint16_t>(word >> 48);
    const uint64_t shown = word & ~(uint64_t{kByPointerFlag} << 48);
    out.append(reinterpret_cast<const char*>(&shown), sizeof shown);
    if ((flags & kByPointerFlag) != 0) {
      const uint64_t address =
          WordAt(at + kRecordHeaderBytes).load(std::memory_order_relaxed);
      const std::unique_ptr<std::string> owner(
          std::bit_cast<std::string*>(address));
      out.append(*owner);
      Clear(at, 2 * kRecordHeaderBytes);
    } else {
      CopyOut(at + kRecordHeaderBytes, payload_bytes, out);
      Clear(at, bytes);
    }
    out.append(bytes - length, '\0');
    at += bytes;
    result.bytes += bytes;
    ++result.records;
  }
  if (result.records == 0) return result;
  ACTORD_ASSERT(at <= tail(), "ring.h (1)");
  FailPoint();
  taken_.store(at, std::memory_order_relaxed);
  // (2), (4); seq_cst, which includes release.
  released_.store(at, std::memory_order_seq_cst);
  FailPoint();
  if (waiting_.load(std::memory_order_seq_cst) > 0) {
    const MutexLock lock(mutex_);
    room_.notify_all();
  }
  return result;
}

void JournalRing::CopyIn(uint64_t lsn, std::string_view bytes) {
  const size_t first = std::min<size_t>(bytes.size(), size_ - (lsn & mask_));
  std::memcpy(At(lsn), bytes.data(), first);
  std::memcpy(memory_, bytes.data() + first, bytes.size() - first);
}

void JournalRing::CopyOut(uint64_t lsn, uint64_t bytes,
                          std::string& out) const {
  const uint64_t first = std::min(bytes, size_ - (lsn & mask_));
  out.append(At(lsn), first);
  out.append(memory_, bytes - first);
}

void JournalRing::Clear(uint64_t lsn, uint64_t bytes) {
  const uint64_t first = std::min(bytes, size_ - (lsn & mask_));
  std::memset(At(lsn), 0, first);
  std::memset(memory_, 0, bytes - first);
}

}  // namespace actord::runtime
