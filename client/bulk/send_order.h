// The messages of OrderedSends: which one is written next, and what an answer
// means for it. ordered_sends.h describes the states of a message. This class
// has the messages in three of them: waiting, sent and held.
//
// Thread-safety: not thread-safe. Ownership: owns the messages that it has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "actord/v1/process.pb.h"
#include "actord/v1/stream.pb.h"

namespace actord::client {

struct PendingSend {
  uint64_t number = 0;  // its place among all messages
  v1::SendRequest request;
  std::function<void(absl::StatusOr<v1::SendResponse>)> done;
  int retries = 0;
};
using PendingSendPtr = std::unique_ptr<PendingSend>;

struct SendOrderOptions {
  size_t window = 256;  // messages that are sent, at least 1
  int max_retries = 12;
  absl::Duration max_retry_delay = absl::Seconds(2);
};

class SendOrder {
 public:
  struct Answered {
    PendingSendPtr send;
    absl::StatusOr<v1::SendResponse> answer;
  };
  // A held receiver whose sent messages are all answered.
  struct Quiet {
    std::string receiver;
    // Not null: to be sent in another way, and then Release. Null: Release
    // after `delay`.
    PendingSendPtr away;
    absl::Duration delay = absl::ZeroDuration();
  };

  explicit SendOrder(const SendOrderOptions& options) : options_(options) {}

  void Add(PendingSendPtr send);
  // Moves messages that wait into the batch: at most one batch and the window.
  void Fill(v1::SendStreamRequest& batch);
  // Returns the messages that are answered for good. The others are held.
  std::vector<Answered> Take(const v1::SendStreamResponse& response);
  // Returns each receiver once. It stays held until Release.
  std::optional<Quiet> NextQuiet();
  // Lets the held messages of the receiver wait again.
  void Release(const std::string& receiver);

  [[nodiscard]] bool has_sent() const { return !sent_.empty(); }
  // Removes and returns the messages that are sent.
  std::deque<PendingSendPtr> TakeSent();
  // Removes and returns the others, in their order.
  std::vector<PendingSendPtr> TakeRest();

 private:
  struct Receiver {
    size_t sent = 0;
    bool is_held = false;
    // NextQuiet will return it, or has returned it.
    bool is_quiet = false;
    // A message was refused, and counts the retry for all that are held.
    bool is_retried = false;
    absl::Duration delay = absl::ZeroDuration();
    std::map<uint64_t, PendingSendPtr> held;  // by number
  };
  using Receivers = std::unordered_map<std::string, Receiver>;

  // Precondition: the message is at the front of waiting_.
  void Hold(Receivers::iterator receiver);
  // True: the refusal may pass, and the message is held.
  bool HoldRefused(Receiver& receiver, PendingSendPtr& send,
                   const absl::Status& why);
  // To be called after a change of the receiver.
  void Settle(Receivers::iterator receiver);

  const SendOrderOptions options_;
  uint64_t acked_count_ = 0;
  uint64_t next_number_ = 0;
  std::deque<PendingSendPtr> waiting_;
  // The first one has the index acked_count_.
  std::deque<PendingSendPtr> sent_;
  // The receivers with messages that are sent or held.
  Receivers receivers_;
  std::deque<std::string> quiet_;
};

}  // namespace actord::client
