#include "client/tasks/worker.h"

#include <actord/text.h>
#include <grpcpp/client_context.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <thread>
#include <utility>

#include "client/calls/connection.h"
#include "client/calls/error.h"
#include "client/calls/mutex.h"
#include "client/streams/lasting_channel.h"
#include "client/tasks/held_tasks.h"

namespace actord::client {
namespace {

using Stream = grpc::ClientReaderWriter<v1::WorkRequest, v1::WorkResponse>;

// Stands for each byte that is not UTF-8.
constexpr std::string_view kBroken = "?";

TaskOutcome Failed(absl::StatusCode code, const std::string& message) {
  TaskOutcome outcome;
  const bool is_error = code != absl::StatusCode::kOk;
  outcome.error.set_code(
      static_cast<int>(is_error ? code : absl::StatusCode::kUnknown));
  outcome.error.set_message(ToUtf8(message, kMaxErrorTextBytes, kBroken));
  return outcome;
}

}  // namespace

TaskOutcome TaskOutcome::Result(v1::Payload payload) {
  TaskOutcome outcome;
  payload.set_content_type(
      ToUtf8(payload.content_type(), kMaxClientLabelBytes, kBroken));
  outcome.result = std::move(payload);
  return outcome;
}

TaskOutcome TaskOutcome::Error(absl::StatusCode code,
                               const std::string& message) {
  return Failed(code, message);
}

TaskOutcome TaskOutcome::Retry(absl::StatusCode code,
                               const std::string& message,
                               std::optional<absl::Duration> delay) {
  TaskOutcome outcome = Failed(code, message);
  outcome.retry = true;
  outcome.retry_delay = delay;
  return outcome;
}

// Three kinds of threads: the thread of Run reads, one thread writes the items
// that are due, and `concurrency` threads handle tasks.
class Worker::Work {
 public:
  Work(const Endpoint& endpoint, WorkerOptions options, Handler handler)
      : endpoint_(endpoint),
        options_(std::move(options)),
        handler_(std::move(handler)),
        stub_(v1::ActorService::NewStub(OpenLastingChannel(
            endpoint, options_.reconnect_delay, options_.max_reconnect_delay))),
        // Note runs under mutex_; its reports are passed on without the lock.
        tasks_([this](const TaskReport& report)
                   ABSL_NO_THREAD_SAFETY_ANALYSIS { Note(report); }) {}

  absl::Status Run(Cancellation& stop);

 private:
  class Running;

  // A report that is passed on without the lock; it keeps its task alive.
  struct Noted {
    std::shared_ptr<const v1::Task> task;
    TaskReport report;
  };

  void Note(const TaskReport& report) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TellNoted() ABSL_LOCKS_EXCLUDED(mutex_);
  void HandleTasks();
  void WriteWhatIsDue();
  grpc::Status Converse(Stream& stream);
  void Take(v1::WorkResponse& response) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Fills in the next message. False: nothing is due.
  bool NextRequest(v1::WorkRequest& request)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Pause(absl::Duration delay);
  void WaitUntil(absl::Time when) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Endpoint endpoint_;
  const WorkerOptions options_;
  const Handler handler_;
  const std::unique_ptr<v1::ActorService::Stub> stub_;

  // Locked before mutex_.
  Mutex telling_;
  Mutex mutex_;
  std::condition_variable_any changed_;
  HeldTasks tasks_ ABSL_GUARDED_BY(mutex_);
  std::vector<Noted> noted_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  // All threads end.
  bool over_ ABSL_GUARDED_BY(mutex_) = false;
  // State of the open stream, if there is one.
  Stream* stream_ ABSL_GUARDED_BY(mutex_) = nullptr;
  grpc::ClientContext* context_ ABSL_GUARDED_BY(mutex_) = nullptr;
  bool subscribed_ ABSL_GUARDED_BY(mutex_) = false;
  // The daemon answered on the last stream.
  bool served_ ABSL_GUARDED_BY(mutex_) = false;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool stop_sent_ ABSL_GUARDED_BY(mutex_) = false;
  // Credits that are granted and not used, plus the tasks that are held.
  size_t credits_ ABSL_GUARDED_BY(mutex_) = 0;
};

class Worker::Work::Running final : public RunningTask {
 public:
  Running(Work& work, HeldTask& held) : work_(work), held_(held) {}
  [[nodiscard]] const v1::Task& task() const override { return held_.task; }
  [[nodiscard]] Cancellation& cancellation() override {
    return held_.cancellation;
  }
  void SetProgress(v1::Payload progress) override {
    const MutexLock lock(work_.mutex_);
    held_.progress = std::move(progress);
  }

