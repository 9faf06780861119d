#include "daemon/problems/problem_list.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace actord::daemon {

void ProblemList::Add(const absl::Status& status) {
  if (status.ok()) return;
  if (code_ == absl::StatusCode::kOk) code_ = status.code();
  for (std::string& line : ProblemLines(status)) {
    if (std::find(lines_.begin(), lines_.end(), line) == lines_.end()) {
      lines_.push_back(std::move(line));
    }
  }
}

absl::Status ProblemList::status() const {
  if (code_ == absl::StatusCode::kOk) return absl::OkStatus();
  return {code_, absl::StrJoin(lines_, "\n")};
}

std::vector<std::string> ProblemLines(const absl::Status& status) {
  return absl::StrSplit(status.message(), '\n');
}

}  // namespace actord::daemon
