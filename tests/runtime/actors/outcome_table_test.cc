#include "runtime/actors/outcome_table.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace actord::runtime {
namespace {

Pid PidInSlot(uint32_t slot, uint32_t generation = 1) {
  return {.node = 1, .incarnation = 1, .slot = slot, .generation = generation};
}

Outcome OutcomeAfter(uint64_t steps, std::string message = "") {
  Outcome outcome;
  outcome.steps = steps;
  if (!message.empty()) outcome.kind = EndKind::kFailed;
  outcome.message = std::move(message);
  return outcome;
}

void AddEmpty(OutcomeTable& table, uint32_t slot, uint64_t now_ns = 0) {
  table.Add(PidInSlot(slot), now_ns, OutcomeAfter(slot));
}

TEST(OutcomeTable, GivesBackWhatWasAdded) {
  OutcomeTable table;
  Outcome outcome = OutcomeAfter(7, "why");
  outcome.kind = EndKind::kFailed;
  outcome.code = absl::StatusCode::kAborted;
  outcome.started_unix_ns = 3;
  outcome.ended_unix_ns = 5;
  outcome.owner = Owner{4};
  outcome.type = UINT16_MAX;
  EndedTags tags;
  tags.name = "nightly";
  outcome.tags = std::make_shared<const EndedTags>(tags);
  table.Add(PidInSlot(1), 9, Outcome(outcome));
  const std::optional<Outcome> found = table.Find(PidInSlot(1));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->kind, outcome.kind);
  EXPECT_EQ(found->code, outcome.code);
  EXPECT_EQ(found->message, "why");
  EXPECT_EQ(found->steps, 7u);
  EXPECT_EQ(found->owner, Owner{4});
  EXPECT_EQ(found->type, UINT16_MAX);
  EXPECT_EQ(found->tags->name, "nightly");
  EXPECT_EQ(found->started_unix_ns, 3u);
  EXPECT_EQ(found->ended_unix_ns, 5u);
  EXPECT_EQ(table.oldest_since_ns(), 9u);
  EXPECT_FALSE(table.Find(PidInSlot(2)));
  EXPECT_FALSE(table.Find(PidInSlot(1, 3))) << "another process of the slot";

  Outcome result = OutcomeAfter(UINT64_MAX);
  result.result = {"result", "text/plain"};
  table.Add(PidInSlot(2), 9, Outcome(result));
  const std::optional<Outcome> second = table.Find(PidInSlot(2));
  ASSERT_TRUE(second);
  EXPECT_EQ(second->kind, EndKind::kResult);
  EXPECT_EQ(second->result.bytes, "result");
  EXPECT_EQ(second->result.content_type, "text/plain");
  EXPECT_EQ(second->message, "");
  EXPECT_EQ(second->type, 0);
  EXPECT_EQ(second->tags, nullptr);
  EXPECT_EQ(second->steps, (uint64_t{1} << 48) - 1) << "no room for more";
}

// The hash table doubles several times, and outcomes are found also while the
// newest are in no bucket.
TEST(OutcomeTable, FindsEachOfManyWheneverItIsAsked) {
  constexpr uint32_t kCount = 5000;
  OutcomeTable table;
  for (uint32_t i = 0; i < kCount; ++i) {
    AddEmpty(table, i);
    for (const uint32_t asked : {i, i / 2, 0u}) {
      const std::optional<Outcome> found = table.Find(PidInSlot(asked));
      ASSERT_TRUE(found) << asked << " of " << i;
      ASSERT_EQ(found->steps, asked);
    }
    ASSERT_FALSE(table.Find(PidInSlot(i + 1)));
  }
}

// Slots that are 1,024 apart share a bucket.
TEST(OutcomeTable, RemovedOutcomeIsNotFoundInItsBucket) {
  OutcomeTable table;
  for (uint32_t i = 0; i < 10; ++i) AddEmpty(table, i * 1024);
  for (uint32_t removed = 0; removed < 10; ++removed) {
    for (uint32_t i = 0; i < 10; ++i) {
      EXPECT_EQ(table.Find(PidInSlot(i * 1024)).has_value(), i >= removed) << i;
    }
    table.RemoveOldest();
  }
  EXPECT_TRUE(table.empty());
}

TEST(OutcomeTable, OldestGoFirstAlsoBeforeTheyAreInABucket) {
  OutcomeTable table;
  for (uint32_t i = 0; i < 5; ++i) AddEmpty(table, i, 100 + i);
  for (uint32_t i = 0; i < 5; ++i) {
    EXPECT_EQ(table.oldest_since_ns(), 100 + i);
    table.RemoveOldest();
  }
  AddEmpty(table, 9);
  EXPECT_TRUE(table.Find(PidInSlot(9)));
  EXPECT_FALSE(table.Find(PidInSlot(4)));
}

// Invariants (1) and (4): numbers wrap round.
TEST(OutcomeTable, FindsAcrossTheWrapOfItsNumbers) {
  constexpr uint32_t kKept = 50;
  for (const uint32_t before : {0u, 1u, 10u, 40u, 100u}) {
    OutcomeTable table(0u - before);
    for (uint32_t i = 0; i < 200; ++i) {
      AddEmpty(table, i);
      if (table.size() > kKept) table.RemoveOldest();
      ASSERT_TRUE(table.Find(PidInSlot(i))) << before << ' ' << i;
      const uint32_t oldest = i < kKept ? 0 : i + 1 - kKept;
      ASSERT_TRUE(table.Find(PidInSlot(oldest))) << before << ' ' << i;
      if (oldest > 0) {
        ASSERT_FALSE(table.Find(PidInSlot(oldest - 1))) << before << ' ' << i;
      }
      ASSERT_FALSE(table.Find(PidInSlot(i + 1))) << before << ' ' << i;
    }
  }
}

TEST(OutcomeTable, ChargesTextAndGivesItBack) {
  OutcomeTable table;
  table.Add(PidInSlot(1), 0, OutcomeAfter(1));
  const size_t empty = table.bytes();
  table.Add(PidInSlot(2), 0, OutcomeAfter(1, std::string(100, 'x')));
  EXPECT_EQ(table.bytes(), 2 * empty + 100);
  EXPECT_EQ(OutcomeTable::ChargeOf(OutcomeAfter(1, "four")), empty + 4);
  table.RemoveOldest();
  table.RemoveOldest();
  EXPECT_EQ(table.bytes(), 0u);
}

TEST(OutcomeTable, IsAsGoodAsNewAfterItShrank) {
  OutcomeTable table;
  for (uint32_t i = 0; i < 5000; ++i) AddEmpty(table, i);
  table.ShrinkIfEmpty();
  EXPECT_TRUE(table.Find(PidInSlot(0))) << "it was not empty";
  while (!table.empty()) table.RemoveOldest();
  table.ShrinkIfEmpty();
  for (uint32_t i = 0; i < 100; ++i)
    EXPECT_FALSE(table.Find(PidInSlot(i))) << i;
  for (uint32_t i = 0; i < 100; ++i) AddEmpty(table, i);
  for (uint32_t i = 0; i < 100; ++i) EXPECT_TRUE(table.Find(PidInSlot(i))) << i;
}

}  // namespace
}  // namespace actord::runtime
