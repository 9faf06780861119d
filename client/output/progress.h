// A line on a terminal that shows the progress of a long command.
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
  // The part of all work that is done, 0 to 1.
  std::optional<double> fraction = {};
};

class Progress {
 public:
  // Writes nothing unless `enabled`.
  Progress(std::ostream& err, bool enabled, int terminal_width);
  // Removes the line.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Writes the line again, at most ten times a second.
  void Update(const ProgressCounts& counts, absl::Time now);
  // Removes the line, so that other text can be written.
  void Clear();

 private:
  std::ostream& err_;
  const bool enabled_;
  const int terminal_width_;
  absl::Time start_ = absl::InfinitePast();
  absl::Time last_ = absl::InfinitePast();
  bool visible_ = false;
};

// The text of the line, at most `width` characters.
std::string ProgressLine(const ProgressCounts& counts, absl::Duration elapsed,
                         int width);

}  // namespace actord::client
