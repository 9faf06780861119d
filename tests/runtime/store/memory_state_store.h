// A state store in memory, which can crash: for tests.
//
// Thread-safety: one thread at a time.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/store/state_store.h"

namespace actord::runtime {

class MemoryStateStore final : public StateStore {
 public:
  absl::StatusOr<std::optional<std::string>> Get(std::string_view key) override;
  absl::Status Write(std::span<const StateWrite> writes) override;
  absl::Status Flush() override;
  absl::Status Scan(std::string_view first, std::string_view last,
                    Use use) override;

  // The number of batches that a crash may lose.
  [[nodiscard]] size_t unflushed() const { return since_flush_.size(); }
  // Loses all batches since the last Flush but the first `kept`.
  void Crash(size_t kept);

  using Entries = std::map<std::string, std::string, std::less<>>;
  [[nodiscard]] const Entries& entries() const { return now_; }

 private:
  static void Apply(const std::vector<StateWrite>& batch, Entries& entries);

  Entries flushed_;
  std::vector<std::vector<StateWrite>> since_flush_;
  Entries now_;
};

}  // namespace actord::runtime
