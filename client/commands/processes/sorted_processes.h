// The processes of a list in the order of one of their fields: ps --sort-by.
//
// Thread-safety: not thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "actord/v1/process.pb.h"

namespace actord::client {

// Whether the first process is shown above the second.
using IsAbove = bool (*)(const v1::Process&, const v1::Process&);

// Numbers and times are sorted from the largest down, texts from A to Z.
struct SortField {
  const char* name;
  IsAbove is_above;
  // Of live processes; of ended ones.
  bool is_live = true;
  bool is_ended = true;
};
const std::vector<SortField>& SortFields();

// Processes that are equal keep the order in which they were added.
class SortedProcesses {
 public:
  // The maximum number of processes that are kept.
  static constexpr size_t kMost = 100'000;

  // Keeps the first `limit` processes, at most kMost; 0: all.
  SortedProcesses(IsAbove is_above, size_t limit);

  void Add(const v1::Process& process);
  // RESOURCE_EXHAUSTED: without a limit, more than kMost were added.
  [[nodiscard]] absl::Status status() const;
  // The processes in their order. Call it once, after the last Add.
  [[nodiscard]] std::vector<v1::Process> Take();

 private:
  struct Kept {
    size_t number;  // in the order of Add
    v1::Process process;
  };
  [[nodiscard]] bool Precedes(const Kept& a, const Kept& b) const;

  const IsAbove is_above_;
  const size_t limit_;
  size_t added_ = 0;
  std::vector<Kept> kept_;
};

}  // namespace actord::client
