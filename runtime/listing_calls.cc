// Lists the calls that have no answer yet, and the commands that run in the
// daemon: ListCalls. The places of the list are the slots of the yield records
// first, for calls and commands of processes, and then the ids of calls from
// outside, which are larger than any slot.
#include <algorithm>
#include <utility>
#include <vector>

#include "runtime/core.h"

namespace actord::runtime {
namespace {

constexpr uint64_t kFirstOutsidePlace = uint64_t{1} << 32;
constexpr int64_t kNsPerMs = 1'000'000;

bool MatchesPids(const CallFilter& filter, const Pid& caller,
                 const Pid& callee) {
  return (filter.caller.empty() || filter.caller == caller) &&
         (filter.callee.empty() || filter.callee == callee);
}

std::string FirstOf(const std::vector<std::string>& names) {
  return names.empty() ? "" : names.front();
}

// Converts times of the monotonic clock. The distance of the clocks is rounded,
// so that two lists agree on the begin of a call.
class WallTime {
 public:
  explicit WallTime(const Clock& clock)
      : offset_ms_((static_cast<int64_t>(clock.UnixNs()) -
                    static_cast<int64_t>(clock.MonotonicNs())) /
                   kNsPerMs) {}

  [[nodiscard]] uint64_t UnixNs(int64_t monotonic_ms) const {
    return static_cast<uint64_t>(
        std::max<int64_t>(monotonic_ms + offset_ms_, 0) * kNsPerMs);
  }

 private:
  const int64_t offset_ms_;
};

// The call or the command, without the facts about a callee.
PendingCall CallOf(const YieldBroker::OpenedCall& open,
                   const ProcessInfo& caller, uint64_t begun_ns) {
  PendingCall call;
  call.caller = open.caller;
  call.owner = caller.owner;
  call.caller_type = caller.process_type;
  call.caller_name = FirstOf(caller.names);
  call.caller_state = caller.state;
  call.caller_yields = caller.yields;
  call.callee = open.callee;
  call.begun_unix_ns = begun_ns;
  if (open.times.timeout_ms() != 0) {
    call.deadline_unix_ns =
        begun_ns + open.times.timeout_ms() * uint64_t{kNsPerMs};
  }
  if (open.command != nullptr) {
    call.command = open.command->name;
    call.plugin = open.command->plugin;
  }
  return call;
}

PendingCall OutsideCallOf(const Calls::OutsideCall& open, uint64_t begun_ns,
                          Owner by) {
  PendingCall call;
  call.callee = open.callee;
  call.begun_unix_ns = begun_ns;
  if (open.who) call.outside = open.who();
  if (call.outside.has_value() && by != Owner::kAny &&
      by != call.outside->owner) {
    call.outside.reset();
  }
  return call;
}

}  // namespace

CallPage Runtime::Core::ListCalls(const CallFilter& filter,
                                  uint64_t first_place,
                                  size_t page_size) const {
  CallPage page;
  const WallTime wall(clock);
  const auto set_callee = [&](PendingCall& call) {
    const absl::StatusOr<ProcessInfo> callee = Describe(call.callee, filter.by);
    if (!callee.ok()) return false;
    call.callee_type = callee->process_type;
    call.callee_name = FirstOf(callee->names);
    call.callee_state = callee->state;
    return true;
  };
  const auto add_call = [&](const YieldBroker::OpenedCall& open) {
    const uint64_t begun_ns = wall.UnixNs(open.times.begun_ms());
    if (!MatchesPids(filter, open.caller, open.callee) ||
        begun_ns > filter.begun_until_unix_ns) {
      return true;
    }
    if (open.command != nullptr && open.command->is_builtin() &&
        filter.caller.empty()) {
      return true;
    }
    const absl::StatusOr<ProcessInfo> caller = Describe(open.caller, filter.by);
    if (!caller.ok()) return true;
    if (page.calls.size() == page_size) return false;
    PendingCall call = CallOf(open, *caller, begun_ns);
    if (open.command == nullptr) set_callee(call);
    page.calls.push_back(std::move(call));
    return true;
  };
  if (first_place < kFirstOutsidePlace) {
    page.next_place =
        broker.ForEachCall(static_cast<uint32_t>(first_place), kMaxLookedAt,
                           filter.with_commands, add_call);
    if (page.next_place != 0) return page;
    first_place = kFirstOutsidePlace;
  }
  // No callee is described with the lock of the calls.
  std::vector<PendingCall> from_outside;
  const size_t room = page_size - page.calls.size();
  page.next_place = calls.ForEachOutside(
      first_place, kMaxLookedAt, [&](const Calls::OutsideCall& call) {
        const uint64_t begun_ns =
            wall.UnixNs(static_cast<int64_t>(call.begun_ns) / kNsPerMs);
        if (!MatchesPids(filter, Pid{}, call.callee) ||
            begun_ns > filter.begun_until_unix_ns) {
          return true;
        }
        if (from_outside.size() == room) return false;
        from_outside.push_back(OutsideCallOf(call, begun_ns, filter.by));
        return true;
      });
  for (PendingCall& call : from_outside) {
    if (set_callee(call)) page.calls.push_back(std::move(call));
  }
  return page;
}

CallPage Runtime::ListCalls(const CallFilter& filter, uint64_t first_place,
                            size_t page_size) const {
  return core_->ListCalls(filter, first_place, page_size);
}

}  // namespace actord::runtime
