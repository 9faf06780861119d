// The record of a process's end, and the ordered list of observers that get it.
//
// The observers are known at compile time. Each one is a class with
//   static constexpr uint8_t kEndWanted;       its bit of Process::wanted
//   static constexpr bool kEndNeedsOutcome;    it reads EndRecord::outcome
//   static constexpr bool kEndNeedsFailure;    may be absent; it reads
//                                              EndRecord::outcome of a failure
//   void OnEnd(const EndRecord& end, Lane& lane);
// and is called only if its bit of Process::wanted was set.
//
// Thread-safety: belongs to the turn that ends the process.
#pragma once

#include <cstdint>
#include <tuple>

#include "runtime/process/outcome.h"
#include "runtime/process/pid.h"
#include "runtime/process/process.h"

namespace actord::runtime {

class Lane;

// The end of a process, which no look-up finds any more.
struct EndRecord {
  Process& process;
  const Pid& pid;
  // Null unless an observer that needs the outcome is called. For observers
  // that need only failures it may be null if the process has a result.
  const Outcome* outcome;
};

template <typename Observer>
constexpr bool NeedsFailure() {
  if constexpr (requires { Observer::kEndNeedsFailure; }) {
    return Observer::kEndNeedsFailure;
  }
  return Observer::kEndNeedsOutcome;
}

template <typename... Observers>
class EndObservers {
 public:
  explicit EndObservers(Observers&... observers) : observers_(observers...) {}

  // The bits of the observers that need an outcome.
  static constexpr uint8_t kNeedOutcome =
      ((Observers::kEndNeedsOutcome ? Observers::kEndWanted : 0) | ...);

  // The bits of the observers that need the outcome of such an end.
  static constexpr uint8_t NeedOutcomeOf(EndKind kind) {
    return kind == EndKind::kResult ? kNeedOutcome : kNeedFailure;
  }

  // Calls the observers whose bits are in `wanted`, in the order of the list.
  void Tell(const EndRecord& end, uint8_t wanted, Lane& lane) const {
    (TellOne(std::get<Observers&>(observers_), end, wanted, lane), ...);
  }

 private:
  static constexpr uint8_t kNeedFailure =
      ((NeedsFailure<Observers>() ? Observers::kEndWanted : 0) | ...);

  template <typename Observer>
  static void TellOne(Observer& observer, const EndRecord& end, uint8_t wanted,
                      Lane& lane) {
    if ((wanted & Observer::kEndWanted) != 0) observer.OnEnd(end, lane);
  }

  std::tuple<Observers&...> observers_;
};

}  // namespace actord::runtime
