// How processes ended, in the order of their ends, and found by their PIDs. It
// is the structure alone: who waits for an outcome, and when one is forgotten,
// is the business of Results.
//
// Every submitted process passes through here, and its outcome soon is cold
// memory. So an outcome without text is one cache line, in the order of the
// ends, and to remove it touches no other line.
//
// Invariants:
//  (1) Outcomes have consecutive numbers, modulo 2^32, from the oldest to the
//      newest. There are fewer than 2^32 of them.
//  (2) A bucket of the hash table holds the number of the newest outcome that
//      was linked into it. Each outcome says how many numbers ago came the next
//      older one of its bucket (0: none). So the ages along a bucket increase.
//  (3) A walk along a bucket ends at an age of a removed outcome. So nothing is
//      taken out of a bucket when the oldest outcome is removed.
//  (4) A number that is so old that it has wrapped round seems to be new. Then
//      the bucket leads to outcomes of other buckets. Find compares PIDs, and
//      ages still increase, so it finds nothing wrong and ends.
//  (5) The newest `unlinked_` outcomes are in no bucket yet: the hash table is
//      cold, too, so outcomes are linked some at a time, and the lines of their
//      buckets are fetched together. Find links all of them first.
//
// Thread-safety: none; the owner locks. WantsBlock: any thread. Ownership: owns
// its outcomes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/memory/block_queue.h"
#include "runtime/process/outcome.h"
#include "runtime/process/pid.h"

namespace actord::runtime {

class OutcomeTable {
  struct Kept;

 public:
  // By (1).
  static constexpr size_t kMaxSize = UINT32_MAX;
  using Block = BlockQueue<Kept>::Block;

  // `first_number`: of the first outcome; for tests.
  explicit OutcomeTable(uint32_t first_number = 1);

  // An Add that finds no block makes one, with page faults. WantsBlock, a hint,
  // says that a block should be made beforehand, where nobody waits for it.
  [[nodiscard]] bool WantsBlock() const { return kept_.WantsBlock(); }
  static std::unique_ptr<Block> NewBlock() {
    return BlockQueue<Kept>::NewBlock();
  }
  void Give(std::unique_ptr<Block>& block) { kept_.Give(block); }

  // Precondition: fewer than kMaxSize are there.
  void Add(const Pid& pid, uint64_t now_ns, Outcome&& outcome);
  // nullopt: it is not there.
  [[nodiscard]] std::optional<Outcome> Find(const Pid& pid);
  // Precondition: not empty.
  void RemoveOldest();
  // When the oldest was added. Precondition: not empty.
  [[nodiscard]] uint64_t oldest_since_ns() const { return kept_[0].since_ns; }
  // Gives back the memory of the hash table, if no outcome is left.
  void ShrinkIfEmpty();

  [[nodiscard]] bool empty() const { return kept_.empty(); }
  [[nodiscard]] size_t size() const { return kept_.size(); }
  // What all are charged.
  [[nodiscard]] size_t bytes() const { return bytes_; }
  // What one is charged: its text, and what the tables need for it.
  static size_t ChargeOf(const Outcome& outcome) {
    return ChargeOf(outcome.result, outcome.message);
  }

 private:
  static constexpr size_t kFirstBuckets = 1024;
  // The lines that a processor has on their way at the same time, and some.
  // performance-notes: Results chained.
  static constexpr size_t kLinkedAtOnce = 16;
  static constexpr size_t kOverheadBytes = 256;

  // What of an outcome is seldom there.
  struct Text {
    Payload result;
    std::string message;
  };
  struct Kept {
    Pid pid;
    uint64_t since_ns = 0;
    uint64_t started_unix_ns = 0;
    uint64_t ended_unix_ns = 0;
    uint64_t steps = 0;
    std::unique_ptr<Text> text;    // null: all of it is empty
    uint32_t older_in_bucket = 0;  // (2)
    EndKind kind = EndKind::kResult;
    uint8_t code = 0;
  };
  static_assert(sizeof(Kept) == 64);

  static Outcome Unpack(const Kept& kept);
  static size_t ChargeOf(const Payload& result, std::string_view message);
  static size_t ChargeOf(const Kept& kept);
  // (5)
  void LinkNewest();
  void Link(size_t index);
  [[nodiscard]] size_t BucketOf(const Pid& pid) const;

  // Oldest first; a place that is used again holds an older one's fields, but
  // no text. The first has number `first_`.
  BlockQueue<Kept> kept_;
  uint32_t first_;
  // Numbers (2). The size is a power of two, and at least the count of the
  // outcomes that are linked.
  std::vector<uint32_t> buckets_;
  size_t unlinked_ = 0;
  size_t bytes_ = 0;
};

}  // namespace actord::runtime
