// The external commands that wait, for actorctl stuck.
//
// Thread-safety: one thread. Ownership: owns its contents.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "actord/v1/yield.pb.h"
#include "client/commands/failures/stuck_calls.h"

namespace actord::client {

// Unit: characters of a text that a program has written.
inline constexpr size_t kForeignWidth = 100;

class StuckYields {
 public:
  // `joins`: processes of one type that wait for the same command, which no
  // worker holds, are one element, with the PID of the oldest.
  explicit StuckYields(bool joins) : joins_(joins) {}

  // To be called in the order of age, the oldest first.
  void Add(const v1::Yield& yield);
  void ForEach(absl::Time now,
               const std::function<void(const StuckProcess&)>& use) const;

 private:
  struct Group {
    v1::Yield oldest;
    size_t count = 1;
    absl::Time first_deadline = absl::InfiniteFuture();
  };
  static StuckProcess Describe(const Group& group, absl::Time now);

  const bool joins_;
  std::vector<Group> groups_;
  // The groups that others may join, by their places.
  absl::flat_hash_map<std::string, size_t> open_;
};

}  // namespace actord::client
