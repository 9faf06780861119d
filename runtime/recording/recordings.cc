#include "runtime/recording/recordings.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/process/errors.h"
#include "runtime/table/home_pid.h"

namespace actord::runtime {

absl::StatusOr<bool> Recordings::Begin(const Pid& pid, Owner by) {
  // Before Find, which would bring a dormant process back. The kind of the PID
  // decides, so the answer tells nobody whether there is such a process.
  if (IsHomePid(pid)) {
    return InvalidField(
        "pid", reason::kInvalidField,
        absl::StrCat(FormatPid(pid),
                     " is the PID of a durable process: its history has its "
                     "steps (ReadHistory, actorctl history)"));
  }
  const FoundProcess process = processes_.Find(pid, by);
  if (!process) return processes_.WhyNotFound(pid, by);
  Entries made;  // allocated and freed without the lock
  made.push_back({.pid = pid,
                  .owner = process->owner.load(std::memory_order_relaxed),
                  .since_unix_ns = clock_.UnixNs()});
  Entries dropped;
  const MutexLock lock(mutex_);
  if (At(pid) != entries_.end()) return false;
  entries_.splice(entries_.end(), made);
  // The end of the process, which waits for the lock, sees the bit, or it is
  // seen here (Process::wanted).
  process->Want(Wanted::kRecorded);
  if (process.IsStill()) {
    if (entries_.size() > kMaxProcesses) Drop(OldestFor(), dropped);
    return true;
  }
  dropped.splice(dropped.end(), entries_, std::prev(entries_.end()));
  return processes_.WhyNotFound(pid, by);
}

bool Recordings::End(const Pid& pid) {
  Entries dropped;
  const MutexLock lock(mutex_);
  const auto entry = At(pid);
  if (entry == entries_.end()) return false;
  Drop(entry, dropped);
  return true;
}

std::optional<Recording> Recordings::Find(const Pid& pid) const {
  const MutexLock lock(mutex_);
  for (const Entry& entry : entries_) {
    if (entry.pid != pid) continue;
    return Recording{.since_unix_ns = entry.since_unix_ns,
                     .steps = {entry.steps.begin(), entry.steps.end()}};
  }
  return std::nullopt;
}

void Recordings::Add(const Pid& pid, NotedStep step) {
  std::optional<NotedStep> dropped;  // freed without the lock
  const MutexLock lock(mutex_);
  const auto entry = At(pid);
  if (entry == entries_.end()) return;
  if (entry->steps.size() >= kMaxSteps) {
    dropped = std::move(entry->steps.front());
    entry->steps.pop_front();
  }
  entry->steps.push_back(std::move(step));
}

void Recordings::OnEnd(const EndRecord& end, Lane& /*lane*/) {
  Entries dropped;
  const MutexLock lock(mutex_);
  const auto entry = At(end.pid);
  if (entry != entries_.end()) {
    dropped.splice(dropped.end(), entries_, entry);
  }
}

Recordings::Entries::iterator Recordings::At(const Pid& pid) {
  return std::find_if(entries_.begin(), entries_.end(),
                      [&pid](const Entry& entry) { return entry.pid == pid; });
}

Recordings::Entries::iterator Recordings::OldestFor() {
  const Entry& made = entries_.back();
  const auto own = std::find_if(
      entries_.begin(), entries_.end(),
      [&made](const Entry& old) { return old.owner == made.owner; });
  return &*own == &made ? entries_.begin() : own;
}

void Recordings::Drop(Entries::iterator entry, Entries& dropped) {
  // The next process of the slot cannot have the bit yet: only Begin sets it,
  // with the lock.
  if (const FoundProcess process = processes_.FindAwake(entry->pid)) {
    process->wanted.fetch_and(static_cast<uint8_t>(~Wanted::kRecorded),
                              std::memory_order_seq_cst);
  }
  dropped.splice(dropped.end(), entries_, entry);
}

}  // namespace actord::runtime
