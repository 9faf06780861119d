#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/store/state_store.h"

namespace actord::runtime {

// A state store that calls a function before each batch.
class WatchedStateStore final : public StateStore {
 public:
  WatchedStateStore(StateStore& store, std::function<void()> before_write)
      : store_(store), before_write_(std::move(before_write)) {}
  absl::StatusOr<std::optional<std::string>> Get(
      std::string_view key) override {
    return store_.Get(key);
  }
  absl::Status Write(std::span<const StateWrite> writes) override {
    before_write_();
    return store_.Write(writes);
  }
  absl::Status Flush() override { return store_.Flush(); }
  absl::Status Scan(std::string_view first, std::string_view last,
                    Use use) override {
    return store_.Scan(first, last, use);
  }

 private:
  StateStore& store_;
  const std::function<void()> before_write_;
};

}  // namespace actord::runtime
