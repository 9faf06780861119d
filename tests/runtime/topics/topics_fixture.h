// Subscriptions for tests, which note what they get.
//
// Thread-safety: one thread; Wake may come on any.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/topics/topics.h"

namespace actord::runtime {

class CountedWakes final : public SubscriptionListener {
 public:
  void Wake() override { wakes.fetch_add(1); }
  std::atomic<int> wakes{0};
};

class TestSubscriber {
 public:
  TestSubscriber(Topics& topics, std::vector<std::string> patterns,
                 Owner by = Owner::kNobody)
      : topics_(topics), listener(std::make_shared<CountedWakes>()) {
    auto opened = topics.Open(by, std::move(patterns), listener);
    EXPECT_TRUE(opened.ok()) << opened.status();
    if (opened.ok()) subscription = *std::move(opened);
  }
  ~TestSubscriber() { Close(); }
  TestSubscriber(const TestSubscriber&) = delete;
  TestSubscriber& operator=(const TestSubscriber&) = delete;

  void Close() {
    if (subscription != nullptr) topics_.Close(*subscription);
    subscription = nullptr;
  }
  // "TOPIC=BYTES" for each publication, "-N" for publications that were missed.
  std::vector<std::string> Take(const Subscription::TakeLimits& limits = {}) {
    std::vector<std::string> lines;
    const Subscription::Batch batch = subscription->Take(limits);
    for (const Subscription::Item& item : batch.items) {
      if (item.missed != 0) lines.push_back(absl::StrCat("-", item.missed));
      const Envelope& content = *item.publication->content;
      lines.push_back(absl::StrCat(std::string(content.topic()), "=",
                                   std::string(View(content.payload().bytes))));
    }
    if (batch.missed != 0) lines.push_back(absl::StrCat("-", batch.missed));
    return lines;
  }

 private:
  Topics& topics_;

 public:
  const std::shared_ptr<CountedWakes> listener;
  std::shared_ptr<Subscription> subscription;
};

}  // namespace actord::runtime
