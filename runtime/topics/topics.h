// Publications of processes, and the subscriptions from outside that get them.
//
// A publication reaches each subscription of the owner of its process that has
// a pattern which matches the topic; once, however many of its patterns match.
// Subscriptions of Owner::kAny get those of all owners. Publications of one
// process arrive in the order in which it has published them.
//
// Nothing is kept for a subscription that does not exist yet. Without
// subscriptions a publication costs one load, and is dropped.
//
// Bounds: kMaxOpen subscriptions. All publications that wait for subscribers
// have at most kMaxBytes, those of one owner kMaxBytesOfOwner (nobody's have no
// share of their own); a publication above that is lost for the subscriptions
// that it matches. The queue of each subscription: subscription.h.
//
// A publication costs the thread of its step the lock of the index, and for
// each subscription that it matches that of its queue. The index finds exact
// topics in a hash table, and prefixes in another one, once for each length
// that a prefix of the owner has.
//
// Thread-safety: any thread. Starts a thread of its own for the first
// subscription, which wakes listeners. Order of locks: the index, then a
// subscription; the list of woken subscriptions is apart from both.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/counters/stats.h"
#include "runtime/process/owner.h"
#include "runtime/process/owner_limits.h"
#include "runtime/process/pid.h"
#include "runtime/process/process.h"
#include "runtime/scheduler/lane.h"
#include "runtime/system/clock.h"
#include "runtime/system/mutex.h"
#include "runtime/system/thread.h"
#include "runtime/topics/publish_effect.h"
#include "runtime/topics/subscription.h"

namespace actord::runtime {

class Topics {
 public:
  static constexpr size_t kMaxPatterns = 64;
  // Each subscription is a stream, which costs the daemon tens of kilobytes.
  static constexpr size_t kMaxOpen = 4096;
  static constexpr size_t kMaxBytes = size_t{64} << 20;
  static constexpr size_t kMaxBytesOfOwner = size_t{16} << 20;

  // `lane`: for all threads; frees what subscribers have read. Borrowed.
  Topics(const Clock& clock, Lane& lane) : clock_(clock), lane_(lane) {}
  // Precondition: no subscription is open.
  ~Topics();
  Topics(const Topics&) = delete;
  Topics& operator=(const Topics&) = delete;

  // Opens a subscription of `by`, which gets all publications from now on.
  // INVALID_ARGUMENT: the patterns are not 1 to kMaxPatterns, each a topic or a
  // prefix that ends in '*'. RESOURCE_EXHAUSTED (SUBSCRIPTION_LIMIT): kMaxOpen
  // are open, which is counted, or the system has no more threads.
  absl::StatusOr<std::shared_ptr<Subscription>> Open(
      Owner by, std::vector<std::string> patterns,
      std::shared_ptr<SubscriptionListener> listener);
  // Closes a subscription, which then holds nothing. Its listener may be called
  // once more.
  void Close(Subscription& subscription);

  // Whether a publication could reach anyone. (Relaxed: a subscriber that must
  // get a publication has seen its subscription open, so the publisher has,
  // too, if the one happened before the other.)
  [[nodiscard]] bool IsHeard() const {
    return open_.load(std::memory_order_relaxed) != 0;
  }
  // For EffectOwners.
  void Apply(PublishEffect&& effect, Process& process, const Pid& self,
             Lane& lane);
  // Publishes `content`, which is freed when nothing needs it any more.
  void Publish(Owner owner, OwnedEnvelope content, Lane& lane);

  void AddTo(RuntimeStats& stats) const;

 private:
  using Matches = std::vector<std::shared_ptr<Subscription>>;
  // The subscriptions of one owner, by their patterns.
  struct Index {
    using ByText = absl::flat_hash_map<std::string, std::vector<Subscription*>>;
    ByText exact;
    ByText prefixes;  // without the '*'
    // How many texts of `prefixes` have which length.
    std::map<size_t, size_t> lengths;
  };

  void AddMatches(Owner by, std::string_view topic, Matches& matches)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AddNew(const std::vector<Subscription*>& found, Matches& matches)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Enter(Subscription& subscription) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Leave(Subscription& subscription) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Null: there is no memory for it.
  SharedPublication Keep(Owner owner, OwnedEnvelope content);
  absl::Status StartThread() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RunThread();

  const Clock& clock_;
  Lane& lane_;
  // Written under the lock of the index.
  std::atomic<size_t> open_{0};
  std::atomic<size_t> bytes_{0};  // relaxed: only a bound
  OwnerLimits bytes_of_;

  mutable Mutex mutex_;
  absl::flat_hash_map<Owner, Index> index_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<Subscription*, std::shared_ptr<Subscription>>
      subscriptions_ ABSL_GUARDED_BY(mutex_);
  uint64_t published_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t refused_ ABSL_GUARDED_BY(mutex_) = 0;
  SystemThread thread_ ABSL_GUARDED_BY(mutex_);

  Mutex woken_mutex_;
  ConditionVariable woken_changed_;
  Matches woken_ ABSL_GUARDED_BY(woken_mutex_);
  bool stopping_ ABSL_GUARDED_BY(woken_mutex_) = false;
};

}  // namespace actord::runtime
