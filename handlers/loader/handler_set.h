// The handler objects created for one host, and their destruction.
//
// Thread-safety: none; created and destroyed by the thread that composes the
// daemon. Ownership: owns the handler objects. Borrows their descriptors (and
// so the plugin's code) and the host; both must outlive the set. When the set
// is destroyed, no command may be running or still arrive.
#pragma once

#include <actord/abi.h>

#include <vector>

#include "absl/status/status.h"

namespace actord::handlers {

struct HandlerInstance {
  const actord_command_handler* descriptor = nullptr;
  // The object that `create` made; may be nullptr.
  void* self = nullptr;
};

class HandlerSet {
 public:
  explicit HandlerSet(const actord_host* host) : host_(host) {}
  // Destroys the handlers in reverse order of creation.
  ~HandlerSet();
  HandlerSet(HandlerSet&& other) noexcept;
  HandlerSet& operator=(HandlerSet&& other) noexcept;

  // Calls the descriptor's `create` and adds the handler. FAILED_PRECONDITION
  // if `create` refuses or throws.
  absl::Status Create(const actord_command_handler* descriptor);
  // Adds an existing handler and takes ownership of it.
  void Add(const actord_command_handler* descriptor, void* self);

  // In order of creation.
  [[nodiscard]] const std::vector<HandlerInstance>& instances() const {
    return instances_;
  }

 private:
  void DestroyAll() noexcept;

  const actord_host* host_;
  std::vector<HandlerInstance> instances_;
};

}  // namespace actord::handlers
