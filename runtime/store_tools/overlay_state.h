// A state store in memory on top of another one, which it never changes. It
// shows the state that records would make, without writing anything.
//
// Thread-safety: one thread at a time. Lifetime: ends before the store below.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/store/state_store.h"

namespace actord::runtime {

class OverlayState final : public StateStore {
 public:
  // Null: there is nothing below.
  explicit OverlayState(StateStore* below) : below_(below) {}

  absl::StatusOr<std::optional<std::string>> Get(std::string_view key) override;
  absl::Status Write(std::span<const StateWrite> writes) override;
  absl::Status Flush() override { return absl::OkStatus(); }
  absl::Status Scan(std::string_view first, std::string_view last,
                    Use use) override;

 private:
  StateStore* const below_;
  // Without a value: the key is removed.
  std::map<std::string, std::optional<std::string>, std::less<>> changed_;
};

}  // namespace actord::runtime
