#include "client/top/sampler.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "absl/time/clock.h"
#include "client/cli/invocation.h"

namespace actord::client::top {

namespace {

Sampler::Clock::duration ToClock(absl::Duration duration) {
  return absl::ToChronoNanoseconds(duration);
}

int MakeEventFd() {
  const int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (fd < 0) {
    std::perror("eventfd");
    std::abort();
  }
  return fd;
}

bool IsCancel(const Wish& wish) { return wish.kind == Wish::Kind::kCancel; }

}  // namespace

Sampler::Sampler(Endpoint endpoint, Wanted wanted)
    : endpoint_(std::move(endpoint)),
      event_fd_(MakeEventFd()),
      wanted_(std::move(wanted)),
      thread_([this] { Run(); }) {}

Sampler::~Sampler() {
  stop_.Cancel();
  {
    const MutexLock lock(mutex_);
    if (look_ != nullptr) look_->Cancel();
    changed_.notify_all();
  }
  thread_.join();
  close(event_fd_);
}

void Sampler::Want(Wanted wanted, bool now) {
  const MutexLock lock(mutex_);
  wanted_ = std::move(wanted);
  now_ = now_ || now;
  changed_.notify_all();
}

bool Sampler::Do(Wish wish) {
  const MutexLock lock(mutex_);
  if (wishes_.size() >= kMostWishes) return false;
  wishes_.push_back(std::move(wish));
  if (look_ != nullptr) look_->Cancel();
  changed_.notify_all();
  return true;
}

News Sampler::Take() {
  const MutexLock lock(mutex_);
  eventfd_t ignored = 0;
  eventfd_read(event_fd_, &ignored);
  return std::exchange(news_, {});
}

bool Sampler::HasOpenWishes() {
  const MutexLock lock(mutex_);
  return carried_ || !wishes_.empty();
}

std::vector<Done> Sampler::Finish(bool wait, Cancellation& interrupt) {
  bool interrupted = false;
  const Cancellation::Registration registration(&interrupt, [&] {
    const MutexLock lock(mutex_);
    interrupted = true;
    changed_.notify_all();
  });
  const MutexLock lock(mutex_);
  finishing_ = true;
  if (look_ != nullptr) look_->Cancel();
  changed_.notify_all();
  const Clock::time_point until = Clock::now() + ToClock(kCallTimeout);
  while (wait && !interrupted && (carried_ || !wishes_.empty())) {
    if (changed_.wait_until(mutex_, until) == std::cv_status::timeout) break;
  }
  std::vector<Done> done = std::exchange(news_.done, {});
  if (carried_) {
    done.push_back({carried_->pid + ": whether it was " +
                    (IsCancel(*carried_) ? "asked to end" : "terminated") +
                    " is not known: the daemon has not answered"});
  }
  for (const Wish& wish : std::exchange(wishes_, {})) {
    done.push_back({wish.pid + " was not " +
                    (IsCancel(wish) ? "asked to end" : "terminated") +
                    ": there was no time to send it"});
  }
  return done;
}

void Sampler::Wake() { eventfd_write(event_fd_, 1); }

void Sampler::Run() {
  while (WaitForWork()) {
    if (!client_) client_ = std::make_unique<Client>(endpoint_);
    CarryAll();
    FetchSample();
  }
}

Sampler::Clock::time_point Sampler::Due() const {
  if (!client_) return end_ + ToClock(retry_);
  // The pause is at least as long as the sample took, so that the daemon rests
  // at least half of the time.
  return std::max(begin_ + ToClock(wanted_.interval), end_ + (end_ - begin_));
}

bool Sampler::WaitForWork() {
  const MutexLock lock(mutex_);
  while (!stop_.cancelled() && wishes_.empty()) {
    // A lost daemon is retried even while the view is paused.
    if (finishing_ || (wanted_.paused && client_ && !now_)) {
      changed_.wait(mutex_);
    } else if (now_ || Clock::now() >= Due()) {
      break;
    } else {
      changed_.wait_until(mutex_, Due());
    }
  }
  return !stop_.cancelled();
}

void Sampler::FetchSample() {
  Cancellation broken_off;
  Wanted wanted;
  {
    const MutexLock lock(mutex_);
    if (stop_.cancelled() || finishing_ || !wishes_.empty()) return;
    wanted = wanted_;
    now_ = false;
    look_ = &broken_off;
  }
  const absl::Time last = absl::Now() + kLookTimeout;
  const auto options = [&] {
    return CallOptions{.deadline = std::min(last, absl::Now() + kCallTimeout),
                       .cancellation = &broken_off};
  };
  const Clock::time_point begin = Clock::now();
  absl::StatusOr<Sample> sample = TakeSample(*client_, wanted.request, options);
  std::optional<absl::StatusOr<v1::Process>> details;
  if (sample.ok() && !wanted.details_pid.empty()) {
    v1::GetProcessRequest request;
    request.set_pid(wanted.details_pid);
    auto response = client_->GetProcess(request, options());
    if (response.ok()) {
      details = response->process();
    } else {
      details =
          absl::Status(response.status().code(), Describe(response.status()));
    }
  }
  const MutexLock lock(mutex_);
  look_ = nullptr;
  if (broken_off.cancelled()) {
    now_ = true;
    return;
  }
  begin_ = begin;
  end_ = Clock::now();
  if (sample.ok()) {
    retry_ = kFirstRetry;
  } else {
    // gRPC's own back-off would grow longer than ours.
    client_.reset();
    news_.next_try = Due();
    retry_ = std::min(2 * retry_, kLongestRetry);
  }
  news_.sample = std::move(sample);
  if (details) {
    news_.details = std::move(details);
    news_.pid = wanted.details_pid;
  }
  Wake();
}

void Sampler::CarryAll() {
  while (true) {
    Wish wish;
    {
      const MutexLock lock(mutex_);
      if (wishes_.empty() || stop_.cancelled()) return;
      wish = std::move(wishes_.front());
      wishes_.pop_front();
      carried_ = wish;
    }
    Done done = Carry(wish);
    const MutexLock lock(mutex_);
    carried_.reset();
    if (news_.done.size() == kMostDone) news_.done.erase(news_.done.begin());
    news_.done.push_back(std::move(done));
    changed_.notify_all();
    Wake();
  }
}

Done Sampler::Carry(const Wish& wish) {
  const CallOptions options = {.deadline = absl::Now() + kCallTimeout,
                               .cancellation = &stop_};
  absl::Status status;
  if (IsCancel(wish)) {
    v1::CancelRequest request;
    request.set_pid(wish.pid);
    request.set_reason("by hand, in actorctl top");
    status = client_->Cancel(request, options).status();
  } else {
    v1::TerminateRequest request;
    request.set_pid(wish.pid);
    request.set_reason("by hand, in actorctl top");
    status = client_->Terminate(request, options).status();
  }
  if (!status.ok()) return {.text = wish.pid + ": " + Describe(status)};
  return {.text = wish.pid +
                  (IsCancel(wish) ? " was asked to end" : " was terminated"),
          .ok = true};
}

}  // namespace actord::client::top
