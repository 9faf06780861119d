// The outcomes of ended processes, in the order of the ends and by PID. This
// class is only the data structure: Results keeps the awaiters and decides when
// an outcome is dropped.
//
// The outcome of every submitted process is stored here, and is soon cold
// memory. So an outcome without text is one cache line, the lines are in the
// order of the ends, and a removal touches no other line.
//
// Invariants:
//  (1) Outcomes have consecutive numbers from the oldest to the newest. There
//      are fewer than 2^32 of them, so the lower 32 bits tell them apart.
//  (2) A bucket of the hash table holds these bits of the newest outcome that
//      was linked into it. Each outcome holds the distance to the number of the
//      next older outcome in its bucket (0: there is none). So the ages along a
//      bucket increase.
//  (3) A walk along a bucket ends at the age of a removed outcome. So the
//      removal of the oldest outcome does not change its bucket.
//  (4) A number that is so old that its lower bits have wrapped round seems to
//      be new. Then the bucket leads to outcomes of other buckets. Find
//      compares PIDs, and ages still increase, so Find returns no wrong outcome
//      and ends.
//  (5) The newest `unlinked_` outcomes are in no bucket yet. The hash table is
//      cold, too, so outcomes are linked in batches, and the lines of their
//      buckets are fetched together. Find first links all outcomes.
// tests/runtime/actors/outcome_table_test.cc checks (3) and (4).
//
// Thread-safety: none; the owner locks. WantsBlock: any thread. Ownership: owns
// the outcomes.
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
#include "runtime/system/assert.h"

namespace actord::runtime {

class OutcomeTable {
  struct Kept;

 public:
  // The limit of (1).
  static constexpr size_t kMaxSize = UINT32_MAX;
  using Block = BlockQueue<Kept>::Block;

  // `first_number`: the number of the first outcome; for tests.
  explicit OutcomeTable(uint64_t first_number = 1);

  // An Add without a spare block makes a block, with page faults. WantsBlock is
  // a hint that a block should be made beforehand, where no thread waits for
  // it.
  [[nodiscard]] bool WantsBlock() const { return kept_.WantsBlock(); }
  static std::unique_ptr<Block> NewBlock() {
    return BlockQueue<Kept>::NewBlock();
  }
  void Give(std::unique_ptr<Block>& block) { kept_.Give(block); }

  // Precondition: size() < kMaxSize.
  void Add(const Pid& pid, uint64_t now_ns, Outcome&& outcome);
  // nullopt: the table has no outcome of `pid`.
  [[nodiscard]] std::optional<Outcome> Find(const Pid& pid);
  // Precondition: not empty.
  void RemoveOldest();
  // The time when the oldest outcome was added. Precondition: not empty.
  [[nodiscard]] uint64_t oldest_since_ns() const {
    ACTORD_ASSERT_HOT(!kept_.empty(), "outcome_table.h: there is an outcome");
    return kept_[0].since_ns;
  }
  // One outcome, without its result. Valid until the next call.
  struct Seen {
    const Pid& pid;
    uint64_t since_ns;
    uint64_t started_unix_ns;
    uint64_t ended_unix_ns;
    uint64_t steps;
    EndKind kind;
    absl::StatusCode code;
    Owner owner;
    uint16_t type;
    std::string_view message;  // of a failure
    const EndedTags* tags;     // null: none
  };
  // The number of the oldest outcome (1); the newest has first() + size() - 1.
  [[nodiscard]] uint64_t first() const { return first_; }
  // Precondition: an outcome has the number.
  [[nodiscard]] Seen See(uint64_t number) const;
  // Frees the memory of the hash table if no outcome is left.
  void ShrinkIfEmpty();

  [[nodiscard]] bool empty() const { return kept_.empty(); }
  [[nodiscard]] size_t size() const { return kept_.size(); }
  // The charge of all outcomes, in bytes.
  [[nodiscard]] size_t bytes() const { return bytes_; }
  // The charge of one outcome: its text, and its part of the tables.
  static size_t ChargeOf(const Outcome& outcome);

 private:
  static constexpr size_t kFirstBuckets = 1024;
  // A little more than the number of cache lines that a processor fetches at
  // the same time. performance-notes: Results chained.
  static constexpr size_t kLinkedAtOnce = 16;
  static constexpr size_t kOverheadBytes = 256;

  // The rare parts of an outcome.
  struct Text {
    // The result, or the message of the failure in `bytes`.
    Payload payload;
    std::shared_ptr<const EndedTags> tags;
  };
  static constexpr uint64_t kMaxSteps = (uint64_t{1} << 48) - 1;
  struct Kept {
    Pid pid;
    uint64_t since_ns = 0;
    uint64_t started_unix_ns = 0;
    uint64_t ended_unix_ns = 0;
    uint64_t steps : 48 =
        0;  // at most kMaxSteps: 326 days at 10 million a second
    uint64_t type : 16 = 0;
    std::unique_ptr<Text> text;    // null: everything in it is empty
    uint32_t older_in_bucket = 0;  // (2)
    EndKind kind = EndKind::kResult;
    uint8_t code = 0;
    Owner owner = Owner::kNobody;
  };
  static_assert(sizeof(Kept) == 64);

  static Outcome Unpack(const Kept& kept);
  static size_t ChargeOf(const Payload& payload, const EndedTags* tags);
  static size_t ChargeOf(const Kept& kept);
  // (5)
  void LinkNewest();
  void Link(size_t index);
  [[nodiscard]] size_t BucketOf(const Pid& pid) const;

  // Oldest first. A reused place holds the fields of an older outcome, but no
  // text. The oldest outcome has the number `first_`.
  BlockQueue<Kept> kept_;
  uint64_t first_;
  // The numbers of (2). The size is a power of two, and at least the number of
  // linked outcomes.
  std::vector<uint32_t> buckets_;
  size_t unlinked_ = 0;
  size_t bytes_ = 0;
};

}  // namespace actord::runtime
