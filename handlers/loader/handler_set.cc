#include "handlers/loader/handler_set.h"

#include <actord/handler.h>

#include <string>
#include <utility>

namespace actord::handlers {

HandlerSet::~HandlerSet() { DestroyAll(); }

HandlerSet::HandlerSet(HandlerSet&& other) noexcept
    : host_(other.host_), instances_(std::exchange(other.instances_, {})) {}

HandlerSet& HandlerSet::operator=(HandlerSet&& other) noexcept {
  if (this != &other) {
    DestroyAll();
    host_ = other.host_;
    instances_ = std::exchange(other.instances_, {});
  }
  return *this;
}

absl::Status HandlerSet::Create(const actord_command_handler* descriptor) {
  void* self = nullptr;
  if (descriptor->create != nullptr) {
    const std::string command =
        descriptor->command == nullptr ? "" : descriptor->command;
    int32_t status = ACTORD_INTERNAL;
    try {
      status = descriptor->create(host_, &self);
    } catch (...) {
      // Foreign code: exceptions stop here.
      return absl::FailedPreconditionError(
          "command '" + command +
          "': " + actord::detail::DescribeException("create"));
    }
    if (status != ACTORD_OK) {
      return absl::FailedPreconditionError(
          "command '" + command + "': its handler refused to start with " +
          std::string(CodeName(ToCode(status))));
    }
  }
  Add(descriptor, self);
  return absl::OkStatus();
}

void HandlerSet::Add(const actord_command_handler* descriptor, void* self) {
  instances_.push_back({descriptor, self});
}

void HandlerSet::DestroyAll() noexcept {
  for (; !instances_.empty(); instances_.pop_back()) {
    const HandlerInstance& instance = instances_.back();
    if (instance.descriptor->destroy == nullptr) continue;
    try {
      instance.descriptor->destroy(instance.self);
    } catch (...) {
      // Foreign code: exceptions stop here, so that the other handlers are
      // destroyed.
      Host(host_).Log(LogLevel::kError,
                      actord::detail::DescribeException("destroy"));
    }
  }
}

}  // namespace actord::handlers
