// Descriptions of ended processes whose results are kept, and the pages in
// which they are listed.
//
// Thread-safety: plain values. Ownership: values own their contents.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/process/listed/labels.h"
#include "runtime/process/outcome.h"
#include "runtime/process/owner.h"
#include "runtime/process/pid.h"

namespace actord::runtime {

struct EndedInfo {
  // Longest kept text of a failure, which is cut between UTF-8 characters.
  static constexpr size_t kMaxMessageBytes = 256;

  Pid pid;
  Owner owner = Owner::kNobody;
  std::string process_type;  // "": not known
  std::string name;          // that it has held longest; "": it had none
  SharedLabels labels;       // null: none
  EndKind kind = EndKind::kResult;
  absl::StatusCode code = absl::StatusCode::kOk;  // of a failure
  std::string message;                            // of a failure
  uint64_t steps = 0;
  uint64_t started_unix_ns = 0;
  uint64_t ended_unix_ns = 0;
};

struct EndedFilter {
  std::string process_type = {};  // "": any
  std::optional<EndKind> kind = {};
  std::optional<Owner> owner = {};
  std::vector<LabelSelector> labels = {};
  Owner by = Owner::kAny;  // only the processes that `by` sees
};

struct EndedPage {
  std::vector<EndedInfo> processes;  // the newest end first
  // The next page is from here on; 0: this was the last page.
  uint64_t next = 0;
};

}  // namespace actord::runtime
