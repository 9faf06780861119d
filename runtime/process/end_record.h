// The record of a process's end, and the ordered list of observers that get it.
//
// The observers are known at compile time. Each one is a class with
//   static constexpr uint8_t kEndWanted;       its bit of Process::wanted
//   static constexpr bool kEndNeedsOutcome;    it reads EndRecord::outcome
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
  // Null unless an observer that needs the outcome is called.
  const Outcome* outcome;
};

template <typename... Observers>
class EndObservers {
 public:
  explicit EndObservers(Observers&... observers) : observers_(observers...) {}

  // The bits of the observers that need an outcome.
  static constexpr uint8_t kNeedOutcome =
      ((Observers::kEndNeedsOutcome ? Observers::kEndWanted : 0) | ...);

  // Calls the observers whose bits are in `wanted`, in the order of the list.
  void Tell(const EndRecord& end, uint8_t wanted, Lane& lane) const {
    (TellOne(std::get<Observers&>(observers_), end, wanted, lane), ...);
  }

 private:
  template <typename Observer>
  static void TellOne(Observer& observer, const EndRecord& end, uint8_t wanted,
                      Lane& lane) {
    if ((wanted & Observer::kEndWanted) != 0) observer.OnEnd(end, lane);
  }

  std::tuple<Observers&...> observers_;
};

}  // namespace actord::runtime
