// A timer of gRPC, for a stream that reads later.
//
// Thread-safety: one thread at a time. Begin returns before `over` is called,
// if the caller holds a lock that `over` takes. Ownership: the object may be
// gone when the timer ends; `over` owns what it needs.
#pragma once

#include <grpcpp/alarm.h>

#include <functional>
#include <memory>

#include "absl/time/time.h"

namespace actord::daemon {

class ReadPause {
 public:
  // Calls `over` once, after `delay` of the monotonic clock, on one of gRPC's
  // threads. Begin may be called again when `over` has been called.
  void Begin(absl::Duration delay, std::function<void()> over);

 private:
  // Null: no timer was ever needed.
  std::unique_ptr<grpc::Alarm> alarm_;
};

}  // namespace actord::daemon
