#include "runtime/actors/ties.h"

#include <cstring>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/system/fail_point.h"

namespace actord::runtime {
namespace {

// An exit's text is for people; a page of it is enough, as of a failure.
constexpr size_t kMaxFailureBytes = 4096;
// A result of this many bytes is told whatever else waits for the watcher.
constexpr size_t kAlwaysToldBytes = 4096;

}  // namespace

uint32_t ExitReasonOf(EndKind kind) {
  switch (kind) {
    case EndKind::kResult:
      return ACTORD_EXIT_DONE;
    case EndKind::kFailed:
    case EndKind::kLimit:
      return ACTORD_EXIT_FAILED;
    case EndKind::kThrew:
      return ACTORD_EXIT_THREW;
    case EndKind::kInitRefused:
      return ACTORD_EXIT_INIT_REFUSED;
    case EndKind::kCancelled:
      return ACTORD_EXIT_CANCELLED;
    case EndKind::kTerminated:
      return ACTORD_EXIT_TERMINATED;
  }
  return ACTORD_EXIT_FAILED;
}

class Watches::BothLocked {
 public:
  BothLocked(Shard& a, Shard& b) ABSL_NO_THREAD_SAFETY_ANALYSIS
      : first_(std::less<>()(&a, &b) ? a : b),
        second_(&a == &b        ? nullptr
                : &first_ == &a ? &b
                                : &a) {
    first_.mutex.lock();
    if (second_ != nullptr) second_->mutex.lock();
  }
  BothLocked(const BothLocked&) = delete;
  BothLocked& operator=(const BothLocked&) = delete;
  ~BothLocked() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    if (second_ != nullptr) second_->mutex.unlock();
    first_.mutex.unlock();
  }

 private:
  Shard& first_;
  Shard* const second_;
};

Watches::Ended Watches::NoProcess(const Pid& pid) {
  return {pid, ACTORD_EXIT_NO_PROCESS, absl::StatusCode::kNotFound, nullptr,
          absl::StrCat("there is no process ", FormatPid(pid),
                       ", or it had ended before")};
}

bool Watches::Mark(const Pid& pid) const {
  Process* process = processes_.Find(pid);
  if (process == nullptr) return false;
  process->Want(Wanted::kWatched);
  FailPoint();
  return process->IsStill(pid.generation);
}

void Watches::Tidy(Shard& shard, const Pid& pid) {
  const auto it = shard.sides.find(pid);
  if (it == shard.sides.end()) return;
  const Sides& sides = it->second;
  if (sides.monitors.empty() && sides.watchers.empty() && sides.places == 0) {
    shard.sides.erase(it);
  }
}

size_t Watches::CountOf(const Pid& self) const {
  const Shard& shard = ShardOf(self);
  const MutexLock lock(shard.mutex);
  const auto it = shard.sides.find(self);
  return it == shard.sides.end() ? 0 : it->second.places;
}

void Watches::Apply(TieEffect&& tie, Process& /*process*/, const Pid& self,
                    Lane& lane) {
  switch (tie.kind) {
    case TieEffect::Kind::kMonitor:
      return Monitor(self, tie.tag, tie.other, lane);
    case TieEffect::Kind::kDemonitor:
      return Demonitor(self, tie.tag);
    case TieEffect::Kind::kLink:
      return Link(self, tie.other, lane);
    case TieEffect::Kind::kUnlink:
      return Unlink(self, tie.other);
  }
}

void Watches::Monitor(const Pid& self, uint64_t tag, const Pid& watched,
                      Lane& lane) {
  // Its own end has to look here; it lives, as this is its turn.
  Mark(self);
  Shard& own = ShardOf(self);
  Shard& other = ShardOf(watched);
  bool lives = false;
  const auto enter = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    const BothLocked lock(own, other);
    ++own.sides[self].places;
    other.sides[watched].watchers.insert({self, tag});
    lives = Mark(watched);
    if (lives) {
      own.sides[self].monitors.emplace(tag, watched);
    } else {
      other.sides[watched].watchers.erase({self, tag});
      Tidy(other, watched);
    }
  };
  enter();
  if (!lives) Tell({self, tag}, NoProcess(watched), lane);
}

void Watches::Demonitor(const Pid& self, uint64_t tag) {
  Pid watched;
  {
    Shard& shard = ShardOf(self);
    const MutexLock lock(shard.mutex);
    const auto it = shard.sides.find(self);
    if (it == shard.sides.end()) return;
    const auto monitor = it->second.monitors.find(tag);
    if (monitor == it->second.monitors.end()) return;
    watched = monitor->second;
    it->second.monitors.erase(monitor);
    --it->second.places;
    Tidy(shard, self);
  }
  // If it ends just now, it finds that this side is gone.
  FailPoint();
  Shard& shard = ShardOf(watched);
  const MutexLock lock(shard.mutex);
  const auto it = shard.sides.find(watched);
  if (it == shard.sides.end()) return;
  it->second.watchers.erase({self, tag});
  Tidy(shard, watched);
}

