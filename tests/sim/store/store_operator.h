// The operator of the simulated daemon: upgrades the scribes, mends what has
// put processes into quarantine, and asks for new tries of these processes.
//
// Thread-safety: as Outside. Ownership: borrows everything.
#pragma once

#include "tests/sim/store/outside.h"
#include "tests/sim/store/store_life.h"

namespace actord::sim {

class StoreOperator {
 public:
  StoreOperator(Outside& outside, StoreLife& life)
      : outside_(outside), life_(life) {}

  // True: there is a trouble, or a process is in quarantine.
  [[nodiscard]] bool IsNeeded() const;
  // Does one of the things that there are to do.
  void Act();
  // Mends everything, and waits until no process is in quarantine, or until the
  // end of the program.
  void MendAll();

 private:
  // Asks for a new try of each process in quarantine. `waits`: for the answers.
  void TryAll(bool waits);

  Outside& outside_;
  StoreLife& life_;
};

}  // namespace actord::sim
