// Who wants to hear of whose end: monitors and links.
//
// A watch is known on both sides, so that the end of either takes it away:
//   monitor   the watcher has {tag -> watched}, the watched {watcher, tag}
//   link      each of the two has {the other, 0}
// A process that has a watch on either side has the bit Wanted::kWatched; who
// has none pays nothing at its end. The bit and the generation are paired as
// process.h says: a watch is entered first, and if the watched process turns
// out to have ended by then, it is taken out again and fires at once.
//
// Exactly once: a monitor, or one side of a link, fires when it is taken out of
// the watcher's side by an end, and it is taken out once.
//
// What fires is a message (an exit) that no limit refuses, behind all that the
// ended process has sent to the watcher; or, for a link of a process that does
// not trap exits, a control event (kEventLinkedEnd) if the end was a failure.
//
// States of a watch on the watcher's side:
//
//   watched   in `monitors` or `watchers`
//     │ an end of the other process takes it out: it fires
//   fired     in `fired_monitors` or `fired_links`; its event is being pushed,
//     │       or in the mailbox, or taken and not yet looked at
//     │ the turn of the watcher finds its event (TakeExit, TakeLinkedEnd)
//   told      the event takes effect
//
// A Demonitor or an Unlink takes the watch out in either of the first two
// states. An event whose watch is not among the fired ones has no effect: so no
// end follows the step that gave its watch up, wherever the event is by then. A
// link that is made again and fires has another number (`ends`), so the event
// of the earlier link does not pass for it.
//
// An event holds its watch's place among the watcher's until the watcher's turn
// finds it, also when it has no effect any more: so no more of them wait
// anywhere than there may be watches.
//
// Thread-safety: any thread, but for functions that say otherwise. Locks are
// taken one at a time, or two in the order of their addresses.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "runtime/actors/tie_effect.h"
#include "runtime/inbox/delivery.h"
#include "runtime/process/activity.h"
#include "runtime/process/end_record.h"
#include "runtime/process/envelope.h"
#include "runtime/process/outcome.h"
#include "runtime/process/process_table.h"
#include "runtime/scheduler/lane.h"
#include "runtime/system/mutex.h"

namespace actord::runtime {

class Ties {
 public:
  // Of one process, in all.
  static constexpr size_t kMaxOfProcess = Activity::kExitsMax;

  Ties(const ProcessTable& processes, Delivery& delivery)
      : processes_(processes), delivery_(delivery) {}
  Ties(const Ties&) = delete;
  Ties& operator=(const Ties&) = delete;

  // ---- The turn of `self`.

  // How many it has. Others may link to it meanwhile.
  [[nodiscard]] size_t CountOf(const Pid& self) const;
  // The tag of a new monitor is new.
  void Apply(TieEffect&& tie, Process& process, const Pid& self, Lane& lane);
  // Precondition: `tag` is new.
  void Monitor(const Pid& self, uint64_t tag, const Pid& watched, Lane& lane);
  void Demonitor(const Pid& self, uint64_t tag);
  void Link(const Pid& self, const Pid& other, Lane& lane);
  void Unlink(const Pid& self, const Pid& other);
  // The turn has found the exit. False: `self` has given its watch up.
  [[nodiscard]] bool TakeExit(const Pid& self, const Envelope& exit);
  // The turn has found a kEventLinkedEnd, by which `self` ends now: why.
  // nullopt: it has been unlinked, and does not end.
  [[nodiscard]] std::optional<std::string> TakeLinkedEnd(const Pid& self,
                                                         const Envelope& end);
  // On behalf of the process that has spawned `self`: a link, and a monitor
  // with the tag `monitor` unless that is 0. Nothing fires here. NOT_FOUND: the
  // parent has ended; RESOURCE_EXHAUSTED: it has too many watches; then neither
  // is there.
  absl::Status BeginForParent(const Pid& self, const Pid& parent, bool link,
                              uint64_t monitor);
  // Takes them away again.
  void EndForParent(const Pid& self, const Pid& parent, bool link,
                    uint64_t monitor);

  // ---- Observes ends (end_record.h).
  static constexpr uint8_t kEndWanted = Wanted::kWatched;
  static constexpr bool kEndNeedsOutcome = true;
  void OnEnd(const EndRecord& end, Lane& lane);

  // Processes that have watches.
  [[nodiscard]] size_t size() const;

 private:
  struct Watcher {
    Pid pid;
    uint64_t tag = 0;  // 0: a link
    friend auto operator<=>(const Watcher&, const Watcher&) = default;
  };
  // The failure that comes to a process along its links.
  struct Cause {
    Pid first;           // the process that failed first
    uint32_t links = 1;  // from that one to this
    std::string what;    // cut (actord/linked_failure.h)
  };
  // Ordered, so that what is told to whom first does not depend on a hash.
  struct Sides {
    std::map<uint64_t, Pid> monitors;  // what it watches, by tag
    std::set<Watcher> watchers;        // who watches it, and its links
    // What has fired. Of a link the tag is the number of the end.
    std::map<uint64_t, Pid> fired_monitors;
    std::set<Watcher> fired_links;
    size_t places = 0;  // monitors, links, and events that no turn has found
    // Numbers links that fire, from 1. It begins again when the sides are
    // dropped as empty, when no event is on its way.
    uint32_t ends = 0;
    // It is ending by a link.
    std::unique_ptr<const Cause> cause;
  };
  struct alignas(64) Shard {
    mutable Mutex mutex;
    absl::flat_hash_map<Pid, Sides> sides ABSL_GUARDED_BY(mutex);
  };
  // The shards of two processes, locked in an order.
  class BothLocked;

  // How an end is told.
  struct Ended {
    Pid pid;
    uint32_t reason = 0;
    absl::StatusCode code = absl::StatusCode::kOk;
    const Payload* result = nullptr;  // of ACTORD_EXIT_DONE
    std::string message;              // of all others
    Cause cause;                      // likewise, along links
  };

  static constexpr size_t kShards = 64;

  Shard& ShardOf(const Pid& pid) const {
    return shards_[(pid.slot * 0x9e3779b1u) >> 26];
  }
  // Sets the bit, and says whether the process lives.
  bool Mark(const Pid& pid) const;
  // Takes away what is empty.
  static void Tidy(Shard& shard, const Pid& pid)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(shard.mutex);
  // The end of `ended` fires the watch on the watcher's side. Returns the
  // number of the end if it is a link, otherwise 0; nullopt: there is no such
  // watch.
  std::optional<uint32_t> Fire(const Watcher& watcher, const Pid& ended);
  // The link to `ended`; returns the number of the end. 0: there is none.
  static uint32_t FireLink(Sides& sides, const Pid& ended);
  // A link that has fired sends no event.
  void Forget(const Pid& pid, const Watcher& fired_link);
  // `end`: as Fire has returned it.
  void Tell(const Watcher& watcher, uint32_t end, const Ended& ended,
            Lane& lane);
  void SendExit(const Watcher& watcher, uint32_t end, const Ended& ended,
                Lane& lane);
  void EndLinked(const Pid& pid, uint32_t end, const Ended& ended, Lane& lane);
  // A watch that cannot be.
  static Ended Refused(const Pid& pid, uint32_t reason, absl::StatusCode code,
                       std::string&& message);
  static Ended NoProcess(const Pid& pid);
  static Ended NoRoom(const Pid& pid);

  const ProcessTable& processes_;
  Delivery& delivery_;
  mutable std::array<Shard, kShards> shards_;
};

// How `kind` is told: ACTORD_EXIT_*.
uint32_t ExitReasonOf(EndKind kind);

}  // namespace actord::runtime
