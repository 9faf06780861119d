#include "runtime/process/mailbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "runtime/process/envelope.h"

namespace actord::runtime {
namespace {

using ::testing::ElementsAre;

// Envelopes with a number in their tag.
struct NumberedEnvelope : Envelope {
  NumberedEnvelope() : Envelope(ACTORD_EVENT_COMPLETION) {}
};
std::vector<NumberedEnvelope> Numbered(size_t count) {
  std::vector<NumberedEnvelope> envelopes(count);
  for (size_t i = 0; i < count; ++i) envelopes[i].completion.tag = i;
  return envelopes;
}

TEST(MessageQueue, IsFirstInFirstOut) {
  auto envelopes = Numbered(5);
  MessageQueue queue;
  EXPECT_EQ(queue.Pop(), nullptr);
  for (Envelope& envelope : envelopes) queue.Push(&envelope);
  for (Envelope& envelope : envelopes) EXPECT_EQ(queue.Pop(), &envelope);
  EXPECT_EQ(queue.Pop(), nullptr);
}

TEST(MessageQueue, CanBeEmptiedAndFilledAgain) {
  auto envelopes = Numbered(3);
  MessageQueue queue;
  for (int round = 0; round < 10; ++round) {
    for (size_t count = 1; count <= 3; ++count) {
      for (size_t i = 0; i < count; ++i) queue.Push(&envelopes[i]);
      for (size_t i = 0; i < count; ++i) EXPECT_EQ(queue.Pop(), &envelopes[i]);
      EXPECT_EQ(queue.Pop(), nullptr);
    }
  }
}

TEST(MessageQueue, TakesWhatIsLinkedOneByOne) {
  auto envelopes = Numbered(5);
  MessageQueue queue;
  for (size_t round = 0; round < 2; ++round) {
    if (round == 1) queue.Push(&envelopes[0]);
    envelopes[1].SetNext(&envelopes[2]);
    envelopes[2].SetNext(&envelopes[3]);
    // Left over from an earlier list; the push has to end it.
    envelopes[3].SetNext(&envelopes[0]);
    queue.PushLinked(&envelopes[1], &envelopes[3]);
    queue.Push(&envelopes[4]);
    for (size_t i = 1 - round; i < 5; ++i) {
      EXPECT_EQ(queue.Pop(), &envelopes[i]);
    }
    EXPECT_EQ(queue.Pop(), nullptr);
  }
}

// Takes at most this number of messages, and returns them.
std::vector<const Envelope*> PopUpTo(MessageQueue& queue, size_t most) {
  std::vector<const Envelope*> popped;
  queue.PopWhile([&](const Envelope* envelope) {
    popped.push_back(envelope);
    return popped.size() < most;
  });
  return popped;
}

TEST(MessageQueue, GoesOnWhereAWalkHasStopped) {
  for (size_t first = 1; first <= 4; ++first) {
    SCOPED_TRACE(first);
    auto envelopes = Numbered(4);
    MessageQueue queue;
    for (Envelope& envelope : envelopes) queue.Push(&envelope);
    EXPECT_EQ(PopUpTo(queue, first).size(), first);
    const auto others = PopUpTo(queue, 10);
    ASSERT_EQ(others.size(), 4 - first);
    for (size_t i = 0; i < others.size(); ++i) {
      EXPECT_EQ(others[i], &envelopes[first + i]);
    }
    EXPECT_TRUE(queue.IsEmpty());
  }
}

TEST(MessageQueue, AWalkEndsBeforeAGap) {
  auto envelopes = Numbered(4);
  MessageQueue queue;
  for (Envelope& envelope : envelopes) queue.Push(&envelope);
  // As if the producer of 3 had not linked it yet.
  envelopes[2].SetNext(nullptr);
  EXPECT_THAT(PopUpTo(queue, 10), ElementsAre(&envelopes[0], &envelopes[1]));
  EXPECT_THAT(PopUpTo(queue, 10), ::testing::IsEmpty());
  envelopes[2].SetNext(&envelopes[3]);
  EXPECT_THAT(PopUpTo(queue, 10), ElementsAre(&envelopes[2], &envelopes[3]));
}

// A producer between its two writes leaves a gap. Here its first write is
// undone and done by hand: what a push would have linked is unlinked again.
TEST(MessageQueue, TakesAGapForTheEndAndGoesOnWhenItIsClosed) {
  auto envelopes = Numbered(3);
  MessageQueue queue;
  for (Envelope& envelope : envelopes) queue.Push(&envelope);
  // As if the producer of 1 had not linked it yet.
  envelopes[0].SetNext(nullptr);
  // 0 is the last before the gap, and it stays: its link belongs to the
  // producer behind it.
  EXPECT_EQ(queue.Pop(), nullptr);
  EXPECT_EQ(queue.Pop(), nullptr);
  envelopes[0].SetNext(&envelopes[1]);  // the producer's second write
  EXPECT_EQ(queue.Pop(), &envelopes[0]);
  EXPECT_EQ(queue.Pop(), &envelopes[1]);
  EXPECT_EQ(queue.Pop(), &envelopes[2]);
  EXPECT_EQ(queue.Pop(), nullptr);
}

TEST(MessageQueue, KeepsTheOrderOfEachProducerAndLosesNothing) {
  constexpr size_t kProducers = 4;
  constexpr size_t kEach = 50'000;
  std::vector<std::vector<NumberedEnvelope>> envelopes;
  for (size_t i = 0; i < kProducers; ++i) envelopes.push_back(Numbered(kEach));
  for (size_t i = 0; i < kProducers; ++i) {
    for (Envelope& envelope : envelopes[i]) {
      envelope.generation = static_cast<uint32_t>(i);
    }
  }
  MessageQueue queue;
  std::vector<std::thread> producers;
  for (size_t i = 0; i < kProducers; ++i) {
    producers.emplace_back([&, i] {
      for (Envelope& envelope : envelopes[i]) queue.Push(&envelope);
    });
  }
  std::vector<uint64_t> next(kProducers, 0);
  for (size_t got = 0; got < kProducers * kEach;) {
    for (const Envelope* envelope : PopUpTo(queue, 1 + got % 100)) {
      ASSERT_EQ(envelope->completion.tag, next[envelope->generation]++);
      ++got;
    }
  }
  for (std::thread& producer : producers) producer.join();
  EXPECT_EQ(queue.Pop(), nullptr);
}

std::vector<uint64_t> TagsOf(const EnvelopeList& list) {
  std::vector<uint64_t> tags;
  for (Envelope* at = list.head(); at != nullptr; at = list.After(at)) {
    tags.push_back(at->completion.tag);
  }
  return tags;
}

TEST(UrgentQueue, AppendsAllOldestFirst) {
  auto envelopes = Numbered(4);
  UrgentQueue queue;
  EnvelopeList taken;
  queue.TakeAll(taken);
  EXPECT_TRUE(taken.empty());
  queue.Push(&envelopes[0]);
  queue.TakeAll(taken);
  queue.Push(&envelopes[1]);
  queue.Push(&envelopes[2]);
  queue.Push(&envelopes[3]);
  queue.TakeAll(taken);
  EXPECT_THAT(TagsOf(taken), ElementsAre(0, 1, 2, 3));
  for (Envelope& envelope : envelopes) EXPECT_EQ(taken.PopFront(), &envelope);
  EXPECT_EQ(taken.PopFront(), nullptr);
  EXPECT_TRUE(taken.empty());
  taken.PushBack(&envelopes[0]);
  EXPECT_THAT(TagsOf(taken), ElementsAre(0));
}

TEST(UrgentQueue, LosesNothingOfManyProducers) {
  constexpr size_t kProducers = 3;
  constexpr size_t kEach = 50'000;
  std::vector<std::vector<NumberedEnvelope>> envelopes;
  for (size_t i = 0; i < kProducers; ++i) envelopes.push_back(Numbered(kEach));
  UrgentQueue queue;
  std::vector<std::thread> producers;
  for (size_t i = 0; i < kProducers; ++i) {
    producers.emplace_back([&, i] {
      for (Envelope& envelope : envelopes[i]) {
        envelope.generation = static_cast<uint32_t>(i);
        queue.Push(&envelope);
      }
    });
  }
  std::vector<uint64_t> next(kProducers, 0);
  EnvelopeList taken;
  for (size_t got = 0; got < kProducers * kEach;) {
    queue.TakeAll(taken);
    while (const Envelope* envelope = taken.PopFront()) {
      ASSERT_EQ(envelope->completion.tag, next[envelope->generation]++);
      ++got;
    }
  }
  for (std::thread& producer : producers) producer.join();
}

TEST(Envelope, HoldsCopiesInItsOwnBuffer) {
  BufferPool pool;
  BufferCache cache(pool);
  std::string topic = "the topic";
  std::string bytes(3000, 'b');
  std::string type = "text/plain";
  Envelope* envelope = Envelope::Create(
      cache, ACTORD_EVENT_MESSAGE, topic,
      {ToAbi(std::string_view(bytes)), ToAbi(std::string_view(type))});
  topic.assign(topic.size(), '-');
  const std::string expected_bytes = bytes;
  bytes.assign(bytes.size(), '-');
  type.assign(type.size(), '-');
  actord_event event;
  envelope->WriteMessage(event);
  EXPECT_EQ(event.type, uint32_t{ACTORD_EVENT_MESSAGE});
  EXPECT_EQ(View(event.topic), "the topic");
  EXPECT_EQ(View(event.payload.bytes), expected_bytes);
  EXPECT_EQ(View(event.payload.content_type), "text/plain");
  EXPECT_EQ(envelope->bytes(),
            BufferCache::RoundUp(sizeof(Envelope) + 9 + 3000 + 10));
  Envelope::Destroy(cache, envelope);
}

TEST(Envelope, IsTheSameFromNewAndReusedMemoryOfEverySize) {
  for (const bool at_hand : {false, true}) {
    for (const size_t payload : {0, 24, 32, 33, 1000}) {
      for (const size_t topic : {0, 24, 32, 33}) {
        for (const size_t type : {0, 1}) {
          SCOPED_TRACE(::testing::Message() << at_hand << " " << payload << " "
                                            << topic << " " << type);
          BufferPool pool;
          BufferCache cache(pool);
          const std::string bytes(payload, 'b');
          const std::string topic_text(topic, 't');
          const std::string type_text(type, 'c');
          const actord_payload content{ToAbi(bytes), ToAbi(type_text)};
          const size_t used = sizeof(Envelope) + payload + topic + type;
          if (at_hand) cache.Deallocate(cache.Allocate(used), used);
          Envelope* const envelope = Envelope::Create(
              cache, ACTORD_EVENT_MESSAGE, topic_text, content);
          EXPECT_EQ(envelope->type, ACTORD_EVENT_MESSAGE);
          EXPECT_EQ(envelope->topic(), topic_text);
          EXPECT_EQ(View(envelope->payload().bytes), bytes);
          EXPECT_EQ(View(envelope->payload().content_type), type_text);
          EXPECT_EQ(envelope->bytes(), BufferCache::RoundUp(used));
          EXPECT_EQ(envelope->Next(), nullptr);
          EXPECT_EQ(envelope->generation, 0u);
          EXPECT_EQ(envelope->from.generation, 0u);
          Envelope::Destroy(cache, envelope);
        }
      }
    }
  }
}

TEST(Envelope, EmptyEnvelopeHasEmptyFields) {
  BufferPool pool;
  BufferCache cache(pool);
  Envelope* envelope = Envelope::Create(cache, ACTORD_EVENT_CANCEL, {}, {});
  actord_event event;
  envelope->WriteOther(event);
  EXPECT_EQ(event.topic.size, 0u);
  EXPECT_EQ(event.payload.bytes.size, 0u);
  EXPECT_EQ(event.payload.content_type.size, 0u);
  EXPECT_EQ(event.tag, 0u);
  EXPECT_EQ(envelope->completion.yield_slot, kNoYieldSlot);
  Envelope::Destroy(cache, envelope);
}

}  // namespace
}  // namespace actord::runtime
