// Several errors as one status, so that a user can correct all of them at once.
//
// Thread-safety: not thread-safe.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace actord::daemon {

class ProblemList {
 public:
  // Adds nothing for an OK. The lines of a message are separate problems.
  void Add(const absl::Status& status);
  [[nodiscard]] bool empty() const { return lines_.empty(); }
  // OK if there is no problem. Otherwise the code of the first problem, and a
  // message with one line for each problem, in the order in which they were
  // added, without repetitions.
  [[nodiscard]] absl::Status status() const;

 private:
  absl::StatusCode code_ = absl::StatusCode::kOk;
  std::vector<std::string> lines_;
};

// The lines of the message.
std::vector<std::string> ProblemLines(const absl::Status& status);

}  // namespace actord::daemon
