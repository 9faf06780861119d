#include "client/bulk/ordered_sends.h"

#include <grpcpp/alarm.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>

#include <condition_variable>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "actord/v1/stream.pb.h"
#include "client/bulk/send_order.h"
#include "client/calls/batch.h"
#include "client/calls/connection.h"
#include "client/calls/error.h"
#include "client/calls/mutex.h"

namespace actord::client {

class OrderedSends::Core final
    : private grpc::ClientBidiReactor<v1::SendStreamRequest,
                                      v1::SendStreamResponse> {
 public:
  Core(const Endpoint& endpoint, v1::ActorService::Stub& stub,
       const OrderedSendsOptions& options, OtherWay other_way)
      : endpoint_(endpoint),
        stub_(stub),
        options_(options),
        other_way_(std::move(other_way)),
        order_({.window = options.window,
                .max_retries = options.max_retries,
                .max_retry_delay = options.max_retry_delay}) {}
  ~Core();

  void Send(v1::SendRequest request, Done done);
  void CancelAll();
  bool WaitUntilFewerThan(size_t pending, absl::Duration timeout);
  [[nodiscard]] size_t window() const { return options_.window; }

 private:
  enum class State {
    kNone,     // no stream: there was no message
    kAsking,   // the first request has no message, and asks for keeps_order
    kOpen,     // messages go over the stream
    kLeaving,  // the stream has ended; `other_way` gets the waiting messages
    kLeft,     // `other_way` gets each message at once
  };
  // The callbacks that a change has made due. They run without the lock.
  // While any is due, this object exists; afterwards it may be gone.
  struct Due {
    std::vector<SendOrder::Answered> answered;
    std::vector<SendOrder::Quiet> away;

    [[nodiscard]] bool any() const {
      return !answered.empty() || !away.empty();
    }
  };

  // Begins the stream, or leaves it at once if the endpoint is not usable.
  void Open() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Does what is possible after a change: writes, and begins delays.
  void Advance(Due& due) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Run(Due due);
  void SendAway(SendOrder::Quiet quiet);
  // `count` messages are over, and `other_way_` has got `aways` messages.
  void Over(size_t count, size_t aways);
  // Hands the messages that are not sent to `other_way`.
  void Leave();
  // Calls Ring after the delay, or earlier if the alarm is cancelled.
  // `receiver`: the receiver to release; "": check the patience.
  void SetAlarm(absl::Duration delay, std::string receiver)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Ring(uint64_t alarm, const std::string& receiver, bool in_time);
  // Breaks the stream off if no answer has come since the last check.
  void CheckPatience() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  [[nodiscard]] bool ExpectsAnswer() const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return state_ == State::kAsking ||
           (state_ == State::kOpen && order_.has_sent());
  }
  // From now on only OnReadDone starts operations.
  void LetGo() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!std::exchange(let_go_, true)) RemoveHold();
  }

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

  const Endpoint& endpoint_;
  v1::ActorService::Stub& stub_;
  const OrderedSendsOptions options_;
  const OtherWay other_way_;
  grpc::ClientContext context_;
  // Used by gRPC, or by OnReadDone.
  v1::SendStreamResponse response_;

  Mutex mutex_;
  std::condition_variable_any changed_;
  State state_ ABSL_GUARDED_BY(mutex_) = State::kNone;
  SendOrder order_ ABSL_GUARDED_BY(mutex_);
  // Number of messages whose answers were not given, or that `other_way` does
  // not have for good.
  size_t pending_ ABSL_GUARDED_BY(mutex_) = 0;
  // Number of messages in any Due::away. Leave waits for them, because they
  // come before the messages that order_ has for their receivers.
  size_t aways_ ABSL_GUARDED_BY(mutex_) = 0;
  // `other_way_` refuses everything, and no alarm is set any more.
  bool is_cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  // Used by gRPC while writing_.
  v1::SendStreamRequest batch_ ABSL_GUARDED_BY(mutex_);
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool let_go_ ABSL_GUARDED_BY(mutex_) = false;
  // The alarm of CheckPatience is set.
  bool is_patient_ ABSL_GUARDED_BY(mutex_) = false;
  bool has_stalled_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t answers_ ABSL_GUARDED_BY(mutex_) = 0;
  // `answers_` when the alarm was set.
  uint64_t checked_answers_ ABSL_GUARDED_BY(mutex_) = 0;
  std::unordered_map<uint64_t, std::unique_ptr<grpc::Alarm>> alarms_
      ABSL_GUARDED_BY(mutex_);
  uint64_t next_alarm_ ABSL_GUARDED_BY(mutex_) = 0;
};

