#include "runtime/journal/ring.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/journal/format.h"

namespace actord::runtime {
namespace {

constexpr uint16_t kKind = 7;

uint64_t AppendTo(JournalRing& ring, std::string_view payload) {
  const Record record = {kKind, 0, payload};
  JournalRing::Reservation place;
  EXPECT_TRUE(ring.Reserve(JournalRing::BytesOf({&record, 1}), place));
  const uint64_t lsn = place.lsn();
  std::vector<std::unique_ptr<std::string>> large;
  if (payload.size() > JournalRing::kByPointerBytes) {
    large.push_back(JournalRing::Copy(record));
  }
  ring.Publish(std::move(place), {&record, 1}, large);
  return lsn;
}

// All payloads that are published.
std::vector<std::string> TakeAll(JournalRing& ring, uint64_t limit) {
  std::vector<std::string> payloads;
  for (;;) {
    std::string bytes;
    uint64_t lsn = ring.taken();
    const JournalRing::Taken taken = ring.Take(limit, bytes);
    EXPECT_EQ(taken.bytes, bytes.size());
    if (taken.records == 0) return payloads;
    std::string_view rest = bytes;
    for (uint32_t i = 0; i < taken.records; ++i) {
      const std::optional<RecordView> record = TakeRecord(rest, lsn);
      if (!record) {
        ADD_FAILURE() << "no record at position " << lsn;
        return payloads;
      }
      EXPECT_EQ(record->kind, kKind);
      EXPECT_EQ(record->flags, 0);
      payloads.emplace_back(record->payload);
      lsn += RecordBytes(record->payload.size());
    }
    EXPECT_TRUE(rest.empty());
  }
}

TEST(JournalRing, KeepsTheOrderAcrossItsEnd) {
  JournalRing ring(4096, 8);
  uint64_t lsn = 8;
  for (int i = 0; i < 1000; ++i) {
    const std::string payload(static_cast<size_t>(i * 37 % 1500),
                              static_cast<char>('a' + i % 26));
    EXPECT_EQ(AppendTo(ring, payload), lsn);
    lsn += RecordBytes(payload.size());
    EXPECT_EQ(AppendTo(ring, "x"), lsn);
    lsn += RecordBytes(1);
    EXPECT_THAT(TakeAll(ring, UINT64_MAX), testing::ElementsAre(payload, "x"));
    EXPECT_EQ(ring.taken(), lsn);
    EXPECT_EQ(ring.tail(), lsn);
  }
}

TEST(JournalRing, PassesLargePayloadsByPointer) {
  JournalRing ring(1 << 20, 8);
  for (int i = 0; i < 50; ++i) {
    const std::string large(JournalRing::kByPointerBytes + 1 + i, 'l');
    const uint64_t first = AppendTo(ring, large);
    EXPECT_EQ(AppendTo(ring, "s"), first + RecordBytes(large.size()));
    EXPECT_THAT(TakeAll(ring, 1000), testing::ElementsAre(large, "s"));
  }
  // A record that nobody takes is freed with the ring: the leak check sees it.
  (void)AppendTo(ring, std::string(JournalRing::kByPointerBytes + 1, 'l'));
}

TEST(JournalRingDeathTest, AReservationMustBePublished) {
  EXPECT_DEATH(
      {
        JournalRing ring(4096, 8);
        JournalRing::Reservation place;
        (void)ring.Reserve(16, place);
      },
      "a reservation is published");
}

TEST(JournalRing, AClosedRingRefuses) {
  JournalRing ring(4096, 8);
  (void)AppendTo(ring, "before");
  ring.Close();
  JournalRing::Reservation place;
  EXPECT_FALSE(ring.Reserve(16, place));
  EXPECT_THAT(TakeAll(ring, 1000), testing::ElementsAre("before"));
}

TEST(JournalRing, RefusesInsteadOfWaitingWhenItIsToldTo) {
  JournalRing ring(4096, 8);
  (void)AppendTo(ring, std::string(1500, 'a'));
  (void)AppendTo(ring, std::string(1500, 'b'));
  bool has_room = true;
  std::thread waits([&] {
    JournalRing::Reservation place;
    has_room = ring.Reserve(1600, place);
  });
  while (ring.room_waits() == 0) std::this_thread::yield();
  ring.RefuseWaits();
  waits.join();
  EXPECT_FALSE(has_room);
  JournalRing::Reservation place;
  EXPECT_FALSE(ring.Reserve(1600, place));
  (void)AppendTo(ring, "what fits is taken");
}

// Several threads append to a small ring, so they wait for room.
TEST(JournalRing, ThreadsLoseAndRepeatNothing) {
  constexpr int kThreads = 4;
  constexpr int kRecords = 20000;
  JournalRing ring(4096, 8);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&ring, t] {
      for (int i = 0; i < kRecords; ++i) {
        std::string payload = std::to_string(t) + " " + std::to_string(i) + " ";
        payload.resize(payload.size() + static_cast<size_t>(i % 200), 'p');
        (void)AppendTo(ring, payload);
      }
    });
  }
  std::vector<int> next(kThreads, 0);
  int taken = 0;
  while (taken < kThreads * kRecords) {
    for (const std::string& payload : TakeAll(ring, 1000)) {
      const size_t space = payload.find(' ');
      const int thread = std::stoi(payload.substr(0, space));
      ASSERT_EQ(std::stoi(payload.substr(space + 1)), next[thread]);
      ASSERT_EQ(payload.size(),
                payload.find(' ', space + 1) + 1 + next[thread] % 200);
      ++next[thread];
      ++taken;
    }
    ring.Sleep(1'000'000'000);
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ring.taken(), ring.tail());
  EXPECT_GT(ring.room_waits(), 0u);
}

}  // namespace
}  // namespace actord::runtime
