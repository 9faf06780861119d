// The ready processes of one level, in one line for each owner. The owners take
// turns, each in proportion to the work that its turns have cost: start-time
// fair queueing (Goyal, Vin and Cheng, SIGCOMM 1996) with equal weights.
//
// The start of a line is the virtual time at which its first process may run.
// The line with the earliest start goes first, and its start moves on by the
// cost of the turn. A line that was empty starts at the present virtual time,
// which is the start of the line that went last, or at its own start, if that
// is later. So an owner does not save up time while it has nothing to run, and
// pays for a long turn even if its line was empty in the meantime.
//
// Let a process have k - 1 processes of its owner before it, whose turns cost c
// in all. Then each other owner runs turns of a cost below c + kMostCost before
// it, and one turn more.
//
// Thread-safety: none. Ownership: borrows the processes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "runtime/process/activity.h"
#include "runtime/process/owner.h"
#include "runtime/process/process.h"
#include "runtime/scheduler/scheduler_policy.h"
#include "runtime/system/assert.h"
#include "runtime/system/fail_point.h"

namespace actord::runtime {

class OwnerLines {
 public:
  // The most that one turn costs, in events.
  static constexpr uint64_t kMostCost = SchedulerPolicy::kEventsPerStep;

  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] size_t size() const { return size_; }

  // Puts the process at the end of the line of its owner.
  void Push(Process* process, Owner owner) {
    Line& line = lines_[owner];
    if (line.waiting.empty()) {
      line.start = std::max(line.start, now_);
      Show(line, owner);
    }
    line.waiting.push_back(process);
    ++size_;
  }

  // The whole content of a level whose processes are all of `owner`, or
  // nothing. Precondition: there are no processes here.
  void Adopt(std::deque<Process*>&& processes, Owner owner) {
    ACTORD_ASSERT(empty(), "owner_lines.h: there are no processes");
    if (processes.empty()) return;
    size_ = processes.size();
    Line& line = lines_[owner];
    line.start = std::max(line.start, now_);
    line.waiting = std::move(processes);
    Show(line, owner);
  }
  [[nodiscard]] bool HasOnly(Owner owner) const {
    return starts_.empty() ||
           (starts_.size() == 1 && starts_.front().owner == owner);
  }
  // Gives all processes back. Precondition: HasOnly(owner).
  std::deque<Process*> Release(Owner owner) {
    ACTORD_ASSERT(HasOnly(owner), "owner_lines.h: all are of the owner");
    std::deque<Process*> all = std::move(lines_[owner].waiting);
    lines_.clear();
    starts_.clear();
    size_ = 0;
    return all;
  }

  // Takes the first processes in the order of the owners' turns, up to
  // out.size(). Returns how many it took.
  size_t Take(std::span<Process*> out) {
    size_t count = 0;
    for (; count < out.size() && size_ != 0; ++count) out[count] = TakeOne();
    if (size_ == 0 && lines_.size() > SchedulerPolicy::kKeptOwnerLines)
      Forget();
    return count;
  }

  // The cost of the turn of a process that is ready: the events that the turn
  // can take, and at least 1.
  static uint64_t CostOf(const Process& process) {
    WillRead(&process.activity);
    const uint64_t word = process.activity.load(std::memory_order_relaxed);
    return std::clamp<uint64_t>(
        Activity::Messages(word) + Activity::Urgent(word), 1, kMostCost);
  }

 private:
  struct Line {
    uint64_t start = 0;
    std::deque<Process*> waiting;
  };
  struct Entry {
    uint64_t start;
    uint64_t number;  // if starts are equal, the lower number is first
    Owner owner;
  };
  static bool IsLater(const Entry& a, const Entry& b) {
    return a.start != b.start ? a.start > b.start : a.number > b.number;
  }

  void Show(const Line& line, Owner owner) {
    starts_.push_back({line.start, next_entry_++, owner});
    std::push_heap(starts_.begin(), starts_.end(), IsLater);
  }
  Process* TakeOne() {
    std::pop_heap(starts_.begin(), starts_.end(), IsLater);
    Entry& entry = starts_.back();
    Line& line = lines_.find(entry.owner)->second;
    Process* const process = line.waiting.front();
    line.waiting.pop_front();
    --size_;
    now_ = line.start;
    line.start += CostOf(*process);
    if (line.waiting.empty()) {
      starts_.pop_back();
    } else {
      entry.start = line.start;
      entry.number = next_entry_++;
      std::push_heap(starts_.begin(), starts_.end(), IsLater);
    }
    return process;
  }

  void Forget() {
    absl::erase_if(
        lines_, [this](const auto& line) { return line.second.start <= now_; });
  }

  absl::flat_hash_map<Owner, Line> lines_;
  std::vector<Entry> starts_;  // a heap: one entry for each line with processes
  uint64_t now_ = 0;
  uint64_t next_entry_ = 0;
  size_t size_ = 0;
};

}  // namespace actord::runtime
