// Submit for a name: finds the holder of the name, or starts it.
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/actors/names.h"
#include "runtime/core.h"
#include "runtime/delivery/message_rules.h"
#include "runtime/process/errors.h"

namespace actord::runtime {
namespace {

struct Attempt {
  SubmitRequest request;
  Runtime::SubmitOrDeliverCallback done;
  int left = Names::kMaxLookups;
};

absl::Status Check(const SubmitRequest& request, const LiveLimits& limits) {
  absl::Status status = CheckName("name", request.name);
  if (request.messages.size() > Activity::kMaxChain) {
    status.Update(InvalidField(
        "messages", reason::kInvalidField,
        absl::StrCat("there are ", request.messages.size(),
                     " messages; the limit is ", Activity::kMaxChain,
                     " for messages that the holder of a name may receive")));
  }
  for (const Message& message : request.messages) {
    status.Update(CheckMessage("messages", message, PayloadLimit(limits)));
  }
  status.Update(CheckMemory(limits));
  return status;
}

void TryOnce(Runtime::Core& core, const std::shared_ptr<Attempt>& attempt) {
  while (attempt->left-- > 0) {
    const absl::StatusOr<Pid> holder =
        core.names.Find(attempt->request.owner, attempt->request.name);
    if (!holder.ok()) break;
    const std::optional<RequestId>& id = attempt->request.request_id;
    const Sent sent =
        core.SendAllFromOutside(attempt->request.owner, *holder,
                                attempt->request.messages, id ? &*id : nullptr);
    // The holder has ended since the lookup: look the name up again.
    if (ReasonOf(sent.status) == reason::kProcessEnded) continue;
    core.WhenDurable(sent.position,
                     [attempt, pid = *holder, status = sent.status] {
                       if (status.ok()) {
                         std::move(attempt->done)(Submitted{pid, true});
                       } else {
                         std::move(attempt->done)(status);
                       }
                     });
    return;
  }
  core.admission.Submit(
      attempt->request, Pid{}, /*keep_result=*/true,
      [&core, attempt](const absl::StatusOr<Pid>& pid) {
        if (pid.ok()) {
          std::move(attempt->done)(Submitted{*pid, false});
        } else if (ReasonOf(pid.status()) == reason::kNameTaken &&
                   attempt->left > 0) {
          TryOnce(core, attempt);
        } else {
          std::move(attempt->done)(pid.status());
        }
      });
}

}  // namespace

void Runtime::SubmitOrDeliver(SubmitRequest request,
                              SubmitOrDeliverCallback done) {
  absl::Status status = Check(request, core_->limits);
  if (!status.ok()) {
    std::move(done)(status);
    return;
  }
  TryOnce(*core_, std::make_shared<Attempt>(
                      Attempt{std::move(request), std::move(done)}));
}

}  // namespace actord::runtime