 private:
  Work& work_;
  HeldTask& held_;
};

void Worker::Work::Note(const TaskReport& report) {
  changed_.notify_all();
  if (!options_.on_end) return;
  auto task = std::make_shared<const v1::Task>(report.task);
  const v1::Task& kept = *task;
  noted_.push_back({std::move(task),
                    {.task = kept,
                     .end = report.end,
                     .failed = report.failed,
                     .answer = report.answer,
                     .refusal = report.refusal,
                     .error = report.error}});
}

void Worker::Work::TellNoted() {
  const MutexLock one_at_a_time(telling_);
  std::vector<Noted> noted;
  {
    const MutexLock lock(mutex_);
    noted.swap(noted_);
  }
  for (const Noted& one : noted) options_.on_end(one.report);
}

void Worker::Work::WaitUntil(absl::Time when) {
  if (when == absl::InfiniteFuture()) {
    changed_.wait(mutex_);
  } else {
    changed_.wait_for(mutex_, absl::ToChronoNanoseconds(std::max(
                                  when - absl::Now(), absl::ZeroDuration())));
  }
}

// Handling

void Worker::Work::HandleTasks() {
  for (;;) {
    HeldTasks::Handle held;
    {
      const MutexLock lock(mutex_);
      while (!over_ && (held = tasks_.Start()) == nullptr) {
        changed_.wait(mutex_);
      }
      if (held == nullptr) return;
    }
    Running running(*this, *held);
    TaskOutcome outcome = handler_(running);
    {
      const MutexLock lock(mutex_);
      tasks_.Finish(held, std::move(outcome), absl::Now());
      changed_.notify_all();
    }
    TellNoted();
  }
}

// Writing

bool Worker::Work::NextRequest(v1::WorkRequest& request) {
  if (stream_ == nullptr || !subscribed_) return false;
  bool something = tasks_.TakeDue(absl::Now(), request);
  const auto wanted = static_cast<size_t>(options_.concurrency);
  if (!stopping_ && options_.max_tasks > 0) {
    // The held tasks may be the last ones.
    if (tasks_.answered() >= options_.max_tasks) stopping_ = true;
  }
  const size_t in_use = credits_ + tasks_.size();
  if (!stopping_ && in_use < wanted) {
    size_t more = wanted - in_use;
    if (options_.max_tasks > 0) {
      const uint64_t left = options_.max_tasks - tasks_.answered();
      more = std::min<uint64_t>(more, left > in_use ? left - in_use : 0);
    }
    request.set_add_credits(static_cast<uint32_t>(more));
    credits_ += more;
    something = something || more > 0;
  }
  if (stopping_ && !stop_sent_) {
    stop_sent_ = true;
    request.set_stop(true);
    something = true;
  }
  return something;
}

void Worker::Work::WriteWhatIsDue() {
  // WritesDone has told the daemon that nothing more comes.
  bool left = false;
  const MutexLock lock(mutex_);
  while (!over_) {
    if (stream_ == nullptr) left = false;
    v1::WorkRequest request;
    const bool something = !left && NextRequest(request);
    const bool leaves = !left && !something && stream_ != nullptr &&
                        stop_sent_ && tasks_.size() == 0;
    if (!something && !leaves) {
      WaitUntil(subscribed_ && !left ? tasks_.NextDue()
                                     : absl::InfiniteFuture());
      continue;
    }
    Stream* const stream = stream_;
    writing_ = true;
    mutex_.unlock();
    // Blocks while the daemon does not read. If the stream breaks, the reader
    // gets the error.
    if (leaves) {
      stream->WritesDone();
    } else {
      (void)!stream->Write(request);
    }
    mutex_.lock();
    writing_ = false;
    left = leaves;
    changed_.notify_all();
  }
}

// Reading

void Worker::Work::Take(v1::WorkResponse& response) {
  const absl::Time now = absl::Now();
  if (response.has_subscribed()) {
    subscribed_ = served_ = true;
    tasks_.SetMaxResultBytes(response.subscribed().max_payload_bytes());
  }
  for (const v1::TaskAnswer& answer : response.answers()) {
    tasks_.OnAnswer(answer, now);
  }
  for (v1::Task& task : *response.mutable_tasks()) {
    credits_ -= std::min<size_t>(credits_, 1);
    tasks_.Add(std::move(task), now);
  }
  for (const v1::TaskCancel& cancel : response.cancels()) {
    tasks_.OnCancel(cancel);
  }
  changed_.notify_all();
}

grpc::Status Worker::Work::Converse(Stream& stream) {
  v1::WorkRequest first;
  for (const std::string& command : options_.commands) {
    first.mutable_subscribe()->add_commands(command);
  }
  first.mutable_subscribe()->set_worker(options_.name);
  (void)!stream.Write(first);
  {
    const MutexLock lock(mutex_);
    stream_ = &stream;
    credits_ = 0;
    stop_sent_ = false;
  }
  v1::WorkResponse response;
  while (stream.Read(&response)) {
    {
      const MutexLock lock(mutex_);
      Take(response);
    }
    TellNoted();
  }
  {
    const MutexLock lock(mutex_);
    stream_ = nullptr;
    subscribed_ = false;
    changed_.notify_all();
    while (writing_) changed_.wait(mutex_);
    tasks_.OnBroken(absl::Now());
  }
  TellNoted();
  return stream.Finish();
}

void Worker::Work::Pause(absl::Duration delay) {
  const absl::Time until = absl::Now() + delay;
  const MutexLock lock(mutex_);
  while (!stopping_ && absl::Now() < until) WaitUntil(until);
}

absl::Status Worker::Work::Run(Cancellation& stop) {
  absl::Status usable = CheckEndpoint(endpoint_);
  if (!usable.ok()) return usable;
  std::vector<std::thread> threads;
  for (int i = 0; i < options_.concurrency; ++i) {
    threads.emplace_back([this] { HandleTasks(); });
  }
  threads.emplace_back([this] { WriteWhatIsDue(); });
  const Cancellation::Registration registration(&stop, [this] {
    const MutexLock lock(mutex_);
    stopping_ = true;
    // No answer has come yet, and perhaps none will.
    if (context_ != nullptr && !subscribed_) context_->TryCancel();
    changed_.notify_all();
  });
  absl::Status result;
  absl::Duration delay = options_.reconnect_delay;
  for (;;) {
    grpc::ClientContext context;
    AddToken(endpoint_, context);
    {
      const MutexLock lock(mutex_);
      if (stopping_) break;
      context_ = &context;
      served_ = false;
    }
    const auto stream = stub_->Work(&context);
    const grpc::Status status = Converse(*stream);
    bool served = false;
    {
      const MutexLock lock(mutex_);
      context_ = nullptr;
      served = served_;
      // The daemon gives the tasks that are still held to other workers.
      if (stopping_) break;
    }
    if (!status.ok() && !IsWorthAnotherTry(status)) {
      result = FromGrpc(status);
      break;
    }
    if (served) delay = options_.reconnect_delay;
    const absl::Status why = FromGrpc(status);
    // A retry sooner than the daemon asks for is useless.
    delay = std::max(delay, DetailsOf(why).retry_delay.value_or(delay));
    if (options_.on_broken) options_.on_broken(why, delay);
    Pause(delay);
    delay = std::min(2 * delay, options_.max_reconnect_delay);
  }
  {
    const MutexLock lock(mutex_);
    over_ = true;
    changed_.notify_all();
  }
  for (std::thread& thread : threads) thread.join();
  TellNoted();
  return result;
}

Worker::Worker(const Endpoint& endpoint, WorkerOptions options, Handler handler)
    : work_(std::make_unique<Work>(endpoint, std::move(options),
                                   std::move(handler))) {}
Worker::~Worker() = default;

absl::Status Worker::Run(Cancellation& stop) { return work_->Run(stop); }

}  // namespace actord::client
