// Monitors and links: the processes that are told of the ends of other
// processes.
//
// A watch (a monitor or a link) is stored on both sides, so that the end of
// either process removes it:
//   monitor   the watcher has {tag -> watched}; the watched process has
//             {watcher, tag}
//   link      each of the two processes has {the other process, 0}
// A process with a watch on either side has the bit Wanted::kWatched. The end
// of a process without watches costs nothing. The bit and the generation are
// paired as process.h says: a watch is stored first; if the watched process has
// ended by then, the watch is removed again and fires at once.
//
// Exactly once: a monitor, or one side of a link, fires when an end removes it
// from the watcher's side, and it is removed once.
//
// A watch that fires sends a message (an exit), which no limit refuses and
// which comes after all messages from the ended process to the watcher. A link
// of a process that does not trap exits sends a control event (kEventLinkedEnd)
// instead, and only if the end was a failure.
//
// States of a watch on the watcher's side:
//
//   watched   in `monitors` or `watchers`
//     │ the end of the other process removes the watch: it fires
//   fired     in `fired_monitors` or `fired_links`; its event is being pushed,
//     │       is in the mailbox, or is taken and not yet examined
//     │ the turn of the watcher finds its event (TakeExit, TakeLinkedEnd)
//   told      the event takes effect
//
// A Demonitor or an Unlink removes the watch in either of the first two states.
// An event whose watch is not in `fired_monitors` or `fired_links` has no
// effect. So no end from a watch follows the step that has removed the watch,
// wherever its event is by then. A link that is made again and fires has
// another number (`ends`), so the event of the earlier link does not count for
// it.
//
// An event holds the place of its watch in the watcher's `places` until the
// watcher's turn finds the event, also if the event has no effect any more. So
// the limit of watches also bounds the number of waiting events.
//
// Thread-safety: any thread, unless a function says otherwise. A thread holds
// one lock at a time, or two in the order of their addresses.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "runtime/actors/tie_effect.h"
#include "runtime/delivery/delivery.h"
#include "runtime/process/activity.h"
#include "runtime/process/end_record.h"
#include "runtime/process/envelope.h"
#include "runtime/process/outcome.h"
#include "runtime/process/owner.h"
#include "runtime/scheduler/lane.h"
#include "runtime/system/mutex.h"
#include "runtime/table/home_pid.h"
#include "runtime/table/process_table.h"

namespace actord::runtime {

class Ties {
 public:
  // Maximum number of ties of one process.
  static constexpr size_t kMaxOfProcess = Activity::kExitsMax;

  Ties(const ProcessTable& processes, Delivery& delivery)
      : processes_(processes), delivery_(delivery) {}
  Ties(const Ties&) = delete;
  Ties& operator=(const Ties&) = delete;

  // ---- The turn of `self`.

  // The number of ties of `self`. Other processes may link to it meanwhile.
  [[nodiscard]] size_t CountOf(const Pid& self) const;
  // Precondition: the tag of a new monitor is new.
  void Apply(TieEffect&& tie, Process& process, const Pid& self, Lane& lane);
  // `by`: the owner that must see the other process; unset: the owner of
  // `self`. The recovery passes kAny, and wakes no dormant process.
  // Precondition: `tag` is new.
  void Monitor(const Pid& self, uint64_t tag, const Pid& watched, Lane& lane,
               std::optional<Owner> by = {});
  void Demonitor(const Pid& self, uint64_t tag);
  void Link(const Pid& self, const Pid& other, Lane& lane,
            std::optional<Owner> by = {});
  void Unlink(const Pid& self, const Pid& other);
  // Called when the turn has found the exit. False: `self` has removed the
  // watch.
  [[nodiscard]] bool TakeExit(const Pid& self, const Envelope& exit);
  // Called when the turn has found a kEventLinkedEnd. Returns why `self` ends
  // now; nullopt: `self` has removed the link, and does not end.
  [[nodiscard]] std::optional<std::string> TakeLinkedEnd(const Pid& self,
                                                         const Envelope& end);
  // The link by which `self` ends. nullopt: it does not end by a link.
  struct EndingLink {
    Pid linked;  // the process at the other end
    Pid first;   // the process that failed first
  };
  [[nodiscard]] std::optional<EndingLink> EndingLinkOf(const Pid& self) const;
  // The ties of a process, at most `max` of each kind. Any thread.
  struct Described {
    std::vector<Pid> links;
    std::vector<Pid> monitors;      // the processes that it monitors
    std::vector<Pid> monitored_by;  // the processes that monitor it
  };
  [[nodiscard]] Described TiesOf(const Pid& pid, size_t max) const;
  // Begins ties for the process that has spawned `self`: a link if `link`, and
  // a monitor with the tag `monitor` unless that is 0. No watch fires here.
  // NOT_FOUND: the parent has ended. RESOURCE_EXHAUSTED: the parent has too
  // many watches. After an error there is no tie.
  absl::Status BeginForParent(const Pid& self, const Pid& parent, bool link,
                              uint64_t monitor);
  // Removes the ties that BeginForParent has begun.
  void EndForParent(const Pid& self, const Pid& parent, bool link,
                    uint64_t monitor);

