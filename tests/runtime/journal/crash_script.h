// A script of more than 200 operations on a journal, which may end at any call
// of the system, and what must be true of the store afterwards.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/journal/journal.h"
#include "runtime/system/random.h"
#include "tests/runtime/journal/journal_fixture.h"
#include "tests/support/simulated_disk.h"

namespace actord::runtime {

class CrashScript {
 public:
  static constexpr int kOperations = 240;

  CrashScript(SimulatedDisk& disk, uint64_t seed);

  // Opens the store. Empty: it is open, or the program ended or failed on the
  // way, as the disk was told. Otherwise the mistake.
  std::string Open();
  // Plays the script until its end, or until the program ends or fails. Returns
  // the mistake; empty: there is none.
  std::string Play();
  // The mistake in the store; empty: there is none. Forgets missing records
  // that were not acknowledged.
  std::string Check();
  // The program ends without a word.
  void Drop() { journal_.reset(); }
  // Appends a record and makes it durable. Returns the mistake.
  std::string AppendOne();

  [[nodiscard]] bool is_open() const { return journal_ != nullptr; }

 private:
  struct Appended {
    uint64_t lsn;
    std::string payload;
  };

  void Append(size_t records);
  void NoteDurable();
  std::string PayloadOf(uint64_t writer, uint64_t bytes);

  SimulatedDisk& disk_;
  ManualClock clock_;
  Random random_;
  JournalOptions options_;
  std::unique_ptr<RecordedEvents> events_;
  std::unique_ptr<Journal> journal_;
  // In the order of positions.
  std::deque<Appended> appended_;
  // Everything before this position was acknowledged.
  uint64_t acknowledged_ = 0;
  // Everything before this position was given up.
  uint64_t trimmed_ = 0;
  uint64_t incarnation_ = 0;
  uint64_t next_number_ = 0;
  bool is_fast_ = false;  // segments are used up fast
  bool is_short_ = false;
};

}  // namespace actord::runtime
