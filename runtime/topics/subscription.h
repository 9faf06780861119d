// The publications that wait for one subscriber: a bounded queue.
//
// Each publication that matches gets the next sequence number, also when it is
// lost. When the queue is full, the oldest publications are dropped: a
// subscriber that falls behind gets the newest ones, and learns how many it has
// missed. A publication for which there is no memory (Topics) is lost itself.
//
// Bounds: kMaxPublications and kMaxBytes; one publication may be larger. The
// memory belongs to all queues that hold the publication together.
//
// Thread-safety: any thread. Order of locks: the lock of this class is the
// last.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/process/owner.h"
#include "runtime/process/owner_limits.h"
#include "runtime/scheduler/owned_envelope.h"
#include "runtime/system/mutex.h"

namespace actord::runtime {

// A publication of a process. All subscriptions that it matches share it.
// Constant. Its memory is counted where the pointers say, until it is gone.
struct Publication {
  OwnedEnvelope content;  // never null; `from` is the publisher
  Owner owner = Owner::kNobody;
  uint64_t unix_ns = 0;  // when it was published
  size_t bytes = 0;      // memory

  std::atomic<size_t>* counted_in = nullptr;  // null: not counted
  OwnerLimits* counted_for_owner = nullptr;   // null: not counted

  Publication() = default;
  Publication(const Publication&) = delete;
  Publication& operator=(const Publication&) = delete;
  ~Publication() {
    if (counted_in != nullptr) {
      counted_in->fetch_sub(bytes, std::memory_order_relaxed);
    }
    if (counted_for_owner != nullptr) counted_for_owner->Give(owner, bytes);
  }
};
using SharedPublication = std::shared_ptr<const Publication>;

// Woken when Take may return publications. Called on a thread of Topics,
// without locks; must not block.
class SubscriptionListener {
 public:
  virtual ~SubscriptionListener() = default;
  virtual void Wake() = 0;
};

class Subscription {
 public:
  static constexpr size_t kMaxPublications = 1024;
  static constexpr size_t kMaxBytes = size_t{1} << 20;

  struct Item {
    SharedPublication publication;
    uint64_t sequence = 0;
    // The publications that were lost since the item before.
    uint64_t missed = 0;
  };
  struct Batch {
    std::vector<Item> items;
    // The publications that were lost after the last item. Later items do not
    // count them again.
    uint64_t missed = 0;
    [[nodiscard]] bool empty() const { return items.empty() && missed == 0; }
  };
  // Limits of one Take. At least one item is taken.
  struct TakeLimits {
    size_t items = 1000;
    size_t bytes = size_t{256} << 10;
  };

  Subscription(Owner by, std::vector<std::string> patterns,
               std::shared_ptr<SubscriptionListener> listener)
      : by_(by),
        patterns_(std::move(patterns)),
        listener_(std::move(listener)) {}
  Subscription(const Subscription&) = delete;
  Subscription& operator=(const Subscription&) = delete;

  // Takes the oldest publications. If there are none, the listener is woken
  // once when there are some.
  Batch Take(const TakeLimits& limits);

 private:
  friend class Topics;

  struct Pushed {
    bool wakes = false;    // the listener is to be woken
    bool is_open = false;  // false: the subscription is closed
    uint64_t dropped = 0;  // publications that were dropped for this one
  };
  Pushed Push(const SharedPublication& publication);
  // A publication that matches is lost.
  Pushed Lose();
  // Drops all publications. Returns the listener, which is not woken again
  // unless a Wake has begun.
  std::shared_ptr<SubscriptionListener> Close();
  // Null: the subscription is closed.
  [[nodiscard]] std::shared_ptr<SubscriptionListener> listener() const;

  struct Waiting {
    SharedPublication publication;
    uint64_t sequence = 0;
  };

  const Owner by_;  // sees the publications of this owner
  const std::vector<std::string> patterns_;
  uint64_t matched_ = 0;  // the last publication that matched; of Topics

  mutable Mutex mutex_;
  // Null: closed.
  std::shared_ptr<SubscriptionListener> listener_ ABSL_GUARDED_BY(mutex_);
  std::deque<Waiting> queue_ ABSL_GUARDED_BY(mutex_);
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;       // in the queue
  uint64_t sequence_ ABSL_GUARDED_BY(mutex_) = 0;  // of the last that matched
  uint64_t told_ ABSL_GUARDED_BY(mutex_) = 0;  // the last taken or told as lost
  bool waits_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace actord::runtime
