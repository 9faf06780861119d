// The wait of the call Run: for the start of a process, and then for its end.
//
// The deadline of the call ends the wait and not the process. A client whose
// deadline has passed takes no error, and would not learn the PID from one. So
// the wait ends itself shortly before. A client of gRPC gets the PID at the
// start, too, in the initial metadata.
//
// Thread-safety: Start happens before TakeBack, which any thread may call.
// Ownership: borrows the parts and, from Start on, the end.
#pragma once

#include <memory>
#include <utility>

#include "absl/time/time.h"
#include "actord/v1/outcome.pb.h"
#include "actord/v1/process.pb.h"
#include "daemon/access/access.h"
#include "daemon/calls/wait_end.h"
#include "runtime/actors/request_ids.h"
#include "runtime/process/catalog.h"
#include "runtime/runtime.h"
#include "runtime/system/clock.h"

namespace actord::daemon {

// How long before the deadline of a call the wait ends, if the call has `left`
// until then: a tenth of it, at most 100 ms.
absl::Duration AnswerMargin(absl::Duration left);

class RunWait {
 public:
  using Response = v1::RunResponse;

  struct Parts {
    runtime::Runtime& runtime;
    const runtime::Clock& clock;
    const runtime::Catalog& catalog;
    runtime::RequestIds& request_ids;
  };
  // `deadline`: of the call; InfiniteFuture: it has none.
  RunWait(const Parts& parts, const Access& access, absl::Time deadline,
          v1::SubmitRequest submit)
      : parts_(parts),
        access_(access),
        deadline_(deadline),
        submit_(std::move(submit)) {}

  void Start(WaitEnd<Response>* end);
  bool TakeBack();

 private:
  class Run;

  Parts parts_;
  Access access_;
  absl::Time deadline_;
  v1::SubmitRequest submit_;  // without its payloads from Start on
  // From Start on. Shared with the callbacks of the runtime.
  std::shared_ptr<Run> run_;
};

}  // namespace actord::daemon
