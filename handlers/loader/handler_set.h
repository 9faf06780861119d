// Handler objects that were made for one host: who made them, and their end.
//
// Thread-safety: none; built and destroyed by the thread that composes the
// daemon. Ownership: owns the handler objects; borrows their descriptors (and
// so the plugin's code) and the host, which must both outlive the set. No
// command may be running or come when the set is destroyed.
#pragma once

#include <actord/abi.h>

#include <vector>

#include "absl/status/status.h"

namespace actord::handlers {

struct HandlerInstance {
  const actord_command_handler* descriptor = nullptr;
  void* self = nullptr;  // what `create` made; may be nullptr
};

class HandlerSet {
 public:
  explicit HandlerSet(const actord_host* host) : host_(host) {}
  // Destroys the handlers, the last made first.
  ~HandlerSet();
  HandlerSet(HandlerSet&& other) noexcept;
  HandlerSet& operator=(HandlerSet&& other) noexcept;

  // Runs the descriptor's `create` and adds the handler. FAILED_PRECONDITION
  // when it refuses or throws.
  absl::Status Create(const actord_command_handler* descriptor);
  // Adds a handler that exists already, and takes it over.
  void Add(const actord_command_handler* descriptor, void* self);

  // In the order in which they were made.
  [[nodiscard]] const std::vector<HandlerInstance>& instances() const {
    return instances_;
  }

 private:
  void DestroyAll() noexcept;

  const actord_host* host_;
  std::vector<HandlerInstance> instances_;
};

}  // namespace actord::handlers