void Watches::Link(const Pid& self, const Pid& other, Lane& lane) {
  if (self == other) return;
  Mark(self);
  Shard& own = ShardOf(self);
  Shard& its = ShardOf(other);
  std::optional<Ended> refused;
  const auto enter = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    const BothLocked lock(own, its);
    if (!own.sides[self].watchers.insert({other, 0}).second) return;
    ++own.sides[self].places;
    its.sides[other].watchers.insert({self, 0});
    if (!Mark(other)) {
      refused = NoProcess(other);
    } else if (its.sides[other].places >= kMaxOfProcess) {
      refused =
          Ended{other, ACTORD_EXIT_NO_ROOM,
                absl::StatusCode::kResourceExhausted, nullptr,
                absl::StrCat("process ", FormatPid(other), " has ",
                             kMaxOfProcess, " watches, which is the limit")};
    } else {
      ++its.sides[other].places;
      return;
    }
    // Its place is given up, or held by the exit, below.
    own.sides[self].watchers.erase({other, 0});
    its.sides[other].watchers.erase({self, 0});
    Tidy(its, other);
  };
  enter();
  if (refused) Tell({self, 0}, *refused, lane);
}

void Watches::Unlink(const Pid& self, const Pid& other) {
  Shard& own = ShardOf(self);
  Shard& its = ShardOf(other);
  const auto leave = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    const BothLocked lock(own, its);
    const auto drop = [](Shard& shard, const Pid& pid,
                         const Pid& linked) ABSL_NO_THREAD_SAFETY_ANALYSIS {
      const auto it = shard.sides.find(pid);
      if (it == shard.sides.end()) return;
      it->second.places -= it->second.watchers.erase({linked, 0});
      Tidy(shard, pid);
    };
    drop(own, self, other);
    drop(its, other, self);
  };
  leave();
}

absl::Status Watches::BeginForParent(const Pid& self, const Pid& parent,
                                     bool link, uint64_t monitor) {
  Mark(self);
  Shard& own = ShardOf(self);
  Shard& its = ShardOf(parent);
  const size_t wanted = (link ? 1u : 0u) + (monitor != 0 ? 1u : 0u);
  const auto enter = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS -> absl::Status {
    const BothLocked lock(own, its);
    // Whoever ends after this look finds what is entered here.
    if (!Mark(parent)) {
      return absl::NotFoundError(
          absl::StrCat("process ", FormatPid(parent), " has ended"));
    }
    if (its.sides[parent].places + wanted > kMaxOfProcess) {
      return absl::ResourceExhaustedError(
          absl::StrCat("process ", FormatPid(parent), " has ", kMaxOfProcess,
                       " watches, which is the limit"));
    }
    // By the child's name somebody may have linked it already.
    if (link && own.sides[self].watchers.insert({parent, 0}).second) {
      ++own.sides[self].places;
      its.sides[parent].watchers.insert({self, 0});
      ++its.sides[parent].places;
    }
    if (monitor != 0) {
      own.sides[self].watchers.insert({parent, monitor});
      its.sides[parent].monitors.emplace(monitor, self);
      ++its.sides[parent].places;
    }
    return absl::OkStatus();
  };
  return enter();
}

void Watches::EndForParent(const Pid& self, const Pid& parent, bool link,
                           uint64_t monitor) {
  if (link) Unlink(self, parent);
  if (monitor != 0) Demonitor(parent, monitor);
}

void Watches::GiveUpPlace(const Pid& pid) {
  Shard& shard = ShardOf(pid);
  const MutexLock lock(shard.mutex);
  const auto it = shard.sides.find(pid);
  if (it == shard.sides.end()) return;  // it has ended
  --it->second.places;
  Tidy(shard, pid);
}

void Watches::Seen(const Pid& self) { GiveUpPlace(self); }

bool Watches::Take(const Watcher& watcher, const Pid& ended) {
  Shard& shard = ShardOf(watcher.pid);
  const MutexLock lock(shard.mutex);
  const auto it = shard.sides.find(watcher.pid);
  if (it == shard.sides.end()) return false;
  return watcher.tag == 0 ? it->second.watchers.erase({ended, 0}) != 0
                          : it->second.monitors.erase(watcher.tag) != 0;
}