OrderedSends::Core::~Core() {
  CancelAll();
  const absl::Time patience_ends = absl::Now() + kStreamEndPatience;
  const MutexLock lock(mutex_);
  while (state_ != State::kLeft || pending_ != 0 || !alarms_.empty()) {
    if (absl::Now() >= patience_ends) context_.TryCancel();
    changed_.wait_for(mutex_, absl::ToChronoNanoseconds(kStreamEndPatience));
  }
}

void OrderedSends::Core::Send(v1::SendRequest request, Done done) {
  Due due;
  bool has_left = false;
  {
    const MutexLock lock(mutex_);
    if (state_ == State::kNone) Open();
    has_left = state_ == State::kLeft || is_cancelled_;
    if (!has_left) {
      ++pending_;
      auto send = std::make_unique<PendingSend>();
      send->request = std::move(request);
      send->done = std::move(done);
      order_.Add(std::move(send));
      Advance(due);
    }
  }
  if (has_left) return other_way_(std::move(request), std::move(done));
  if (due.any()) Run(std::move(due));
}

void OrderedSends::Core::CancelAll() {
  const MutexLock lock(mutex_);
  is_cancelled_ = true;
  for (const auto& [id, alarm] : alarms_) alarm->Cancel();
  if (state_ == State::kNone) {
    state_ = State::kLeft;
  } else if (state_ == State::kLeft || let_go_) {
    return;
  } else if (state_ == State::kOpen && pending_ == 0 && !writing_) {
    StartWritesDone();
    LetGo();
  } else {
    context_.TryCancel();
  }
}

bool OrderedSends::Core::WaitUntilFewerThan(size_t pending,
                                            absl::Duration timeout) {
  const MutexLock lock(mutex_);
  return WaitUntilBelow(pending_, pending, timeout, changed_, mutex_);
}

void OrderedSends::Core::Open() {
  if (!CheckEndpoint(endpoint_).ok()) {
    // The calls of `other_way` fail with this error.
    state_ = State::kLeft;
    return;
  }
  state_ = State::kAsking;
  AddToken(endpoint_, context_);
  SetDeadline(options_.deadline, context_);
  stub_.async()->SendStream(&context_, this);
  // A hold for the writes that Advance starts.
  AddHold();
  StartRead(&response_);
  batch_.set_seen_count(0);
  writing_ = true;
  StartWrite(&batch_);
  StartCall();
}

void OrderedSends::Core::Advance(Due& due) {
  if (is_cancelled_) return;  // Leave takes all that is not sent.
  if (state_ == State::kOpen) {
    if (!writing_ && !let_go_) {
      batch_.Clear();
      order_.Fill(batch_);
      writing_ = batch_.sends_size() != 0;
      if (writing_) StartWrite(&batch_);
    }
    while (auto quiet = order_.NextQuiet()) {
      if (quiet->away != nullptr) {
        due.away.push_back(*std::move(quiet));
        ++aways_;
      } else {
        SetAlarm(quiet->delay, std::move(quiet->receiver));
      }
    }
  }
  if (!is_patient_ && ExpectsAnswer()) {
    is_patient_ = true;
    checked_answers_ = answers_;
    SetAlarm(options_.patience, "");
  }
}

void OrderedSends::Core::OnReadDone(bool ok) {
  Due due;
  {
    const MutexLock lock(mutex_);
    if (!ok) {
      LetGo();
      return;
    }
    ++answers_;
    if (state_ == State::kOpen) {
      due.answered = order_.Take(response_);
    } else if (response_.keeps_order()) {
      state_ = State::kOpen;
    } else {
      context_.TryCancel();
    }
    Advance(due);
  }
  StartRead(&response_);
  if (due.any()) Run(std::move(due));
}

void OrderedSends::Core::OnWriteDone(bool ok) {
  Due due;
  {
    const MutexLock lock(mutex_);
    writing_ = false;
    // If the write has failed the stream is over, and OnReadDone handles it.
    if (ok) Advance(due);
  }
  if (due.any()) Run(std::move(due));
}

