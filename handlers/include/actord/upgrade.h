// actord/upgrade.h: how a process hands its state to the next version of its
// type. Included by process.h.
//
//   actord::SnapshotResult Snapshot() const { return std::to_string(count_); }
//   actord::Status Restore(std::string_view method,
//                          const actord::RestoreFrom& from,
//                          actord::RestoreContext& context);
//
// Thread-safety and ownership: as in process.h.
#pragma once

#include <actord/abi.h>
#include <actord/durable.h>
#include <actord/step.h>
#include <actord/values.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace actord {

// The result of Snapshot: bytes, or a refusal. Owns both.
class SnapshotResult {
 public:
  // From any type that converts to std::string_view. The next version gets the
  // content type unchanged. An empty one means application/json.
  template <std::convertible_to<std::string_view> Text>
  SnapshotResult(const Text& bytes)  // NOLINT: implicit by intent
      : bytes_(std::string_view(bytes)) {}
  SnapshotResult(std::string bytes, std::string content_type)
      : bytes_(std::move(bytes)), content_type_(std::move(content_type)) {}
  // A refusal: the process keeps its version. kOk is not a refusal and is read
  // as kUnknown. kUnavailable means NotNow().
  SnapshotResult(Status refusal)  // NOLINT: implicit by intent
      : refusal_(refusal.ok() ? Status(Code::kUnknown, "no reason was given")
                              : std::move(refusal)) {}
  // The process is in the middle of something: the daemon asks again after the
  // next step.
  static SnapshotResult NotNow() {
    return {Status(Code::kUnavailable, "not now")};
  }

  // kOk: there are bytes.
  [[nodiscard]] const Status& status() const { return refusal_; }
  // A view of this object.
  [[nodiscard]] Payload payload() const { return {bytes_, content_type_}; }

 private:
  Status refusal_;
  std::string bytes_;
  std::string content_type_;
};

// The arguments of Restore. Views, valid until Restore returns.
struct RestoreFrom {
  // The result of Snapshot; or the bytes of a flat state.
  Payload snapshot;
  // Version of the plugin that the snapshot comes from.
  std::string_view version;
  RestoreReason reason = RestoreReason::kUpgrade;
  // The kStateVersion of the flat state whose bytes are in `snapshot`; 0: the
  // snapshot is a result of Snapshot.
  uint32_t state_version = 0;
};

namespace detail {

// Fields that the daemon does not have keep their defaults.
inline RestoreFrom ToRestoreFrom(const actord_restore& restore) {
  RestoreFrom from;
  from.snapshot = Payload(restore.snapshot);
  from.version = View(restore.from_version);
  constexpr size_t kCovered = offsetof(actord_restore, from_flat_version) +
                              sizeof(actord_restore::from_flat_version);
  if (restore.struct_size >= kCovered) {
    from.reason = static_cast<RestoreReason>(restore.reason);
    from.state_version = restore.from_flat_version;
  }
  return from;
}

}  // namespace detail

// The queries and actions of Restore. Restore has no effects (Yield, Send and
// so on); the step that follows at once can have them.
class RestoreContext : public StepContext {
 public:
  using StepContext::StepContext;

  // Takes over the yield or call of the former version that had this tag: its
  // completion will reach this version. False: no such yield or call is
  // outstanding. When Restore has returned kOk, those that were not taken over
  // are cancelled, and their completions are dropped.
  bool AdoptYield(Tag tag) {
    Require(offsetof(actord_step_api, adopt_yield));
    return step_->api->adopt_yield(step_, tag) == ACTORD_OK;
  }
};

// Process types with a Snapshot, and process types with a Restore.
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
