// Yields and calls that are still outstanding after a restart.
#include <algorithm>

#include "runtime/effects/durable_yields.h"
#include "runtime/table/home_pid.h"

namespace actord::runtime {

void DurableYields::Resume(const std::vector<records::YieldImage>& yields,
                           Process& process, const Pid& self, uint64_t record) {
  for (const records::YieldImage& image : yields) {
    if (image.answer != 0) {
      // The completion is in the mailbox.
      continue;
    }
    if (image.cancelled) {
      Refuse(process, image.tag, ACTORD_CANCELLED,
             "the process gave the yield up");
    } else if (image.kind == records::YieldKind::kCall) {
      ResumeCall(image, process, self);
    } else {
      ResumeCommand(image, process, self, record);
    }
  }
}

void DurableYields::ResumeCall(const records::YieldImage& image,
                               Process& process, const Pid& /*self*/) {
  if (image.failed || !IsHomePid(image.callee)) {
    Refuse(process, image.tag,
           image.callee.empty() ? ACTORD_NOT_FOUND : ACTORD_ABORTED,
           image.callee.empty()
               ? "no process holds the name that was called"
               : "the process that was called has ended without a reply");
    return;
  }
  OpenCall(process, image.tag, image.callee,
           {.timeout_ns = TimeLeft(image.deadline_ns),
            .age_ns = AgeOf(image.begun_ns)});
}

void DurableYields::ResumeCommand(const records::YieldImage& image,
                                  Process& process, const Pid& self,
                                  uint64_t record) {
  const uint64_t timeout_ns = TimeLeft(image.deadline_ns);
  if (durable_.IsSpawning({self, image.tag})) {
    OpenCommand(process, image.tag, /*handler=*/nullptr,
                {.timeout_ns = timeout_ns});
    return tasks_.StopExpecting({self, image.tag});
  }
  YieldEffect yield;
  yield.content = Content(lane_.NewEnvelope(
      ACTORD_EVENT_COMPLETION, image.command, ToAbi(image.payload)));
  yield.content->completion.tag = image.tag;
  if (!image.policy.empty()) {
    yield.policy =
        Content(lane_.NewEnvelope(ACTORD_EVENT_COMPLETION, {},
                                  {ToAbi(std::string_view(image.policy)), {}}));
  }
  if (!Carry({.record = record, .timeout_ns = timeout_ns, .restored = &image},
             yield, process, self)) {
    tasks_.StopExpecting({self, image.tag});
  }
}

}  // namespace actord::runtime