void OrderedSends::Core::OnDone(const grpc::Status& status) {
  Due due;
  {
    const MutexLock lock(mutex_);
    state_ = State::kLeaving;
    absl::Status why = FromGrpc(status);
    if (has_stalled_) {
      why = absl::DeadlineExceededError(
          absl::StrCat("the daemon has answered nothing for ",
                       absl::FormatDuration(options_.patience)));
    } else if (why.ok()) {
      why = absl::UnavailableError("the daemon has ended the stream");
    }
    for (PendingSendPtr& send : order_.TakeSent()) {
      due.answered.push_back({std::move(send), MarkUnanswered(why)});
    }
  }
  Run(std::move(due));
  Leave();
}

void OrderedSends::Core::Leave() {
  for (;;) {
    std::vector<PendingSendPtr> rest;
    {
      const MutexLock lock(mutex_);
      while (aways_ != 0) changed_.wait(mutex_);
      rest = order_.TakeRest();
      if (rest.empty()) {
        state_ = State::kLeft;
        changed_.notify_all();
        return;
      }
    }
    for (const PendingSendPtr& send : rest) {
      other_way_(std::move(send->request), std::move(send->done));
    }
    Over(rest.size(), 0);
  }
}

void OrderedSends::Core::Run(Due due) {
  for (SendOrder::Answered& one : due.answered) {
    one.send->done(std::move(one.answer));
  }
  for (SendOrder::Quiet& quiet : due.away) SendAway(std::move(quiet));
  Over(due.answered.size(), due.away.size());
}

void OrderedSends::Core::SendAway(SendOrder::Quiet quiet) {
  other_way_(std::move(quiet.away->request),
             [this, receiver = std::move(quiet.receiver),
              done = std::move(quiet.away->done)](
                 absl::StatusOr<v1::SendResponse> response) {
               done(std::move(response));
               Due due;
               {
                 const MutexLock lock(mutex_);
                 order_.Release(receiver);
                 Advance(due);
                 --pending_;
                 changed_.notify_all();
               }
               if (due.any()) Run(std::move(due));
             });
}

void OrderedSends::Core::Over(size_t count, size_t aways) {
  const MutexLock lock(mutex_);
  pending_ -= count;
  aways_ -= aways;
  changed_.notify_all();
}

void OrderedSends::Core::SetAlarm(absl::Duration delay, std::string receiver) {
  const uint64_t id = next_alarm_++;
  auto& alarm = alarms_[id] = std::make_unique<grpc::Alarm>();
  // Set does not call Ring on this thread.
  alarm->Set(absl::ToChronoTime(absl::Now() + delay),
             [this, id, receiver = std::move(receiver)](bool in_time) {
               Ring(id, receiver, in_time);
             });
}

void OrderedSends::Core::Ring(uint64_t alarm, const std::string& receiver,
                              bool in_time) {
  // Destroyed at the end, because it owns this very callback.
  std::unique_ptr<grpc::Alarm> rung;
  Due due;
  {
    const MutexLock lock(mutex_);
    const auto found = alarms_.find(alarm);
    rung = std::move(found->second);
    alarms_.erase(found);
    if (!receiver.empty()) {
      order_.Release(receiver);
    } else if (in_time) {
      CheckPatience();
    }
    Advance(due);
    changed_.notify_all();
  }
  if (due.any()) Run(std::move(due));
}

void OrderedSends::Core::CheckPatience() {
  is_patient_ = false;
  if (!ExpectsAnswer() || answers_ != checked_answers_) return;
  has_stalled_ = true;
  context_.TryCancel();
}

OrderedSends::OrderedSends(const Endpoint& endpoint,
                           v1::ActorService::Stub& stub,
                           const OrderedSendsOptions& options,
                           OtherWay other_way)
    : core_(std::make_unique<Core>(endpoint, stub, options,
                                   std::move(other_way))) {}

OrderedSends::~OrderedSends() = default;

void OrderedSends::Send(v1::SendRequest request, Done done) {
  core_->Send(std::move(request), std::move(done));
}

bool OrderedSends::WaitForRoom(absl::Duration timeout) {
  return core_->WaitUntilFewerThan(2 * core_->window(), timeout);
}

bool OrderedSends::WaitUntilIdle(absl::Duration timeout) {
  return core_->WaitUntilFewerThan(1, timeout);
}

void OrderedSends::CancelAll() { core_->CancelAll(); }

}  // namespace actord::client