void Watches::OnEnd(const EndRecord& end, Lane& lane) {
  const Pid& pid = end.pid;
  const Outcome& outcome = *end.outcome;
  Sides sides;
  {
    Shard& shard = ShardOf(pid);
    const MutexLock lock(shard.mutex);
    const auto it = shard.sides.find(pid);
    if (it == shard.sides.end()) return;
    sides = std::move(it->second);
    shard.sides.erase(it);
  }
  FailPoint();
  for (const auto& [tag, watched] : sides.monitors) {
    Shard& shard = ShardOf(watched);
    const MutexLock lock(shard.mutex);
    const auto it = shard.sides.find(watched);
    if (it == shard.sides.end()) continue;
    it->second.watchers.erase({pid, tag});
    Tidy(shard, watched);
  }
  if (sides.watchers.empty()) return;
  const Ended ended{pid, ExitReasonOf(outcome.kind), outcome.code,
                    &outcome.result, outcome.message};
  for (const Watcher& watcher : sides.watchers) {
    if (Take(watcher, pid)) Tell(watcher, ended, lane);
  }
}

void Watches::Tell(const Watcher& watcher, const Ended& ended, Lane& lane) {
  Process* process = processes_.Find(watcher.pid);
  if (process == nullptr) return;
  const ProcessType* type = process->type.load(std::memory_order_acquire);
  const bool traps = type != nullptr &&
                     (type->descriptor->flags & ACTORD_TYPE_TRAPS_EXITS) != 0;
  if (watcher.tag != 0 || traps) {
    SendExit(*process, watcher, ended, lane);
    return;
  }
  if (ended.reason == ACTORD_EXIT_DONE) {
    GiveUpPlace(watcher.pid);
  } else {
    // It keeps its place, so that no more of them wait than there may be
    // watches: the process ends, and all its places with it.
    EndLinked(*process, watcher.pid, ended, lane);
  }
}

void Watches::SendExit(Process& process, const Watcher& watcher,
                       const Ended& ended, Lane& lane) {
  ExitHeader header;
  header.from = ToAbi(ended.pid);
  header.reason = ended.reason;
  const std::string_view text =
      std::string_view(ended.message).substr(0, kMaxFailureBytes);
  const bool is_result = ended.reason == ACTORD_EXIT_DONE;
  actord_payload payload = is_result ? ToAbi(*ended.result) : TextPayload(text);
  auto status = static_cast<int32_t>(ended.code);
  const uint64_t word = process.activity.load(std::memory_order_relaxed);
  const uint64_t room = limits_.max_mailbox_bytes() / kBufferUnitBytes;
  std::string why;
  if (payload.bytes.size > kAlwaysToldBytes &&
      Activity::Units(word) + payload.bytes.size / kBufferUnitBytes > room) {
    why = absl::StrCat("its result of ", payload.bytes.size,
                       " bytes finds no room in the mailbox");
    payload = TextPayload(why);
    status = ACTORD_RESOURCE_EXHAUSTED;
  }
  char bytes[sizeof(header)];
  std::memcpy(bytes, &header, sizeof(header));
  Envelope* exit =
      lane.NewEnvelope(ACTORD_EVENT_EXIT, {bytes, sizeof(bytes)}, payload);
  exit->completion.tag = watcher.tag;
  exit->completion.status = status;
  exit->generation = watcher.pid.generation;
  if (process.Post(exit, exit, word, Activity::ForMessages(1, exit->units()))) {
    scheduler_.Enqueue(&process, lane.here());
  }
}

void Watches::EndLinked(Process& process, const Pid& pid, const Ended& ended,
                        Lane& lane) {
  const std::string text =
      absl::StrCat("process ", FormatPid(ended.pid),
                   ", to which it is linked, ",
                   ended.reason == ACTORD_EXIT_NO_PROCESS ||
                           ended.reason == ACTORD_EXIT_NO_ROOM
                       ? "could not be: "
                       : "has failed: ",
                   ended.message)
          .substr(0, kMaxFailureBytes);
  Envelope* end = lane.NewEnvelope(kEventLinkedEnd, {}, TextPayload(text));
  end->generation = pid.generation;
  // As many as there are links may come at once, more than the word can count.
  // So only who finds the queue empty counts: whoever is pushed on top of
  // another is taken with it.
  if (!process.urgent.Push(end)) return;
  if (Activity::Add(process.activity, Activity::kUrgentOne)) {
    scheduler_.Enqueue(&process, lane.here());
  }
}

size_t Watches::size() const {
  size_t sum = 0;
  for (const Shard& shard : shards_) {
    const MutexLock lock(shard.mutex);
    sum += shard.sides.size();
  }
  return sum;
}

}  // namespace actord::runtime
