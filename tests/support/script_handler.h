// A command handler whose behaviour a test writes as a lambda.
//
// Thread-safety: that of the lambda. Ownership: the test keeps it alive longer
// than the runtime.
#pragma once

#include <actord/abi.h>

#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace actord::testing {

// A C++ view of one call of the handler.
class Call {
 public:
  explicit Call(actord_call* call) : call_(call) {}

  [[nodiscard]] std::string_view bytes() const {
    return {static_cast<const char*>(call_->payload.bytes.data),
            call_->payload.bytes.size};
  }
  [[nodiscard]] uint64_t tag() const { return call_->tag; }
  [[nodiscard]] actord_pid from() const { return call_->from; }
  void Reply(int32_t status, std::string_view text,
             std::string_view content_type = {}) {
    const actord_payload payload{{text.data(), text.size()},
                                 {content_type.data(), content_type.size()}};
    call_->api->reply(call_, status, &payload);
  }
  actord_completion Defer() { return call_->api->defer(call_); }

 private:
  actord_call* call_;
};

class ScriptHandler {
 public:
  using Function = std::function<int32_t(Call&)>;

  ScriptHandler(std::string command, uint32_t mode, Function handle,
                uint32_t flags = 0)
      : command_(std::move(command)), handle_(std::move(handle)) {
    descriptor_.struct_size = sizeof(descriptor_);
    descriptor_.mode = mode;
    descriptor_.flags = flags;
    descriptor_.command = command_.c_str();
    descriptor_.handle = [](void* self, actord_call* call) {
      Call wrapped(call);
      return static_cast<ScriptHandler*>(self)->handle_(wrapped);
    };
  }
  ScriptHandler(const ScriptHandler&) = delete;
  ScriptHandler& operator=(const ScriptHandler&) = delete;

  const actord_command_handler* descriptor() const { return &descriptor_; }

 private:
  const std::string command_;
  const Function handle_;
  actord_command_handler descriptor_{};
};

}  // namespace actord::testing
