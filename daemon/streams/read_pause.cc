#include "daemon/streams/read_pause.h"

#include <grpc/support/time.h>

#include <utility>

namespace actord::daemon {

void ReadPause::Begin(absl::Duration delay, std::function<void()> over) {
  // A new alarm each time: gRPC still runs the function of the last one when
  // `over` begins the next pause.
  alarm_ = std::make_unique<grpc::Alarm>();
  // A deadline that is a time span counts from now on, on the monotonic clock.
  const gpr_timespec deadline =
      gpr_time_from_nanos(absl::ToInt64Nanoseconds(delay), GPR_TIMESPAN);
  // The alarm keeps its function as long as the stream keeps the alarm, so the
  // function lets the stream go when it has run.
  alarm_->Set(deadline, [over = std::move(over)](bool) mutable {
    std::exchange(over, nullptr)();
  });
}

}  // namespace actord::daemon
