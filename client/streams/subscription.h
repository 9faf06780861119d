// A subscription to the publications of processes. Reconnects when the
// connection breaks; what is published meanwhile is missed.
//
// Publications of one process are reported in the order in which it has
// published them, each at most once.
//
// Thread-safety: see the functions. Ownership: owns its connection.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "actord/v1/topic.pb.h"
#include "client/calls/cancellation.h"
#include "client/calls/endpoint.h"

namespace actord::client {

// All functions may be empty. They run on the thread of Run, and delay the next
// response: if they are slow, the daemon drops the oldest publications, and
// `on_missed` is called.
struct TopicSubscriptionOptions {
  // 1 to 64 topics, or prefixes that end in '*'.
  std::vector<std::string> patterns;

  // First delay between attempts to connect; it doubles up to
  // `max_reconnect_delay`.
  absl::Duration reconnect_delay = absl::Milliseconds(100);
  absl::Duration max_reconnect_delay = absl::Seconds(5);

  std::function<void(const v1::Publication&)> on_publication;
  // This number of publications was missed; 0: an unknown number, because the
  // connection was lost.
  std::function<void(uint64_t count)> on_missed;
  // One response has been reported completely: write the gathered output.
  std::function<void()> on_told;
  // The subscription is open, for the first time or again.
  std::function<void()> on_connected;
  // There is no connection; the next attempt follows after `delay`.
  std::function<void(const absl::Status& why, absl::Duration delay)> on_broken;
};

class TopicSubscription {
 public:
  // Run connects.
  TopicSubscription(const Endpoint& endpoint, TopicSubscriptionOptions options);
  ~TopicSubscription();
  TopicSubscription(const TopicSubscription&) = delete;
  TopicSubscription& operator=(const TopicSubscription&) = delete;

  // Reports publications until `stop` is cancelled, and then returns OK.
  // Otherwise returns the error that makes a retry useless, such as
  // INVALID_ARGUMENT for a pattern. A function that cancels `stop` is the last
  // to be called, but for on_told. Call Run once.
  absl::Status Run(Cancellation& stop);

 private:
  class Open;
  const std::unique_ptr<Open> open_;
};

}  // namespace actord::client
