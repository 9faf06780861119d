// A line on a terminal that says how far a long command is.
//
// Thread-safety: not thread-safe. Ownership: borrows the stream.
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>

#include "absl/time/time.h"

namespace actord::client {

struct ProgressCounts {
  uint64_t begun = 0;
  uint64_t finished = 0;
  uint64_t failed = 0;
  std::optional<double> fraction = {};  // of all that there is to do, 0 to 1
};

class Progress {
 public:
  // Writes nothing unless `enabled`.
  Progress(std::ostream& err, bool enabled, int terminal_width);
  // Takes the line away.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Writes the line anew, at most ten times a second.
  void Update(const ProgressCounts& counts, absl::Time now);
  // Takes the line away, so that something else can be written.
  void Clear();

 private:
  std::ostream& err_;
  const bool enabled_;
  const int terminal_width_;
  absl::Time start_ = absl::InfinitePast();
  absl::Time last_ = absl::InfinitePast();
  bool visible_ = false;
};

// The line itself, at most `width` characters.
std::string ProgressLine(const ProgressCounts& counts, absl::Duration elapsed,
                         int width);

}  // namespace actord::client
