// performance-notes: Results chained.
#include "runtime/actors/outcome_table.h"

#include <algorithm>
#include <utility>

#include "runtime/system/assert.h"
#include "runtime/system/processor.h"

namespace actord::runtime {

OutcomeTable::OutcomeTable(uint64_t first_number)
    : first_(first_number),
      buckets_(kFirstBuckets, static_cast<uint32_t>(first_number - 1)) {}

Outcome OutcomeTable::Unpack(const Kept& kept) {
  Outcome outcome{.kind = kept.kind,
                  .result = {},
                  .code = static_cast<absl::StatusCode>(kept.code),
                  .message = {},
                  .steps = kept.steps,
                  .started_unix_ns = kept.started_unix_ns,
                  .ended_unix_ns = kept.ended_unix_ns,
                  .owner = kept.owner,
                  .type = static_cast<uint16_t>(kept.type)};
  if (kept.text == nullptr) return outcome;
  outcome.tags = kept.text->tags;
  if (kept.kind == EndKind::kResult) {
    outcome.result = kept.text->payload;
  } else {
    outcome.message = kept.text->payload.bytes;
  }
  return outcome;
}

size_t OutcomeTable::ChargeOf(const Kept& kept) {
  return kept.text == nullptr
             ? kOverheadBytes
             : ChargeOf(kept.text->payload, kept.text->tags.get());
}

size_t OutcomeTable::ChargeOf(const Payload& payload, const EndedTags* tags) {
  return kOverheadBytes + payload.bytes.size() + payload.content_type.size() +
         (tags == nullptr ? 0 : tags->ChargeBytes());
}

size_t OutcomeTable::ChargeOf(const Outcome& outcome) {
  return outcome.kind == EndKind::kResult
             ? ChargeOf(outcome.result, outcome.tags.get())
             : ChargeOf({}, outcome.tags.get()) + outcome.message.size();
}

OutcomeTable::Seen OutcomeTable::See(uint64_t number) const {
  ACTORD_ASSERT(number - first_ < kept_.size(),
                "outcome_table.h: an outcome has the number");
  const Kept& kept = kept_[number - first_];
  const Text* const text = kept.text.get();
  return {.pid = kept.pid,
          .since_ns = kept.since_ns,
          .started_unix_ns = kept.started_unix_ns,
          .ended_unix_ns = kept.ended_unix_ns,
          .steps = kept.steps,
          .kind = kept.kind,
          .code = static_cast<absl::StatusCode>(kept.code),
          .owner = kept.owner,
          .type = static_cast<uint16_t>(kept.type),
          .message = text == nullptr || kept.kind == EndKind::kResult
                         ? std::string_view()
                         : std::string_view(text->payload.bytes),
          .tags = text == nullptr ? nullptr : text->tags.get()};
}

void OutcomeTable::Add(const Pid& pid, uint64_t now_ns, Outcome&& outcome) {
  ACTORD_ASSERT_HOT(kept_.size() < kMaxSize,
                    "outcome_table.h (1): the size is below kMaxSize");
  bytes_ += ChargeOf(outcome);
  // Filled in place: to copy a value that was written in parts elsewhere stalls
  // the processor.
  Kept& kept = kept_.push_back();
  kept.pid = pid;
  kept.since_ns = now_ns;
  kept.started_unix_ns = outcome.started_unix_ns;
  kept.ended_unix_ns = outcome.ended_unix_ns;
  kept.steps = std::min(outcome.steps, kMaxSteps) & kMaxSteps;
  kept.type = outcome.type;
  kept.kind = outcome.kind;
  kept.owner = outcome.owner;
  kept.code = static_cast<uint8_t>(outcome.code);
  Payload payload = outcome.kind == EndKind::kResult
                        ? std::move(outcome.result)
                        : Payload{std::move(outcome.message), {}};
  if (!payload.bytes.empty() || !payload.content_type.empty() ||
      outcome.tags != nullptr) {
    kept.text = std::make_unique<Text>(
        Text{std::move(payload), std::move(outcome.tags)});
  }
  if (++unlinked_ >= kLinkedAtOnce) LinkNewest();
}

void OutcomeTable::LinkNewest() {
  if (kept_.size() > buckets_.size()) {
    buckets_.assign(buckets_.size() * 2, static_cast<uint32_t>(first_ - 1));
    unlinked_ = kept_.size();
  }
  ACTORD_ASSERT_HOT((buckets_.size() & (buckets_.size() - 1)) == 0 &&
                        kept_.size() <= buckets_.size(),
                    "outcome_table.h (2)");
  ACTORD_ASSERT_HOT(unlinked_ <= kept_.size(), "outcome_table.h (5)");
  const size_t first = kept_.size() - std::exchange(unlinked_, 0);
  for (size_t i = first; i < kept_.size(); ++i) {
    PrefetchForWrite(&buckets_[BucketOf(kept_[i].pid)]);
  }
  for (size_t i = first; i < kept_.size(); ++i) Link(i);
}

void OutcomeTable::Link(size_t index) {
  Kept& kept = kept_[index];
  const auto number = static_cast<uint32_t>(first_ + index);
  uint32_t& newest = buckets_[BucketOf(kept.pid)];
  kept.older_in_bucket = number - newest;
  newest = number;
}

// Processes that end one after the other mostly have neighbouring slots of
// about the same generation, so they share the lines of the table. The
// generations are spread over the table.
size_t OutcomeTable::BucketOf(const Pid& pid) const {
  constexpr uint64_t kSpread = 0x9E3779B97F4A7C15;
  return (pid.slot + ((pid.generation * kSpread) >> 32)) &
         (buckets_.size() - 1);
}

std::optional<Outcome> OutcomeTable::Find(const Pid& pid) {
  LinkNewest();
  ACTORD_ASSERT_HOT(unlinked_ == 0, "outcome_table.h (5)");
  // The age of an outcome: how many outcomes ago it was added.
  size_t age =
      static_cast<uint32_t>(first_ + kept_.size()) - buckets_[BucketOf(pid)];
  while (age - 1 < kept_.size()) {
    const Kept& kept = kept_[kept_.size() - age];
    if (kept.pid == pid) return Unpack(kept);
    if (kept.older_in_bucket == 0) break;
    age += kept.older_in_bucket;
  }
  return std::nullopt;
}

void OutcomeTable::RemoveOldest() {
  ACTORD_ASSERT_HOT(!kept_.empty(), "outcome_table.h: the table is not empty");
  bytes_ -= ChargeOf(kept_.front());
  kept_.front().text.reset();
  kept_.pop_front();
  ++first_;
  unlinked_ = std::min(unlinked_, kept_.size());
}

void OutcomeTable::ShrinkIfEmpty() {
  if (!kept_.empty() || buckets_.size() == kFirstBuckets) return;
  // Filled with first_ - 1, because old numbers mean nothing in a table of
  // another size.
  std::vector<uint32_t>(kFirstBuckets, static_cast<uint32_t>(first_ - 1))
      .swap(buckets_);
}

}  // namespace actord::runtime
