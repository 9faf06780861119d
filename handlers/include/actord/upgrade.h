// actord/upgrade.h: what a process hands to the next version of its type, and
// what that one begins with. Included by process.h.
//
//   actord::SnapshotResult Snapshot() const { return std::to_string(count_); }
//   actord::Status Restore(std::string_view method,
//                          const actord::RestoreFrom& from,
//                          actord::RestoreContext& context);
//
// Thread-safety and ownership: as process.h says.
#pragma once

#include <actord/abi.h>
#include <actord/step.h>
#include <actord/values.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace actord {

// What Snapshot returns: bytes, or why there are none. Owns both.
class SnapshotResult {
 public:
  // Anything that converts to std::string_view. The next version gets the
  // content type as it is; an empty one means application/json.
  template <std::convertible_to<std::string_view> Text>
  SnapshotResult(const Text& bytes)  // NOLINT: implicit by intent
      : bytes_(std::string_view(bytes)) {}
  SnapshotResult(std::string bytes, std::string content_type)
      : bytes_(std::move(bytes)), content_type_(std::move(content_type)) {}
  // The process stays with its version. kOk is no refusal and is read as
  // kUnknown; kUnavailable is NotNow.
  SnapshotResult(Status refusal)  // NOLINT: implicit by intent
      : refusal_(refusal.ok() ? Status(Code::kUnknown, "no reason was given")
                              : std::move(refusal)) {}
  // The process is in the middle of something: to be asked again after its next
  // step.
  static SnapshotResult NotNow() {
    return {Status(Code::kUnavailable, "not now")};
  }

  // kOk: there are bytes.
  [[nodiscard]] const Status& status() const { return refusal_; }
  // A view.
  [[nodiscard]] Payload payload() const { return {bytes_, content_type_}; }

 private:
  Status refusal_;
  std::string bytes_;
  std::string content_type_;
};

// What Restore is given. Views, valid until it returns.
struct RestoreFrom {
  Payload snapshot;
  std::string_view version;  // of the plugin that the snapshot comes from
};

// What Restore looks at and does. Restore has no effects (Yield, Send and so
// on): the step that follows it at once has.
class RestoreContext : public StepContext {
 public:
  using StepContext::StepContext;

  // Takes over a yield or a call of the former version, by the tag that it was
  // given: its completion will come to this version. False: no such one is
  // outstanding. What is not taken over is cancelled when Restore has returned
  // kOk, and nobody hears of it.
  bool AdoptYield(Tag tag) {
    Require(offsetof(actord_step_api, adopt_yield));
    return step_->api->adopt_yield(step_, tag) == ACTORD_OK;
  }
};

// A process type that can hand its state over, and one that can take it.
template <typename T>
concept HasSnapshot = requires(const T& process) {
  { process.Snapshot() } -> std::convertible_to<SnapshotResult>;
};
template <typename T>
concept HasRestore = requires(T& process, std::string_view method,
                              const RestoreFrom& from,
                              RestoreContext& context) {
  process.Restore(method, from, context);
};

}  // namespace actord
