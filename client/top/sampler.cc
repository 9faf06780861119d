#include "client/top/sampler.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "client/cli/invocation.h"

namespace actord::client::top {

Sampler::Sampler(std::string address, Wanted wanted)
    : address_(std::move(address)),
      event_fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      wanted_(std::move(wanted)),
      thread_([this] { Run(); }) {}

Sampler::~Sampler() {
  stop_.Cancel();
  {
    const MutexLock lock(mutex_);
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

void Sampler::Do(Wish wish) {
  const MutexLock lock(mutex_);
  wishes_.push_back(std::move(wish));
  changed_.notify_all();
}

std::vector<News> Sampler::Take() {
  const MutexLock lock(mutex_);
  eventfd_t ignored = 0;
  eventfd_read(event_fd_, &ignored);
  return std::exchange(news_, {});
}

void Sampler::Tell(News news) {
  const MutexLock lock(mutex_);
  news_.push_back(std::move(news));
  eventfd_write(event_fd_, 1);
}

CallOptions Sampler::Options() {
  return {.deadline = absl::Now() + kCallTimeout, .cancellation = &stop_};
}

void Sampler::Run() {
  while (WaitForWork()) {
    if (!client_) client_ = std::make_unique<Client>(address_);
    std::vector<Wish> wishes;
    {
      const MutexLock lock(mutex_);
      wishes = std::exchange(wishes_, {});
      now_ = false;
    }
    for (const Wish& wish : wishes) Carry(wish);
    Look();
  }
}

bool Sampler::WaitForWork() {
  const MutexLock lock(mutex_);
  while (!stop_.cancelled() && !now_ && wishes_.empty()) {
    // A daemon that is gone is tried again also while there is a pause.
    const bool waits = wanted_.paused && client_;
    const absl::Duration left = due_ - absl::Now();
    if (waits) {
      changed_.wait(mutex_);
    } else if (left <= absl::ZeroDuration()) {
      break;
    } else {
      changed_.wait_for(mutex_, absl::ToChronoNanoseconds(left));
    }
  }
  return !stop_.cancelled();
}

void Sampler::Look() {
  Wanted wanted;
  {
    const MutexLock lock(mutex_);
    wanted = wanted_;
  }
  const absl::Time begin = absl::Now();
  News news;
  news.sample =
      TakeSample(*client_, wanted.request, [this] { return Options(); });
  if (news.sample->ok() && !wanted.details_pid.empty()) {
    v1::GetProcessRequest request;
    request.set_pid(wanted.details_pid);
    auto response = client_->GetProcess(request, Options());
    news.pid = wanted.details_pid;
    if (response.ok()) {
      news.details = response->process();
    } else {
      news.details =
          absl::Status(response.status().code(), Describe(response.status()));
    }
  }
  const absl::Time end = absl::Now();
  if (news.sample->ok()) {
    retry_ = kFirstRetry;
    // At least half of the time the daemon is left alone.
    due_ = std::max(begin + wanted.interval, end + (end - begin));
  } else {
    // gRPC's own pauses between connections grow longer than ours.
    client_.reset();
    due_ = end + retry_;
    news.next_try = due_;
    retry_ = std::min(2 * retry_, kLongestRetry);
  }
  Tell(std::move(news));
}

void Sampler::Carry(const Wish& wish) {
  absl::Status status;
  const bool cancel = wish.kind == Wish::Kind::kCancel;
  if (cancel) {
    v1::CancelRequest request;
    request.set_pid(wish.pid);
    request.set_reason("by hand, in actorctl top");
    status = client_->Cancel(request, Options()).status();
  } else {
    v1::TerminateRequest request;
    request.set_pid(wish.pid);
    request.set_reason("by hand, in actorctl top");
    status = client_->Terminate(request, Options()).status();
  }
  News news;
  if (status.ok()) {
    news.done = wish.pid + (cancel ? " was asked to end" : " was terminated");
  } else {
    news.done = wish.pid + ": " + Describe(status);
  }
  Tell(std::move(news));
}

}  // namespace actord::client::top