  // ---- Before the runtime serves, for a durable process of the store.

  // Fires a watch of `self` that the store has, because `other` has ended:
  // `reason`, `code` and `result` are those of its exit, and `message` is the
  // text of a failure.
  void FireStored(const Pid& self, uint64_t tag, const Pid& other,
                  uint32_t reason, absl::StatusCode code, const Payload& result,
                  std::string message, Lane& lane);

  // ---- Observes ends (end_record.h).
  static constexpr uint8_t kEndWanted = Wanted::kWatched;
  static constexpr bool kEndNeedsOutcome = true;
  void OnEnd(const EndRecord& end, Lane& lane);

  // The number of processes that have watches.
  [[nodiscard]] size_t size() const;

 private:
  struct Watcher {
    Pid pid;
    uint64_t tag = 0;  // 0: a link
    friend auto operator<=>(const Watcher&, const Watcher&) = default;
  };
  // The failure that reaches a process along its links.
  struct Cause {
    Pid first;           // the process that failed first
    uint32_t links = 1;  // from `first` to this process
    std::string what;    // cut (actord/linked_failure.h)
  };
  // Ordered containers, so that the order of events does not depend on a hash.
  struct Sides {
    std::map<uint64_t, Pid> monitors;  // the watched processes, by tag
    std::set<Watcher> watchers;        // its watchers, and its links
    // The fired watches. The tag of a fired link is the number of the end.
    std::map<uint64_t, Pid> fired_monitors;
    std::set<Watcher> fired_links;
    size_t places = 0;  // monitors, links, and events that no turn has found
    // Numbers the links that fire, from 1. The numbers begin again when the
    // sides are dropped as empty; then no event is on its way.
    uint32_t ends = 0;
    // Set while the process ends because of a link.
    std::unique_ptr<const Cause> cause;
    Pid linked;  // the process at the other end of that link
  };
  struct alignas(64) Shard {
    mutable Mutex mutex;
    absl::flat_hash_map<Pid, Sides> sides ABSL_GUARDED_BY(mutex);
  };
  // Locks the shards of two processes in the order of their addresses.
  class BothLocked;

  // The data of an end for its watchers.
  struct Ended {
    Pid pid;
    uint32_t reason = 0;
    absl::StatusCode code = absl::StatusCode::kOk;
    const Payload* result = nullptr;  // of ACTORD_EXIT_DONE
    std::string message;              // of all other reasons
    Cause cause;                      // of all other reasons, for links
  };

  static constexpr size_t kShards = 64;

  Shard& ShardOf(const Pid& pid) const {
    return shards_[(pid.slot * 0x9e3779b1u) >> 26];
  }
  // Sets Wanted::kWatched, and returns whether the process lives. False also if
  // `by` does not see the process.
  bool Mark(const Pid& pid, Owner by) const;
  // Removes the sides of `pid` if they are empty.
  static void Tidy(Shard& shard, const Pid& pid)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(shard.mutex);
  // Fires the watch on the watcher's side because of the end of `ended`.
  // Returns the number of the end for a link, and 0 for a monitor; nullopt:
  // there is no such watch.
  std::optional<uint32_t> Fire(const Watcher& watcher, const Pid& ended);
  // Fires the link to `ended`, and returns the number of the end; 0: there is
  // no such link.
  static uint32_t FireLink(Sides& sides, const Pid& ended);
  // Removes a fired link that sends no event.
  void Forget(const Pid& pid, const Watcher& fired_link);
  // Sends the event of a fired watch. `end`: the value that Fire returned.
  void Tell(const Watcher& watcher, uint32_t end, const Ended& ended,
            Lane& lane);
  void SendExit(const Watcher& watcher, uint32_t end, const Ended& ended,
                Lane& lane);
  void EndLinked(const Pid& pid, uint32_t end, const Ended& ended, Lane& lane);
  // The end that is told for a watch that cannot begin.
  static Ended Refused(const Pid& pid, uint32_t reason, absl::StatusCode code,
                       std::string&& message);
  static Ended NoProcess(const Pid& pid);
  static Ended NoRoom(const Pid& pid);

  const ProcessTable& processes_;
  Delivery& delivery_;
  mutable std::array<Shard, kShards> shards_;
};

}  // namespace actord::runtime
