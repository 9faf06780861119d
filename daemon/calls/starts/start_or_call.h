// A call to the holder of a name, which starts the holder if there is none. Of
// many concurrent calls one starts a process, because the runtime checks the
// name and starts the process in one act.
//
// The holder may end between two steps:
//   before it got the call   the name is looked up again, Names::kMaxLookups
//                            times in all
//   after it got the call    the call fails (CALLEE_ENDED), as every call
//   after this call has started it
//                            the call fails; another start might end the same
//                            way
//
// A client that gives up takes the call back, but not the start.
//
// Thread-safety: Start happens before TakeBack, which any thread may call.
// Ownership: shared with the callbacks of the runtime; borrows the runtime, the
// catalog, the source of the caller and, from Start on, the end.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "actord/v1/process.pb.h"
#include "daemon/calls/starts/two_part_end.h"
#include "daemon/calls/wait_end.h"
#include "daemon/operations/caller.h"
#include "runtime/actors/names.h"
#include "runtime/process/catalog.h"
#include "runtime/runtime.h"
#include "runtime/tracing/trace_context.h"

namespace actord::daemon {

class StartOrCall : public std::enable_shared_from_this<StartOrCall> {
 public:
  struct Order {
    // With a name and an owner.
    runtime::SubmitRequest start;
    runtime::Message message;
    runtime::RequestId message_id;  // with "" the call has none
    std::optional<runtime::TraceContext> trace;
  };

  // The caller may start such a process, and send to it.
  StartOrCall(runtime::Runtime& runtime, const runtime::Catalog& catalog,
              const Caller& caller, Order order)
      : runtime_(runtime),
        catalog_(catalog),
        caller_(caller),
        order_(std::move(order)) {}

  void Start(WaitEnd<v1::CallResponse>* end);
  bool TakeBack() { return end_->TakeBack(); }

 private:
  void Try();
  void Submitted(const absl::StatusOr<runtime::Pid>& pid);
  void Call(const runtime::Pid& pid);
  void Answered(const absl::Status& status, v1::CallResponse response);
  [[nodiscard]] bool MayTryAgain() const {
    return attempts_ < runtime::Names::kMaxLookups && end_->IsOpen();
  }

  runtime::Runtime& runtime_;
  const runtime::Catalog& catalog_;
  const Caller caller_;
  std::optional<TwoPartEnd<v1::CallResponse>> end_;  // from Start on
  // One step at a time uses these: a step begins in the callback of the last.
  Order order_;
  int attempts_ = 0;
  bool started_ = false;
  runtime::Pid pid_;  // of the process that is called
};

}  // namespace actord::daemon
