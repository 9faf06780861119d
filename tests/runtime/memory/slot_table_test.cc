// Slots: memory that is used again and again.
#include "runtime/memory/slot_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "runtime/system/random.h"
#include "tests/support/heap_bytes.h"

namespace actord::runtime {
namespace {

struct Thing {
  std::atomic<int> owners{0};
};

TEST(SlotTable, HandsOutTheLowestFirstAndNoMoreThanItsCapacity) {
  for (const size_t capacity : {size_t{1}, size_t{2}, size_t{5}, size_t{100}}) {
    SlotTable<Thing> table(capacity, 3, capacity);
    SlotTable<Thing>::Cache a, b;
    for (uint32_t i = 0; i < capacity; ++i) {
      EXPECT_EQ((i % 2 ? a : b).Allocate(table), i);
      EXPECT_EQ(table.SlotsInUse(), i + 1);
    }
    EXPECT_EQ(a.Allocate(table), SlotTable<Thing>::kNoSlot);
    // A small table holds nothing back: what one gives, another can have.
    b.Free(table, 0);
    EXPECT_EQ(a.Allocate(table), 0u);
    EXPECT_EQ(b.Allocate(table), SlotTable<Thing>::kNoSlot);
  }
}

TEST(SlotTable, KeepsAddressesAcrossChunks) {
  constexpr size_t kSlots = 3 * SlotTable<Thing>::kChunkSlots;
  SlotTable<Thing> table(kSlots, 1, kSlots);
  SlotTable<Thing>::Cache cache;
  std::set<uint32_t> slots;
  std::set<Thing*> things;
  for (size_t i = 0; i < kSlots - 200; ++i) {
    const uint32_t slot = cache.Allocate(table);
    ASSERT_LT(slot, kSlots);
    ASSERT_LT(slot, table.SlotsInUse());
    EXPECT_TRUE(slots.insert(slot).second);
    EXPECT_TRUE(things.insert(&table.At(slot)).second);
  }
  for (const uint32_t slot : slots) things.erase(&table.At(slot));
  EXPECT_TRUE(things.empty());
}

// It happens in a turn, and under the lock that all turns take.
TEST(SlotTable, GivingSlotsBackTakesNoMemory) {
  constexpr size_t kSlots = 20 * SlotTable<Thing>::kChunkSlots;
  SlotTable<Thing> table(kSlots, 1, kSlots);
  SlotTable<Thing>::Cache cache;
  std::vector<uint32_t> slots(kSlots);
  for (uint32_t& slot : slots) slot = cache.Allocate(table);
  // The cache has its room from here on.
  for (size_t i = 0; i < 1000; ++i) cache.Free(table, slots[i]);
  const size_t before = actord::testing::HeapBytes();
  for (size_t i = 1000; i < kSlots; ++i) cache.Free(table, slots[i]);
  EXPECT_EQ(actord::testing::HeapBytes(), before);
}

using Table = SlotTable<Thing>;

// How many the cache can allocate now.
size_t AllocateAll(Table& table, Table::Cache& cache,
                   std::vector<uint32_t>* slots = nullptr) {
  size_t got = 0;
  for (uint32_t slot; (slot = cache.Allocate(table)) != Table::kNoSlot; ++got) {
    if (slots != nullptr) slots->push_back(slot);
  }
  return got;
}

TEST(SlotTable, ALargeTableIsUsedUpAlsoIfOtherCachesHoldSlots) {
  constexpr size_t kSlots = 64 * 1000;
  Table table(kSlots, 4, kSlots);
  Table::Cache idle[3], cache;
  std::vector<uint32_t> slots;
  for (int i = 0; i < 1000; ++i) slots.push_back(cache.Allocate(table));
  for (size_t i = 0; i < slots.size(); ++i) {
    idle[i % 3].Free(table, slots[i]);
  }
  std::set<uint32_t> in_use;
  size_t held = 0;
  for (Table::Cache& other : idle) held += other.Next() != Table::kNoSlot;
  ASSERT_EQ(held, 3u) << "each of them holds some back";
  slots.clear();
  EXPECT_EQ(AllocateAll(table, cache, &slots), kSlots);
  in_use.insert(slots.begin(), slots.end());
  EXPECT_EQ(in_use.size(), kSlots);
  // What they hold does not come in on top.
  for (Table::Cache& other : idle) {
    EXPECT_EQ(other.Allocate(table), Table::kNoSlot);
  }
  // A slot that comes back to any cache is free for every cache.
  for (Table::Cache& other : idle) {
    other.Free(table, slots.back());
    in_use.erase(slots.back());
    slots.pop_back();
    const uint32_t slot = cache.Allocate(table);
    ASSERT_NE(slot, Table::kNoSlot);
    EXPECT_TRUE(in_use.insert(slot).second);
    slots.push_back(slot);
    EXPECT_EQ(other.Allocate(table), Table::kNoSlot);
    EXPECT_EQ(cache.Allocate(table), Table::kNoSlot);
  }
}

TEST(SlotTable, WhenEnoughHaveComeBackCachesHoldSomeAgain) {
  constexpr size_t kSlots = 64 * 1000;
  Table table(kSlots, 2, kSlots);
  Table::Cache idle, cache;
  idle.Free(table, idle.Allocate(table));
  for (int round = 0; round < 3; ++round) {
    std::vector<uint32_t> slots;
    ASSERT_EQ(AllocateAll(table, cache, &slots), kSlots);
    cache.Free(table, slots.back());
    EXPECT_EQ(cache.Next(), Table::kNoSlot) << "nothing is held back now";
    slots.pop_back();
    for (const uint32_t slot : slots) cache.Free(table, slot);
    EXPECT_NE(cache.Next(), Table::kNoSlot);
    idle.Free(table, idle.Allocate(table));
    EXPECT_NE(idle.Next(), Table::kNoSlot);
  }
}

TEST(SlotTable, ACacheThatGoesLeavesWhatItHeld) {
  constexpr size_t kSlots = 64 * 100;
  Table table(kSlots, 1, kSlots);
  Table::Cache cache;
  {
    Table::Cache gone;
    gone.Free(table, gone.Allocate(table));
    ASSERT_NE(gone.Next(), Table::kNoSlot);
  }
  EXPECT_EQ(AllocateAll(table, cache), kSlots);
  EXPECT_LE(table.SlotsInUse(), kSlots) << "no slot is lost";
}

TEST(SlotTable, ARetiredSlotIsMadeUpFor) {
  for (const size_t slots : {size_t{10}, size_t{64 * 100}}) {
    Table table(slots, 1, size_t{1} << 20);
    Table::Cache cache;
    for (int i = 0; i < 5; ++i) {
      ASSERT_NE(cache.Allocate(table), Table::kNoSlot);
      cache.Retire(table);
    }
    EXPECT_EQ(AllocateAll(table, cache), slots);
  }
}

// Caches hand out and take back while one thread after another finds the table
// used up: never are more in use than the limit, and at rest all of it can be.
TEST(SlotTable, SlotsInUseNeverExceedTheLimit) {
  constexpr size_t kThreads = 4;
  constexpr size_t kSlots = 64 * (kThreads + 1) * 2;
  Table table(kSlots, kThreads, kSlots);
  std::vector<Table::Cache> caches(kThreads);
  std::atomic<size_t> in_use{0};
  std::atomic<size_t> most{0};
  std::atomic<size_t> refused{0};
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<uint32_t>(t));
      std::vector<uint32_t> own;
      for (int i = 0; i < 200'000; ++i) {
        // Now it takes all that it can get, now it gives all back.
        const bool takes = (i / 997 + static_cast<int>(t)) % 3 != 0;
        if (takes ? random() % 8 != 0 : own.empty()) {
          const uint32_t slot = caches[t].Allocate(table);
          if (slot == Table::kNoSlot) {
            ++refused;
            continue;
          }
          const size_t now = ++in_use;
          size_t before = most;
          while (now > before && !most.compare_exchange_weak(before, now)) {
          }
          own.push_back(slot);
        } else if (!own.empty()) {
          --in_use;
          caches[t].Free(table, own.back());
          own.pop_back();
        }
      }
      while (!own.empty()) {
        --in_use;
        caches[t].Free(table, own.back());
        own.pop_back();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(most, kSlots);
  EXPECT_GT(refused, 0u);
  for (Table::Cache& cache : caches) {
    std::vector<uint32_t> slots;
    EXPECT_EQ(AllocateAll(table, cache, &slots), kSlots);
    for (const uint32_t slot : slots) cache.Free(table, slot);
  }
}

TEST(SlotTable, ARaisedLimitGoesUpToTheMaximum) {
  constexpr size_t kMax = SlotTable<Thing>::kChunkSlots;
  SlotTable<Thing> table(2, 1, kMax);
  SlotTable<Thing>::Cache cache;
  const auto allocate_all = [&] {
    size_t got = 0;
    while (cache.Allocate(table) != SlotTable<Thing>::kNoSlot) ++got;
    return got;
  };
  EXPECT_EQ(allocate_all(), 2u);
  table.SetLimit(5);
  EXPECT_EQ(allocate_all(), 3u);
  table.SetLimit(2 * kMax);
  EXPECT_EQ(allocate_all(), kMax - 5);
}

TEST(SlotTable, ALoweredLimitLeavesWhatIsOutAndCountsIt) {
  SlotTable<Thing> table(100, 1, 1000);
  SlotTable<Thing>::Cache cache;
  std::vector<uint32_t> slots;
  for (int i = 0; i < 10; ++i) slots.push_back(cache.Allocate(table));
  table.SetLimit(3);
  for (size_t left = slots.size(); left > 3; --left) {
    EXPECT_EQ(cache.Allocate(table), SlotTable<Thing>::kNoSlot);
    cache.Free(table, slots[left - 1]);
  }
  EXPECT_EQ(cache.Allocate(table), SlotTable<Thing>::kNoSlot);
  cache.Free(table, slots[0]);
  EXPECT_NE(cache.Allocate(table), SlotTable<Thing>::kNoSlot);
  EXPECT_EQ(cache.Allocate(table), SlotTable<Thing>::kNoSlot);
}

TEST(SlotTable, SlotsOfIdleCachesDoNotCountAgainstALoweredLimit) {
  constexpr size_t kSlots = 64 * 1000;
  SlotTable<Thing> table(kSlots, 2, kSlots);
  SlotTable<Thing>::Cache idle, other;
  std::vector<uint32_t> slots;
  for (int i = 0; i < 200; ++i) slots.push_back(other.Allocate(table));
  for (const uint32_t slot : slots) idle.Free(table, slot);
  table.SetLimit(4);
  size_t got = 0;
  while (other.Allocate(table) != SlotTable<Thing>::kNoSlot) ++got;
  EXPECT_EQ(got, 4u);
  // Nor does it come in on top.
  EXPECT_EQ(idle.Allocate(table), SlotTable<Thing>::kNoSlot);
}

TEST(SlotTable, NoSlotHasTwoOwners) {
  constexpr size_t kSlots = 5000;
  constexpr int kThreads = 3;
  SlotTable<Thing> table(kSlots, kThreads, kSlots);
  std::atomic<int> clashes{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      SlotTable<Thing>::Cache cache;
      std::vector<uint32_t> mine;
      Random random(static_cast<uint64_t>(t));
      for (int i = 0; i < 100'000; ++i) {
        const bool grow = i / 5000 % 2 == 0;
        if (mine.empty() || random.Next() % 4 < (grow ? 3u : 1u)) {
          const uint32_t slot = cache.Allocate(table);
          if (slot == SlotTable<Thing>::kNoSlot) continue;
          if (table.At(slot).owners.fetch_add(1) != 0) ++clashes;
          mine.push_back(slot);
        } else {
          table.At(mine.back()).owners.fetch_sub(1);
          cache.Free(table, mine.back());
          mine.pop_back();
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(clashes, 0);
}

}  // namespace
}  // namespace actord::runtime
