// Publishers, subscribers that come and go, and slow ones, on many threads.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "runtime/scheduler/lane.h"
#include "runtime/topics/topics.h"
#include "tests/runtime/system/manual_clock.h"

namespace actord::runtime {
namespace {

constexpr int kPublishers = 3;
constexpr uint64_t kPublicationsOfEach = 20'000;

// Takes on the thread that wakes it, as a stream does.
class Reader final : public SubscriptionListener {
 public:
  void Wake() override { Drain(); }

  void Drain() {
    const MutexLock lock(mutex);
    for (;;) {
      const Subscription::Batch batch = subscription->Take({.items = 64});
      if (batch.empty()) return;
      for (const Subscription::Item& item : batch.items) {
        EXPECT_EQ(item.sequence, last_sequence + item.missed + 1);
        last_sequence = item.sequence;
        missed += item.missed;
        ++got;
        const Envelope& content = *item.publication->content;
        const uint64_t number =
            std::stoull(std::string(View(content.payload().bytes)));
        uint64_t& last = last_of[std::string(content.topic())];
        EXPECT_GT(number, last) << content.topic();
        last = number;
      }
      missed += batch.missed;
      last_sequence += batch.missed;
    }
  }

  Mutex mutex;
  std::shared_ptr<Subscription> subscription;
  std::map<std::string, uint64_t> last_of;
  uint64_t last_sequence = 0;
  uint64_t got = 0;
  uint64_t missed = 0;
};

TEST(TopicsThreads, KeepOrderAndCountWhatIsLost) {
  BufferPool pool;
  Lane shared(pool, Lane::Use::kShared);
  const ManualClock clock;
  Topics topics(clock, shared);
  std::vector<std::shared_ptr<Reader>> readers;
  for (int i = 0; i < 3; ++i) {
    auto reader = std::make_shared<Reader>();
    const MutexLock lock(reader->mutex);
    reader->subscription =
        *topics.Open(Owner::kNobody, {"topic/*", "topic/0"}, reader);
    readers.push_back(reader);
  }
  for (const auto& reader : readers) reader->Drain();
  std::atomic<bool> done{false};
  // Comes and goes, and never reads.
  std::thread comes_and_goes([&] {
    while (!done) {
      const auto open = topics.Open(Owner::kNobody, {"topic/1", "t*"},
                                    std::make_shared<Reader>());
      ASSERT_TRUE(open.ok());
      topics.Close(**open);
    }
  });
  std::vector<std::thread> publishers;
  for (int i = 0; i < kPublishers; ++i) {
    publishers.emplace_back([&, i] {
      const std::string topic = "topic/" + std::to_string(i);
      for (uint64_t n = 1; n <= kPublicationsOfEach; ++n) {
        const std::string text = std::to_string(n);
        topics.Publish(Owner::kNobody,
                       Own(shared.NewEnvelope(ACTORD_EVENT_MESSAGE, topic,
                                              {ToAbi(text), {}}),
                           shared),
                       shared);
      }
    });
  }
  for (std::thread& publisher : publishers) publisher.join();
  done = true;
  comes_and_goes.join();
  for (const auto& reader : readers) {
    reader->Drain();
    const MutexLock lock(reader->mutex);
    EXPECT_EQ(reader->got + reader->missed, kPublishers * kPublicationsOfEach);
    EXPECT_EQ(reader->last_of.size(), size_t{kPublishers});
  }
  for (const auto& reader : readers) topics.Close(*reader->subscription);
}

}  // namespace
}  // namespace actord::runtime
