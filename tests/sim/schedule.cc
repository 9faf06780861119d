#include "tests/sim/schedule.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "runtime/effects/acting_command.h"

namespace actord::sim {
namespace {

constexpr uint64_t kStartNs = 1'000'000'000;
constexpr uint64_t kLongestJumpNs = 20'000'000;
constexpr uint64_t kLongestStallNs = 60'000'000;

}  // namespace

Schedule::Schedule(bool trace) : trace_(trace) {}
Schedule::~Schedule() = default;

void Schedule::Run(uint64_t seed, const Style& style,
                   std::function<void()> main) {
  style_ = style;
  random_ = runtime::Random(seed);
  choices_ = 0;
  fingerprint_ = seed;
  now_ns_ = kStartNs;
  rounds_ = 0;
  next_deadline_ns_ = kForever;
  runtime::interleaver = this;
  Start(std::move(main));
  while (Thread* next = Choose()) next->fiber->Resume();
  runtime::interleaver = nullptr;
  for (auto& thread : threads_) {
    spare_fibers_.push_back(std::move(thread->fiber));
  }
  threads_.clear();
}

Schedule::Thread* Schedule::Choose() {
  for (;;) {
    if (++choices_ > kMostChoices) when_broken("does not come to an end");
    now_ns_ += random_.Next() % style_.creep_ns;
    if (OneIn(style_.jumps)) now_ns_ += random_.Next() % kLongestJumpNs;
    WakeWhoseTimeHasCome();
    candidates_.clear();
    bool stalled = false;
    bool waiting = false;
    for (const auto& thread : threads_) {
      if (thread->fiber->ended()) continue;
      if (thread->waits) {
        waiting = true;
      } else if (thread->stalled_until > choices_) {
        stalled = true;
      } else {
        candidates_.push_back(thread.get());
      }
    }
    if (candidates_.empty() && stalled) continue;
    if (candidates_.empty() && !waiting) return nullptr;
    if (candidates_.empty()) {
      MoveTimeOn();
      continue;
    }
    Thread* chosen = candidates_[random_.Next() % candidates_.size()];
    for (current_ = 0; threads_[current_].get() != chosen;) ++current_;
    fingerprint_ = (fingerprint_ ^ current_ ^ now_ns_) * 0x9e3779b97f4a7c15u;
    return chosen;
  }
}

void Schedule::WakeWhoseTimeHasCome() {
  const bool spurious = OneIn(style_.spurious);
  if (!spurious && now_ns_ < next_deadline_ns_) return;
  next_deadline_ns_ = kForever;
  const size_t lucky = spurious ? random_.Next() % threads_.size() : SIZE_MAX;
  for (size_t i = 0; i < threads_.size(); ++i) {
    Thread& thread = *threads_[i];
    if (!thread.waits) continue;
    if (thread.deadline_ns <= now_ns_) {
      thread.waits = false;
      thread.timed_out = true;
    } else if (i == lucky) {
      thread.waits = false;
    } else {
      next_deadline_ns_ = std::min(next_deadline_ns_, thread.deadline_ns);
    }
  }
}

void Schedule::MoveTimeOn() {
  uint64_t next = kForever;
  for (const auto& thread : threads_) {
    if (!thread->fiber->ended()) next = std::min(next, thread->deadline_ns);
  }
  // This runs on no fiber: no switch can happen meanwhile.
  runtime::interleaver = nullptr;
  when_quiet(next);
  runtime::interleaver = this;
  if (next == kForever) when_broken("all threads wait for each other");
  now_ns_ = std::max(now_ns_, next);
  // Sleepers seldom wake exactly on time.
  if (random_.Next() % 2 == 0) now_ns_ += random_.Next() % 200'000;
}

void Schedule::SwitchAway() {
  const size_t self = current_;
  runtime::ActingCommand* const acting =
      runtime::ActingCommand::Exchange(nullptr);
  threads_[self]->fiber->Leave();
  static_cast<void>(runtime::ActingCommand::Exchange(acting));
  current_ = self;
}

void Schedule::MaySwitch() {
  if (!OneIn(style_.switches)) return;
  if (OneIn(style_.stalls)) {
    threads_[current_]->stalled_until =
        choices_ + random_.Next() % style_.stall_most;
  }
  SwitchAway();
}

void Schedule::MayStall() {
  if (!OneIn(style_.long_stalls)) return MaySwitch();
  SleepFor(random_.Next() % kLongestStallNs, /*busy=*/true);
}

bool Schedule::Wait(const void* what, uint64_t timeout_ns) {
  Thread& self = *threads_[current_];
  self.waits_for = what;
  self.waits = true;
  self.timed_out = false;
  self.deadline_ns =
      timeout_ns >= kForever - now_ns_ ? kForever : now_ns_ + timeout_ns;
  self.meant_ns = self.deadline_ns == kForever
                      ? kForever
                      : self.deadline_ns - (now_ns_ - self.looked_ns);
  next_deadline_ns_ = std::min(next_deadline_ns_, self.deadline_ns);
  EndRoundIfAllMovedOn();
  SwitchAway();
  self.waits_for = nullptr;
  self.deadline_ns = kForever;
  return !self.timed_out;
}

void Schedule::Wake(const void* what) {
  for (const auto& thread : threads_) {
    if (thread->waits && thread->waits_for == what) {
      thread->waits = false;
      thread->moved_on = false;
    }
  }
}

uint64_t Schedule::Start(std::function<void()> run) {
  auto thread = std::make_unique<Thread>();
  if (spare_fibers_.empty()) {
    thread->fiber = std::make_unique<Fiber>();
  } else {
    thread->fiber = std::move(spare_fibers_.back());
    spare_fibers_.pop_back();
  }
  Thread* started = thread.get();
  thread->fiber->Begin([this, started, run = std::move(run)] {
    run();
    Wake(started);
  });
  threads_.push_back(std::move(thread));
  return threads_.size() - 1;
}

void Schedule::Join(uint64_t thread) {
  const Thread* joined = threads_[thread].get();
  while (!joined->fiber->ended()) Wait(joined, kForever);
}

void Schedule::AwaitMutex(const void* mutex) {
  // In the middle of a call: no round ends meanwhile.
  Thread& self = *threads_[current_];
  const bool was_busy = std::exchange(self.busy, true);
  Wait(mutex, kForever);
  self.busy = was_busy;
}

void Schedule::SleepFor(uint64_t ns, bool busy) {
  const uint64_t until = now_ns_ + ns;
  Thread& self = *threads_[current_];
  self.busy = busy;
  while (now_ns_ < until) Wait(&self.deadline_ns, until - now_ns_);
  self.busy = false;
}

void Schedule::Boundary() {
  threads_[current_]->moved_on = true;
  EndRoundIfAllMovedOn();
}

void Schedule::EndRoundIfAllMovedOn() {
  for (const auto& thread : threads_) {
    const bool moved_on = thread->fiber->ended() || thread->moved_on ||
                          (thread->waits && !thread->busy);
    if (!moved_on) return;
  }
  ++rounds_;
  for (const auto& thread : threads_) thread->moved_on = false;
}

bool Schedule::IsWaitedFor(const void* what, uint64_t* deadline_ns) const {
  for (const auto& thread : threads_) {
    if (thread->waits && thread->waits_for == what) {
      *deadline_ns = thread->meant_ns;
      return true;
    }
  }
  return false;
}

void Schedule::Trace(const char* format, ...) {
  if (!trace_) return;
  std::printf("%12.6f ms  thread %-2zu ",
              static_cast<double>(now_ns_ - kStartNs) / 1e6, current_);
  va_list arguments;
  va_start(arguments, format);
  std::vprintf(format, arguments);
  va_end(arguments);
  std::putchar('\n');
}

}  // namespace actord::sim
