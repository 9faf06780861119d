#include "daemon/spans/span_queue.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace actord::daemon {
namespace {

EndedSpan Numbered(uint64_t number) {
  EndedSpan span;
  span.span.begin_ns = number;
  return span;
}

TEST(SpanQueue, DropsAndCountsTheNewestAboveItsLimit) {
  SpanQueue queue(
      {.max_spans = 3, .batch_spans = 2, .batch_wait = absl::ZeroDuration()});
  for (uint64_t i = 1; i <= 5; ++i) queue.Push(Numbered(i));
  EXPECT_EQ(queue.dropped(), 2u);
  std::vector<EndedSpan> batch = queue.TakeBatch();
  ASSERT_EQ(batch.size(), 2u);
  EXPECT_EQ(batch[0].span.begin_ns, 1u);
  EXPECT_EQ(batch[1].span.begin_ns, 2u);
  queue.Push(Numbered(6));  // there is room again
  batch = queue.TakeBatch();
  ASSERT_EQ(batch.size(), 2u);
  EXPECT_EQ(batch[0].span.begin_ns, 3u);
  EXPECT_EQ(batch[1].span.begin_ns, 6u);
}

TEST(SpanQueue, FullBatchDoesNotWait) {
  SpanQueue queue({.batch_spans = 2, .batch_wait = absl::Hours(1)});
  queue.Push(Numbered(1));
  std::thread other([&queue] { queue.Push(Numbered(2)); });
  EXPECT_EQ(queue.TakeBatch().size(), 2u);
  other.join();
}

TEST(SpanQueue, PartOfABatchWaitsForTheOthersOnlySoLong) {
  SpanQueue queue({.batch_spans = 2, .batch_wait = absl::Milliseconds(1)});
  queue.Push(Numbered(1));
  EXPECT_EQ(queue.TakeBatch().size(), 1u);
}

TEST(SpanQueue, CloseEndsTheWaitsAndDropsWhatComesLater) {
  SpanQueue queue({.batch_spans = 2, .batch_wait = absl::Hours(1)});
  queue.Push(Numbered(1));
  queue.Close();
  EXPECT_TRUE(queue.IsClosed());
  queue.Push(Numbered(2));
  EXPECT_EQ(queue.dropped(), 1u);
  EXPECT_EQ(queue.TakeBatch().size(), 1u);
  EXPECT_TRUE(queue.TakeBatch().empty());
  queue.Pause(absl::Hours(1));
}

TEST(SpanQueue, ClearCountsItsSpans) {
  SpanQueue queue({.batch_wait = absl::ZeroDuration()});
  queue.Push(Numbered(1));
  queue.Push(Numbered(2));
  queue.Clear();
  queue.CountDropped(3);
  EXPECT_EQ(queue.dropped(), 5u);
  queue.Close();
  EXPECT_TRUE(queue.TakeBatch().empty());
}

}  // namespace
}  // namespace actord::daemon
