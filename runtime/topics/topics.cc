#include "runtime/topics/topics.h"

#include <actord/text.h>
#include <pthread.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "runtime/process/errors.h"
#include "runtime/system/absl_text.h"
#include "runtime/system/assert.h"

namespace actord::runtime {
namespace {

absl::Status TooManySubscriptions(std::string_view message) {
  return Retryable(absl::StatusCode::kResourceExhausted,
                   reason::kSubscriptionLimit, message, absl::Seconds(1));
}

absl::Status CheckPatterns(const std::vector<std::string>& patterns) {
  if (patterns.empty() || patterns.size() > Topics::kMaxPatterns) {
    return InvalidField("patterns", reason::kInvalidField,
                        absl::StrCat("there are ", patterns.size(),
                                     " patterns; a subscription has 1 to ",
                                     Topics::kMaxPatterns));
  }
  for (const std::string& pattern : patterns) {
    if (pattern.size() > kMaxLabelBytes) {
      return InvalidField(
          "patterns", reason::kInvalidField,
          absl::StrCat("a pattern has ", pattern.size(),
                       " bytes; the limit is ", kMaxLabelBytes));
    }
    if (!IsPattern(pattern)) {
      return InvalidField(
          "patterns", reason::kInvalidField,
          absl::StrCat("the pattern '", pattern,
                       "' is neither a topic nor a prefix that ends in '*'"));
    }
  }
  return absl::OkStatus();
}

bool IsPrefix(std::string_view pattern) { return pattern.ends_with('*'); }
std::string_view TextOfPattern(std::string_view pattern) {
  return IsPrefix(pattern) ? pattern.substr(0, pattern.size() - 1) : pattern;
}

}  // namespace

Topics::~Topics() {
  SystemThread thread;
  {
    const MutexLock lock(mutex_);
    ACTORD_ASSERT(subscriptions_.empty(), "topics.h: no subscription is open");
    thread = std::move(thread_);
  }
  {
    const MutexLock lock(woken_mutex_);
    stopping_ = true;
    woken_changed_.notify_all();
  }
  if (thread.joinable()) thread.join();
}

// Subscriptions.

absl::StatusOr<std::shared_ptr<Subscription>> Topics::Open(
    Owner by, std::vector<std::string> patterns,
    std::shared_ptr<SubscriptionListener> listener) {
  if (absl::Status status = CheckPatterns(patterns); !status.ok()) {
    return status;
  }
  std::sort(patterns.begin(), patterns.end());
  patterns.erase(std::unique(patterns.begin(), patterns.end()), patterns.end());
  auto subscription = std::make_shared<Subscription>(by, std::move(patterns),
                                                     std::move(listener));
  const MutexLock lock(mutex_);
  if (subscriptions_.size() >= kMaxOpen) {
    ++refused_;
    return TooManySubscriptions(absl::StrCat(
        "there are ", subscriptions_.size(),
        " subscriptions, which is the limit; close some, or try again later"));
  }
  if (!thread_.joinable()) {
    if (absl::Status status = StartThread(); !status.ok()) return status;
    bytes_of_.Set(kMaxBytesOfOwner, {});
  }
  Enter(*subscription);
  subscriptions_.emplace(subscription.get(), subscription);
  open_.store(subscriptions_.size(), std::memory_order_relaxed);
  return subscription;
}

void Topics::Close(Subscription& subscription) {
  // Destroyed after the locks are released.
  std::shared_ptr<Subscription> closed;
  const std::shared_ptr<SubscriptionListener> listener = subscription.Close();
  const MutexLock lock(mutex_);
  const auto it = subscriptions_.find(&subscription);
  if (it == subscriptions_.end()) return;
  Leave(subscription);
  closed = std::move(it->second);
  subscriptions_.erase(it);
  open_.store(subscriptions_.size(), std::memory_order_relaxed);
}

void Topics::Enter(Subscription& subscription) {
  Index& index = index_[subscription.by_];
  for (const std::string& pattern : subscription.patterns_) {
    const std::string_view text = TextOfPattern(pattern);
    auto& list =
        (IsPrefix(pattern) ? index.prefixes : index.exact)[std::string(text)];
    if (list.empty() && IsPrefix(pattern)) ++index.lengths[text.size()];
    list.push_back(&subscription);
  }
}

void Topics::Leave(Subscription& subscription) {
  const auto of_owner = index_.find(subscription.by_);
  ACTORD_ASSERT(of_owner != index_.end(), "topics.cc: Enter has made it");
  Index& index = of_owner->second;
  for (const std::string& pattern : subscription.patterns_) {
    const std::string_view text = TextOfPattern(pattern);
    auto& texts = IsPrefix(pattern) ? index.prefixes : index.exact;
    const auto it = texts.find(ToAbsl(text));
    ACTORD_ASSERT(it != texts.end(), "topics.cc: Enter has added the pattern");
    std::erase(it->second, &subscription);
    if (!it->second.empty()) continue;
    texts.erase(it);
    if (!IsPrefix(pattern)) continue;
    const auto length = index.lengths.find(text.size());
    if (--length->second == 0) index.lengths.erase(length);
  }
  if (index.exact.empty() && index.prefixes.empty()) index_.erase(of_owner);
}

// Publications.

void Topics::Apply(PublishEffect&& effect, Process& process,
                   const Pid& /*self*/, Lane& lane) {
  Envelope* const content = effect.content.TakeLast();
  if (!IsHeard()) {
    lane.Count(&Counters::publications);
    lane.Free(content);
    return;
  }
  Publish(process.owner.load(std::memory_order_relaxed), Own(content, lane_),
          lane);
}

void Topics::AddNew(const std::vector<Subscription*>& found, Matches& matches) {
  for (Subscription* const subscription : found) {
    if (subscription->matched_ == published_) continue;
    subscription->matched_ = published_;
    matches.push_back(subscriptions_.find(subscription)->second);
  }
}

void Topics::AddMatches(Owner by, std::string_view topic, Matches& matches) {
  const auto of_owner = index_.find(by);
  if (of_owner == index_.end()) return;
  const Index& index = of_owner->second;
  if (const auto it = index.exact.find(ToAbsl(topic));
      it != index.exact.end()) {
    AddNew(it->second, matches);
  }
  for (const auto& [length, count] : index.lengths) {
    if (length > topic.size()) break;
    const auto it = index.prefixes.find(ToAbsl(topic.substr(0, length)));
    if (it != index.prefixes.end()) AddNew(it->second, matches);
  }
}

SharedPublication Topics::Keep(Owner owner, OwnedEnvelope content) {
  const size_t bytes = sizeof(Publication) + content->bytes();
  if (bytes_.fetch_add(bytes, std::memory_order_relaxed) + bytes > kMaxBytes) {
    bytes_.fetch_sub(bytes, std::memory_order_relaxed);
    return nullptr;
  }
  const OwnerLimits::Taken taken = bytes_of_.Take(owner, bytes);
  if (taken == OwnerLimits::Taken::kRefused) {
    bytes_.fetch_sub(bytes, std::memory_order_relaxed);
    return nullptr;
  }
  auto publication = std::make_shared<Publication>();
  publication->content = std::move(content);
  publication->owner = owner;
  publication->unix_ns = clock_.UnixNs();
  publication->bytes = bytes;
  publication->counted_in = &bytes_;
  if (taken == OwnerLimits::Taken::kCounted) {
    publication->counted_for_owner = &bytes_of_;
  }
  return publication;
}

void Topics::Publish(Owner owner, OwnedEnvelope content, Lane& lane) {
  lane.Count(&Counters::publications);
  Matches matches;
  {
    const MutexLock lock(mutex_);
    ++published_;
    AddMatches(owner, content->topic(), matches);
    AddMatches(Owner::kAny, content->topic(), matches);
  }
  if (matches.empty()) return lane.Free(content.release());
  const SharedPublication publication = Keep(owner, std::move(content));
  Matches woken;
  uint64_t delivered = 0;
  uint64_t lost = 0;
  for (std::shared_ptr<Subscription>& subscription : matches) {
    const Subscription::Pushed pushed = publication == nullptr
                                            ? subscription->Lose()
                                            : subscription->Push(publication);
    lost += pushed.dropped;
    if (pushed.is_open && publication != nullptr) ++delivered;
    if (pushed.wakes) woken.push_back(std::move(subscription));
  }
  lane.Count(&Counters::publications_queued, delivered);
  if (lost != 0) lane.Count(&Counters::publications_lost, lost);
  if (woken.empty()) return;
  const MutexLock lock(woken_mutex_);
  woken_.insert(woken_.end(), std::make_move_iterator(woken.begin()),
                std::make_move_iterator(woken.end()));
  woken_changed_.notify_one();
}

void Topics::AddTo(RuntimeStats& stats) const {
  const MutexLock lock(mutex_);
  stats.subscriptions_open = subscriptions_.size();
  stats.refused_subscriptions = refused_;
}

// Waking.

absl::Status Topics::StartThread() {
  try {
    thread_ = SystemThread([this] { RunThread(); });
    return absl::OkStatus();
  } catch (const std::system_error& error) {
    return TooManySubscriptions(
        absl::StrCat("there is no thread for subscriptions: ", error.what()));
  }
}

void Topics::RunThread() {
  pthread_setname_np(pthread_self(), "topics");
  while (true) {
    Matches woken;
    {
      const MutexLock lock(woken_mutex_);
      while (!stopping_ && woken_.empty()) woken_changed_.wait(woken_mutex_);
      if (stopping_) return;
      woken.swap(woken_);
    }
    for (const std::shared_ptr<Subscription>& subscription : woken) {
      if (const auto listener = subscription->listener()) listener->Wake();
    }
  }
}

}  // namespace actord::runtime
