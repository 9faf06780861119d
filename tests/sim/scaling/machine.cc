#include "tests/sim/scaling/machine.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace actord::sim {

using runtime::Access;

namespace {

constexpr int kLineShift = 6;
// The clock before the first thread starts.
constexpr uint64_t kStartNs = 1'000'000'000;

}  // namespace

Machine::Machine(const Costs& costs) : costs_(costs) {}
Machine::~Machine() = default;

void Machine::Run(std::function<void()> main) {
  runtime::interleaver = this;
  Start(std::move(main));
  while (!turns_.empty()) {
    const Turn turn = turns_.top();
    turns_.pop();
    Thread& thread = *threads_[turn.thread];
    // Woken before this time.
    if (thread.wait != turn.wait) continue;
    if (thread.wait != 0) {
      std::erase(waiting_[thread.waits_for], turn.thread);
      thread.wait = 0;
      thread.timed_out = true;
      thread.time_ns = turn.time_ns;
    }
    current_ = turn.thread;
    thread.fiber->Resume();
  }
  runtime::interleaver = nullptr;
}

uint64_t Machine::MonotonicNs() const {
  if (threads_.empty()) return kStartNs;
  Thread& thread = *threads_[current_];
  thread.time_ns += costs_.clock_ns;
  return thread.time_ns;
}

void Machine::Schedule(size_t thread, uint64_t time_ns) {
  turns_.push({time_ns, next_order_++, thread, threads_[thread]->wait});
}

void Machine::SwitchAway() {
  const size_t self = current_;
  threads_[self]->fiber->Leave();
  current_ = self;
}

void Machine::AwaitTurn() {
  const uint64_t time_ns = now().time_ns;
  if (turns_.empty() || time_ns <= turns_.top().time_ns) return;
  Schedule(current_, time_ns);
  SwitchAway();
}

bool Machine::Has(const Line& line, Access access) const {
  return access == Access::kRead ? line.readers.test(current_)
                                 : line.writer == static_cast<int>(current_);
}

void Machine::Touch(const void* address, Access access) {
  AwaitTurn();
  Thread& self = now();
  const auto number = reinterpret_cast<uintptr_t>(address);
  Line& line = lines_[number >> kLineShift];
  Use& use = uses_[number];
  ++use.accesses;
  if (Has(line, access)) {
    self.time_ns +=
        access == Access::kChange ? costs_.change_ns : costs_.access_ns;
    return;
  }
  const uint64_t end_ns =
      std::max(self.time_ns, line.free_ns) + costs_.transfer_ns;
  ++use.transfers;
  use.wait_ns += end_ns - self.time_ns;
  self.time_ns = end_ns;
  if (access == Access::kRead) {
    line.writer = kNobody;
  } else {
    line.writer = static_cast<int>(current_);
    line.readers.reset();
    line.free_ns = end_ns;
  }
  line.readers.set(current_);
}

void Machine::Block(const void* what) {
  Thread& self = now();
  self.wait = next_wait_++;
  self.waits_for = what;
  self.waits_since_ns = self.time_ns;
  self.timed_out = false;
  waiting_[what].push_back(current_);
  SwitchAway();
}

void Machine::Resume(size_t thread, uint64_t time_ns) {
  Thread& woken = *threads_[thread];
  std::erase(waiting_[woken.waits_for], thread);
  woken.wait = 0;
  woken.time_ns = std::max(woken.time_ns, time_ns);
  Schedule(thread, woken.time_ns);
}

bool Machine::Wait(const void* what, uint64_t timeout_ns) {
  Thread& self = now();
  if (timeout_ns < kForever - self.time_ns) {
    // Block takes the same number.
    turns_.push(
        {self.time_ns + timeout_ns, next_order_++, current_, next_wait_});
  }
  Block(what);
  return !self.timed_out;
}

void Machine::Wake(const void* what) {
  const auto it = waiting_.find(what);
  if (it == waiting_.end()) return;
  const std::vector<size_t> sleepers = it->second;
  for (const size_t sleeper : sleepers) {
    ++wakes_;
    Resume(sleeper, now().time_ns + costs_.wake_up_ns);
    Work(costs_.wake_ns);
  }
}

void Machine::AwaitMutex(const void* mutex) {
  const auto number = reinterpret_cast<uintptr_t>(mutex);
  // The spinning thread reads the line, so the thread that will release the
  // mutex loses it.
  Line& line = lines_[number >> kLineShift];
  line.writer = kNobody;
  line.readers.set(current_);
  const uint64_t since_ns = now().time_ns;
  Block(mutex);
  Use& use = uses_[number];
  use.is_mutex = true;
  use.wait_ns += now().time_ns - since_ns;
}

void Machine::ReleasedMutex(const void* mutex) {
  const auto it = waiting_.find(mutex);
  if (it == waiting_.end() || it->second.empty()) return;
  // The longest-spinning thread gets the mutex at once. One of the sleeping
  // threads wakes up and tries to get it.
  const uint64_t now_ns = now().time_ns;
  const std::vector<size_t> waiting = it->second;
  const auto spins = [&](size_t thread) {
    return threads_[thread]->waits_since_ns + costs_.spin_ns >= now_ns;
  };
  const auto spinner = std::find_if(waiting.begin(), waiting.end(), spins);
  if (spinner != waiting.end()) Resume(*spinner, now_ns);
  const auto sleeper = std::find_if_not(waiting.begin(), waiting.end(), spins);
  if (sleeper == waiting.end()) return;
  ++wakes_;
  Resume(*sleeper, now_ns + costs_.wake_up_ns);
  Work(costs_.wake_ns);
}

uint64_t Machine::Start(std::function<void()> run) {
  if (threads_.size() == kMostThreads) std::abort();
  const uint64_t time_ns = threads_.empty() ? kStartNs : now().time_ns;
  threads_.push_back(std::make_unique<Thread>());
  Thread* started = threads_.back().get();
  started->time_ns = time_ns;
  started->fiber = std::make_unique<Fiber>();
  started->fiber->Begin([this, started, run = std::move(run)] {
    run();
    Wake(started);
  });
  Schedule(threads_.size() - 1, time_ns);
  return threads_.size() - 1;
}

void Machine::Join(uint64_t thread) {
  const Thread* joined = threads_[thread].get();
  while (!joined->fiber->ended()) Wait(joined, kForever);
}

void Machine::Sleep(uint64_t ns) {
  Schedule(current_, now().time_ns += ns);
  SwitchAway();
}

void Machine::ForgetUses() {
  uses_.clear();
  wakes_ = 0;
}

}  // namespace actord::sim
